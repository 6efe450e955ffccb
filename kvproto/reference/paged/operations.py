"""What mitigations do to pages on the device: clear, sum up, mark, tag.

All of them work on the pages of a list or tensor of page numbers, without waiting for the device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kvproto.reference.paged.libraries import torch
from kvproto.reference.paged.pool import PagedPool, Tensor

CANARY_TOKENS = 1
"""Tokens at the end of a page that a canary takes."""

CACHED = 1 << 17
"""Products of 64 bits that a CPU's cache surely holds."""

_ODD = 0x1E3779B97F4A7C15
"""2**62 or so over the golden ratio: multiples of it, modulo 2**64, are spread evenly."""


def zero(pool: PagedPool, pages: Any) -> None:
    """Clear pages and their tags."""
    where = pool.index(pages)
    pool.keys.index_fill_(0, where, 0)
    pool.values.index_fill_(0, where, 0)
    pool.tags.index_fill_(0, where, 0)


def write_tags(pool: PagedPool, pages: Any, tags: Any) -> None:
    """Set the tags of pages: one for all, or one for each."""
    where = pool.index(pages)
    pool.tags[where] = torch().as_tensor(tags, dtype=torch().int32, device=pool.device)


def plant_canary(pool: PagedPool, pages: Any, word: float) -> None:
    """Mark the end of every page with a word that no key has; whoever writes the page overwrites it."""
    pool.keys[pool.index(pages), -CANARY_TOKENS:] = word


def canaries_left(pool: PagedPool, pages: Any, word: float) -> Tensor:
    """Which pages still carry the word, hence were not written to the end since it was planted."""
    marks = pool.keys[pool.index(pages), -CANARY_TOKENS:]
    return (marks == torch().tensor(word, dtype=pool.keys.dtype, device=pool.device)).flatten(1).all(1)


def checksum(pool: PagedPool, pages: Any) -> Tensor:
    """A 64-bit sum over the bits of keys and values of pages, in this order, as a tensor without a shape.

    Every 32-bit word is multiplied by an odd number that belongs to its place, and all products are added modulo
    2**64 (multilinear hashing).  Pages in another order, or words in another place, give another sum.  Words of 64
    bits would be faster and wrong: two that differ in their highest bit only, as -x and x do, would cancel out.
    """
    module = torch()
    where = pool.index(pages)
    count = where.shape[0]
    total = module.zeros((), dtype=module.int64, device=pool.device)
    for part, tensor in enumerate((pool.keys, pool.values)):
        words = _words(tensor[where].flatten(1))
        weights = _weights(words.shape[1], part, str(pool.device))
        by_page = _sums(words, weights)
        # Weights of pages are odd as well, so no page's sum is lost, wherever the page stands.
        places = module.arange(count, dtype=module.int64, device=pool.device) * (2 * _ODD) + _ODD
        total = total + (by_page * places).sum()
    return total


def _sums(words: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of every row.  On a CPU some rows at a time, so that the products stay in its cache."""
    module = torch()
    rows = len(words) if words.device.type == "cuda" else CACHED // max(1, words.shape[1])
    return module.cat([(part * weights).sum(1) for part in words.split(max(1, rows))])


def _words(rows: Tensor) -> Tensor:
    """The bits of rows as signed numbers of 32 bits, or of 16 where they do not come out even."""
    module = torch()
    pairs = rows.element_size() == 4 or rows.shape[1] % 2 == 0
    return rows.contiguous().view(module.int32 if pairs else module.int16)


@lru_cache(maxsize=32)
def _weights(count: int, part: int, device: str) -> Tensor:
    """Odd numbers of 64 bits by place: a counter, mixed as in splitmix64."""
    module = torch()
    mixed = (module.arange(count, dtype=module.int64, device=device) + (part + 1) * count) * _ODD
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15), (31, 1)):
        mixed = (mixed ^ _shifted(mixed, shift)) * factor
    return mixed | 1


def _shifted(numbers: Tensor, shift: int) -> Tensor:
    """Shifted right without the sign."""
    return (numbers >> shift) & ((1 << (64 - shift)) - 1)
