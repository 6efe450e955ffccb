"""Attention over page tables: one call reads the pages of several requests, and may check their tags on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.diagnostics import KvError
from kvproto.reference.paged import plain
from kvproto.reference.paged.libraries import has_triton, interpreted, kernels, torch
from kvproto.reference.paged.pool import PagedPool, Tensor

PATHS = ("auto", "plain", "triton")
"""Ways to compute: PyTorch operations, the Triton kernel, or whichever of them suits the device."""

BLOCK_TOKENS = 64
LEAST_BLOCK = 16
"""Triton multiplies no smaller matrices."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What several requests ask for, all on one device.

    `queries` [requests, queries, heads, dim]; `table` [requests, width] are page numbers by position and `lengths`
    [requests] the tokens in them, all 32-bit integers.  `expected` [requests, width] are the tags that the pages must
    carry; None asks for no check.  With a `slope` a score loses that much for every page between the page and `places`
    [requests, queries], the page that a query belongs to.  `scale` multiplies the product of query and key.
    """

    queries: Tensor
    table: Tensor
    lengths: Tensor
    expected: Tensor | None = None
    places: Tensor | None = None
    scale: float = 1.0
    slope: float = 0.0

    @classmethod
    def of(
        cls,
        queries: Tensor,
        tables: Sequence[Sequence[int]],
        lengths: Sequence[int],
        *,
        expected: Sequence[Sequence[int]] | None = None,
        places: Sequence[Sequence[int]] | None = None,
        scale: float = 1.0,
        slope: float = 0.0,
    ) -> Batch:
        """A batch from page tables as lists, which may differ in length."""
        module, device = torch(), queries.device
        width = max((len(table) for table in tables), default=0)

        def integers(rows: Sequence[Sequence[int]]) -> Tensor:
            padded = [[*row, *[0] * (width - len(row))] for row in rows]
            return module.tensor(padded, dtype=module.int32, device=device).reshape(len(rows), width)

        return cls(
            queries,
            integers(tables),
            module.tensor(list(lengths), dtype=module.int32, device=device),
            None if expected is None else integers(expected),
            None if places is None else module.tensor(places, dtype=module.int32, device=device),
            scale,
            slope,
        )


@dataclass(frozen=True, slots=True)
class Read:
    """What a batch has read: `out` like its queries, and `flags` [requests], not 0 where a page was not as expected.

    A request with a flag has read nothing: its `out` is zeros.
    """

    out: Tensor
    flags: Tensor


def attend(pool: PagedPool, batch: Batch, *, path: str = "auto") -> Read:
    """Attention of a batch over a pool.

    A page whose tag is not the expected one, or a number that is no page of the pool, sets the request's flag, and
    none of the request's pages contributes.  The tag is read before and after the page's bytes and has to be right
    both times.  So a write is noticed whenever it happens, if it takes the tag away first and sets its own last.
    """
    _check(pool, batch)
    chosen = _path(path, pool)
    out, flags = (_triton if chosen == "triton" else plain.attend)(pool, batch)
    # Blocks of a request may have read at different times; what one of them has found counts for all.
    return Read(out.masked_fill((flags != 0)[:, None, None, None], 0.0), flags)


def _check(pool: PagedPool, batch: Batch) -> None:
    requests, width = batch.table.shape
    shapes = {
        "queries": (tuple(batch.queries.shape[::2]), (requests, pool.keys.shape[2])),
        "dim": (batch.queries.shape[3], pool.keys.shape[3]),
        "lengths": (tuple(batch.lengths.shape), (requests,)),
        "expected": (None if batch.expected is None else tuple(batch.expected.shape), (requests, width)),
        "places": (None if batch.places is None else tuple(batch.places.shape), tuple(batch.queries.shape[:2])),
    }
    for name, (found, wanted) in shapes.items():
        if found is not None and found != wanted:
            raise ValueError(f"{name} are of shape {found}, not {wanted}")
    if batch.slope and batch.places is None:
        raise ValueError("a slope needs the places of the queries")


def _path(path: str, pool: PagedPool) -> str:
    if path not in PATHS:
        raise ValueError(f"{path!r} is none of {', '.join(PATHS)}")
    on_card = pool.device.type == "cuda"
    if path == "auto":
        return "triton" if on_card and has_triton() else "plain"
    if path == "triton" and not on_card and not interpreted():
        raise KvError(
            "KV051",
            "the paged attention kernel runs on a CUDA device, and this pool lies on the CPU",
            reason="on a CPU Triton runs kernels in its interpreter only",
            cure="set TRITON_INTERPRET=1 before Triton is imported, or take the plain path",
        )
    return path


def _triton(pool: PagedPool, batch: Batch) -> tuple[Tensor, Tensor]:
    module, kernel = torch(), kernels()
    requests, queries, heads, dim = batch.queries.shape
    flags = module.zeros(requests, dtype=module.int32, device=pool.device)
    # The kernel strides through tensors that lie in one piece; a copy of the pool would not be what others write.
    if not (pool.keys.is_contiguous() and pool.values.is_contiguous() and pool.tags.is_contiguous()):
        raise ValueError("the kernel reads pools that lie in one piece")
    asked = batch.queries.contiguous()
    out = module.zeros_like(asked)
    if out.numel() == 0:
        return out, flags
    width = batch.table.shape[1]
    places = batch.places
    if places is None:
        places = module.zeros(requests, queries, dtype=module.int32, device=pool.device)
    expected = batch.table if batch.expected is None else batch.expected
    block = LEAST_BLOCK
    while block < min(queries, BLOCK_TOKENS):
        block *= 2
    kernel.paged_attention[(requests, heads, -(-queries // block))](
        asked,
        pool.keys,
        pool.values,
        pool.tags,
        batch.table.contiguous(),
        expected.contiguous(),
        module.clamp(batch.lengths, max=width * pool.page_size),
        places.contiguous(),
        out,
        flags,
        pool.pages,
        width,
        queries,
        batch.scale,
        batch.slope,
        heads=heads,
        dim=dim,
        page_size=pool.page_size,
        check=batch.expected is not None,
        block_q=block,
        block_t=BLOCK_TOKENS,
        block_d=max(LEAST_BLOCK, 1 << (dim - 1).bit_length()),
    )
    return out, flags


def flagged(read: Read) -> list[bool]:
    """Which requests have read a page that was not as expected; waits for the device."""
    return [bool(flag) for flag in read.flags.tolist()]
