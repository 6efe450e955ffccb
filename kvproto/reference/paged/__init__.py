"""Paged KV pools in PyTorch, on a CPU or a CUDA device: attention over page tables, and what mitigations do to pages.

`attention` reads pages, with the tags checked as they are read: a Triton kernel on CUDA, plain PyTorch otherwise.
`operations` clears, sums up, marks and tags pages; `pool` holds them.  Importing the package imports neither PyTorch
nor Triton.

Beside them lies a pair that no model describes: `source` computes prompts in chunks, `prefix` lets prompts with a
common beginning share its pages, `sink` reserves, checks and reads pages with the `measures` that are switched on.
"""

from kvproto.reference.paged.attention import Batch, Read, attend
from kvproto.reference.paged.libraries import device_named
from kvproto.reference.paged.pool import PagedPool

__all__ = ["Batch", "PagedPool", "Read", "attend", "device_named"]
