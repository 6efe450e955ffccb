"""The tensor operations on PyTorch: pools, attention and sums stay on their device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvproto.reference.array import Arrays, Tensor
from kvproto.reference.paged import operations
from kvproto.reference.paged.attention import Batch, attend, flagged
from kvproto.reference.paged.libraries import device_label, device_named, torch
from kvproto.reference.paged.pool import PagedPool


class TorchArrays(Arrays):
    """Tensor operations of PyTorch on one device, `cpu` or `cuda`."""

    backend = "torch"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(torch())
        self.where: Any = device_named(device)
        self.device = device_label(self.where)

    def zeros(self, *shape: int) -> Tensor:
        """A tensor of zeros."""
        return self.xp.zeros(shape, dtype=self.xp.float32, device=self.where)

    def integers(self, count: int) -> Tensor:
        """A vector of zeros that are 32-bit integers."""
        return self.xp.zeros(count, dtype=self.xp.int32, device=self.where)

    def tensor(self, rows: object) -> Tensor:
        """A tensor with the numbers of nested lists."""
        return self.xp.asarray(rows, dtype=self.xp.float32, device=self.where)

    def to_bytes(self, x: Tensor) -> bytes:
        """The elements as little-endian float32; the only way from the device back, with `numbers`."""
        return bytes(x.detach().to("cpu", self.xp.float32).contiguous().numpy().astype("<f4").tobytes())

    def attention(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        tags: Tensor,
        table: Sequence[int],
        *,
        page_bias: float,
        expected: Sequence[int] | None,
    ) -> Tensor | None:
        """What the queries read, by the paged attention of the device; it checks the tags as it reads."""
        size = int(keys.shape[1])
        tokens = len(table) * size
        batch = Batch.of(
            queries[None],
            [table],
            [tokens],
            expected=None if expected is None else [expected],
            places=[[at // size for at in range(tokens)]],
            slope=page_bias,
        )
        read = attend(PagedPool(keys, values, tags), batch)
        return None if expected is not None and flagged(read)[0] else read.out[0]

    def digest(self, keys: Tensor, values: Tensor, pages: Sequence[int]) -> bytes:
        """Eight bytes that tell these pages from others, summed up on the device."""
        total = operations.checksum(PagedPool(keys, values, None), list(pages))
        return int(total).to_bytes(8, "little", signed=True)
