"""Paged KV pools in PyTorch, on a CPU or a CUDA device: attention over page tables, and what mitigations do to pages.

`attention` reads pages, with the tags checked as they are read: a Triton kernel on CUDA, plain PyTorch otherwise.
`operations` clears, sums up, marks and tags pages; `pool` holds them.  On top of these, `prefix` shares pages between
requests with a common beginning, and `source` computes prompts in chunks.  Importing the package imports neither
PyTorch nor Triton.
"""

from kvproto.reference.paged.attention import Batch, Read, attend
from kvproto.reference.paged.libraries import device_named
from kvproto.reference.paged.pool import PagedPool

__all__ = ["Batch", "PagedPool", "Read", "attend", "device_named"]
