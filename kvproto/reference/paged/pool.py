"""A pool of pages on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvproto.reference.paged.libraries import device_named, torch

Tensor = Any
"""A `torch.Tensor`; the annotation would make every import of this package wait for PyTorch."""


@dataclass(frozen=True, slots=True)
class PagedPool:
    """Pages of keys and values [pages, page size, heads, dim], and `tags` [pages] of 32-bit integers beside them."""

    keys: Tensor
    values: Tensor
    tags: Tensor

    @classmethod
    def empty(
        cls, pages: int, page_size: int, heads: int, dim: int, *, device: str = "cpu", dtype: str = "float32"
    ) -> PagedPool:
        """A pool of zeros."""
        module, where = torch(), device_named(device)
        shape, kind = (pages, page_size, heads, dim), getattr(module, dtype)
        return cls(
            module.zeros(shape, dtype=kind, device=where),
            module.zeros(shape, dtype=kind, device=where),
            module.zeros(pages, dtype=module.int32, device=where),
        )

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return int(self.keys.shape[0])

    @property
    def page_size(self) -> int:
        """Tokens a page."""
        return int(self.keys.shape[1])

    @property
    def page_bytes(self) -> int:
        """Bytes of keys and values of one page."""
        return int(2 * self.keys[0].numel() * self.keys.element_size())

    @property
    def device(self) -> Any:
        """Where the pool lies."""
        return self.keys.device

    def index(self, pages: Any) -> Tensor:
        """Page numbers as a tensor on the pool's device."""
        return torch().as_tensor(pages, dtype=torch().int64, device=self.device)
