"""A small attention model with constructed weights, whose answer spells what stands in the pages it reads.

The value of a token spells the bits of its character, one byte a head, as +1 and -1.  The key spells the position of
the token: the offset in its page, and the number of its page in the prompt it was computed from.  A query asks for
one offset; which page it asks is decided by a bias over the distance in the *page table*, as ALiBi does, because
the key of a foreign page still carries the position that it had in its own prompt.  So each query finds one token of
the page that the table names, whoever wrote it; a page of zeros has no character at all and answers `BLANK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kvproto.reference.array import Arrays, Tensor
from kvproto.reference.prompts import PAGE_SIZE

HEADS = 2
DIM = 16
"""Elements a head: of a key 8 bits of offset and 8 of page number, of a value 8 bits of the character."""

BLANK = "·"
"""What a token reads as that was never written."""

ILLEGIBLE = "\N{REPLACEMENT CHARACTER}"
"""What a token reads as that is neither blank nor one character."""

SHARPNESS = 16.0
"""Weight of a query: two offsets differ in at least one bit, hence their scores by at least 2 * SHARPNESS."""

PAGE_BIAS = 24.0 * SHARPNESS
"""Score lost for each page of distance; more than any two keys can differ, so no page answers for its neighbour."""

BYTE = 8


class Paged(Protocol):
    """Pages to read: keys and values [pages, PAGE_SIZE, HEADS, DIM], and tags [pages]."""

    arrays: Arrays
    keys: Tensor
    values: Tensor
    tags: Tensor


def bits(number: int) -> list[float]:
    """The low 8 bits of a number, lowest first, as +1.0 and -1.0."""
    return [1.0 if number >> i & 1 else -1.0 for i in range(BYTE)]


def encode(arrays: Arrays, text: str, page: int) -> tuple[Tensor, Tensor]:
    """Keys and values of the `PAGE_SIZE` characters of page number `page` of a prompt.

    Each is [PAGE_SIZE, HEADS, DIM].  Characters are those of the Basic Multilingual Plane.
    """
    keys = [[bits(offset) + bits(page)] * HEADS for offset in range(len(text))]
    blank = [0.0] * (DIM - BYTE)
    values = [[bits(ord(char)) + blank, bits(ord(char) >> BYTE) + blank] for char in text]
    return arrays.tensor(keys), arrays.tensor(values)


def characters(arrays: Arrays, values: Tensor) -> str:
    """The text that values [tokens, HEADS, DIM] spell."""
    width = HEADS * BYTE
    flat = arrays.numbers(values[:, :, :BYTE])
    return "".join(_character(flat[at : at + width]) for at in range(0, len(flat), width))


def _character(spelled: Sequence[float]) -> str:
    if all(abs(x) < 0.25 for x in spelled):
        return BLANK
    if any(abs(abs(x) - 1.0) > 0.25 for x in spelled):
        return ILLEGIBLE
    code = sum(1 << i for i, x in enumerate(spelled) if x > 0)
    return ILLEGIBLE if 0xD800 <= code < 0xE000 else chr(code)


def queries(arrays: Arrays, pages: int) -> Tensor:
    """One query for each position of a sequence of `pages` pages: [pages * PAGE_SIZE, HEADS, DIM]."""
    asked = [[SHARPNESS * x for x in bits(offset)] + [0.0] * (DIM - BYTE) for offset in range(PAGE_SIZE)]
    return arrays.tensor([[row] * HEADS for row in asked] * pages)


class WrongTag(Exception):
    """A page did not carry the tag that was expected.  Nothing has been read."""


def attend(memory: Paged, table: Sequence[int], *, expected: Sequence[int] | None = None) -> str:
    """The text that attention over the pages of `table` gives, one character for each position.

    Every query sees all pages of the table.  With `expected` tags, one for each entry of the table, whoever reads the
    pages looks at their tags too, and raises `WrongTag` if one is another.
    """
    arrays = memory.arrays
    asked = queries(arrays, len(table))
    tensors = (memory.keys, memory.values, memory.tags)
    read = arrays.attention(asked, *tensors, table, page_bias=PAGE_BIAS, expected=expected)
    if read is None:
        raise WrongTag
    return characters(arrays, read)
