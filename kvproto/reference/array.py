"""The tensor operations that the implementation needs, on NumPy arrays and on PyTorch tensors.

Everything else in this package goes through `Arrays`, so that neither library's habits leak into the protocol.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from typing import Any

Tensor = Any
"""A tensor of the namespace in use: float32, or int32 where tags are meant."""

NAMESPACES = ("numpy", "torch")
"""Names that `namespace` accepts."""


class Arrays:
    """Tensor operations of NumPy; shapes are tuples."""

    backend = "numpy"
    device = "cpu"
    """Where the tensors lie, in words."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def zeros(self, *shape: int) -> Tensor:
        """A tensor of zeros."""
        return self.xp.zeros(shape, dtype=self.xp.float32)

    def integers(self, count: int) -> Tensor:
        """A vector of `count` zeros that are 32-bit integers."""
        return self.xp.zeros(count, dtype=self.xp.int32)

    def tensor(self, rows: object) -> Tensor:
        """A tensor with the numbers of nested lists."""
        return self.xp.asarray(rows, dtype=self.xp.float32)

    def take(self, x: Tensor, rows: Sequence[int]) -> Tensor:
        """Copies of the rows of `x` along the first axis: [len(rows), ...]; never a view."""
        return x[list(rows)]

    def numbers(self, x: Tensor) -> list[float]:
        """All elements in order, as Python floats."""
        return [float(v) for v in x.reshape(-1).tolist()]

    def to_bytes(self, x: Tensor) -> bytes:
        """The elements as little-endian float32, in order."""
        return bytes(self.xp.asarray(x, dtype="<f4").tobytes())

    def rows(self, x: Tensor) -> list[bytes]:
        """The bytes of every row along the first axis."""
        raw = self.to_bytes(x)
        size = len(raw) // max(1, len(x))
        return [raw[at : at + size] for at in range(0, len(raw), size)] if size else []

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
        """What each of `queries` [tokens, heads, dim] reads in the pages of a table, one query for every token.

        `keys` and `values` are [pages, page size, heads, dim].  A page counts less for a query the further they are
        apart in the table: `page_bias` a page.  `expected` are the tags of these pages; None if one carries another.
        """
        if expected is not None and [int(tags[page]) for page in table] != list(expected):
            return None
        xp = self.xp
        size, tokens = keys.shape[1], len(table) * keys.shape[1]
        k = self.take(keys, table).reshape(tokens, *keys.shape[2:])
        v = self.take(values, table).reshape(tokens, *values.shape[2:])
        place = xp.arange(tokens) // size
        bias = page_bias * xp.abs(place[:, None] - place[None, :])
        scores = xp.einsum("qhd,thd->hqt", queries, k) - bias.astype(xp.float32)
        weights = xp.exp(scores - xp.amax(scores, -1)[..., None])
        weights = weights / xp.sum(weights, -1)[..., None]
        return xp.einsum("hqt,thd->qhd", weights, v)

    def digest(self, keys: Tensor, values: Tensor, pages: Sequence[int]) -> bytes:
        """Eight bytes that tell the keys and values of these pages, in this order, from others."""
        total = hashlib.blake2b(digest_size=8)
        for page in pages:
            total.update(self.to_bytes(keys[page]))
            total.update(self.to_bytes(values[page]))
        return total.digest()


def namespace(xp: Any = "numpy", *, device: str = "cpu") -> Arrays:
    """The operations over `xp`: one of `NAMESPACES`, or such a module itself, on a device.

    Raises ImportError if NumPy is not installed, `KvError` if PyTorch or the device is not there, ValueError for a name
    that is not known.
    """
    if isinstance(xp, Arrays):
        return xp
    name = xp if isinstance(xp, str) else str(xp.__name__)
    if name not in NAMESPACES:
        raise ValueError(f"{name!r} is none of {', '.join(NAMESPACES)}")
    if name == "torch":
        # Only here: the module needs PyTorch, which most runs do without.
        from kvproto.reference.torch_array import TorchArrays

        return TorchArrays(device)
    if device != "cpu":
        raise ValueError(f"NumPy arrays lie in main memory, not on {device!r}")
    return Arrays(importlib.import_module(name))
