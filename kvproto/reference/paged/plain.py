"""Attention over page tables with PyTorch operations alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvproto.reference.paged.libraries import torch
from kvproto.reference.paged.pool import PagedPool, Tensor

if TYPE_CHECKING:
    from kvproto.reference.paged.attention import Batch


def attend(pool: PagedPool, batch: Batch) -> tuple[Tensor, Tensor]:
    """What the requests of a batch read, and which of them have met a page that was not as expected."""
    module = torch()
    requests, width = batch.table.shape
    heads, dim = pool.keys.shape[2:]
    tokens = width * pool.page_size
    position = module.arange(width, device=pool.device)
    table = batch.table.long()
    inside = position[None, :] * pool.page_size < batch.lengths[:, None]
    good = inside & (table >= 0) & (table < pool.pages)
    pages = table.where(good, 0)
    if batch.expected is not None:
        good = good & (pool.tags[pages] == batch.expected)
    # Indexing copies: what is read now is what counts.
    keys = pool.keys[pages].reshape(requests, tokens, heads, dim).float()
    values = pool.values[pages].reshape(requests, tokens, heads, dim).float()
    if batch.expected is not None:
        good = good & (pool.tags[pages] == batch.expected)
    flags = (inside & ~good).any(1).to(module.int32)

    held = module.arange(tokens, device=pool.device)[None, :] < batch.lengths[:, None]
    usable = held & good.repeat_interleave(pool.page_size, 1)
    scores = module.einsum("rqhd,rthd->rhqt", batch.queries.float(), keys) * batch.scale
    if batch.places is not None and batch.slope:
        far = (position.repeat_interleave(pool.page_size)[None, None, :] - batch.places[:, :, None]).abs()
        scores = scores - batch.slope * far[:, None, :, :]
    scores = scores.masked_fill(~usable[:, None, None, :], -module.inf)
    # A request with nothing usable has no largest score; zeros come out then.
    weights = module.nan_to_num(module.softmax(scores, -1)) if tokens else scores
    # What must not be read may be no number at all, and zero times that is not zero.
    values = values.masked_fill(~usable[:, :, None, None], 0.0)
    out = module.einsum("rhqt,rthd->rqhd", weights, values)
    return out.to(batch.queries.dtype), flags
