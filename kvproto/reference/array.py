"""The few tensor operations that the implementation needs, over any namespace that has them (numpy, torch).

Everything else in this package goes through `Arrays`, so that neither library's habits leak into the protocol.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Sequence
from typing import Any

Tensor = Any
"""A float32 tensor of the namespace in use."""

NAMESPACES = ("numpy", "torch")
"""Names that `namespace` accepts."""


class Arrays:
    """Tensor operations of one namespace `xp`; shapes are tuples, all elements are float32."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def zeros(self, *shape: int) -> Tensor:
        """A tensor of zeros."""
        return self.xp.zeros(shape, dtype=self.xp.float32)

    def tensor(self, rows: object) -> Tensor:
        """A tensor with the numbers of nested lists."""
        return self.xp.asarray(rows, dtype=self.xp.float32)

    def take(self, x: Tensor, rows: Sequence[int]) -> Tensor:
        """Copies of the rows of `x` along the first axis: [len(rows), ...]; never a view."""
        return x[list(rows)]

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax along the last axis."""
        weights = self.xp.exp(scores - self.xp.amax(scores, -1)[..., None])
        return weights / self.xp.sum(weights, -1)[..., None]

    def einsum(self, equation: str, *operands: Tensor) -> Tensor:
        """Einstein summation."""
        return self.xp.einsum(equation, *operands)

    def distance(self, places: Tensor) -> Tensor:
        """Absolute differences of all pairs of a vector: [n] -> [n, n]."""
        return self.xp.abs(places[:, None] - places[None, :])

    def numbers(self, x: Tensor) -> list[float]:
        """All elements in order, as Python floats."""
        return [float(v) for v in x.reshape(-1).tolist()]

    def to_bytes(self, x: Tensor) -> bytes:
        """The elements as little-endian float32, in order."""
        flat = self.numbers(x)
        return struct.pack(f"<{len(flat)}f", *flat)


def namespace(xp: Any = "numpy") -> Arrays:
    """The operations over `xp`: one of `NAMESPACES`, or such a module itself.

    Raises ImportError if the library is not installed, ValueError for a name that is not known.
    """
    if isinstance(xp, Arrays):
        return xp
    if not isinstance(xp, str):
        return Arrays(xp)
    if xp not in NAMESPACES:
        raise ValueError(f"{xp!r} is none of {', '.join(NAMESPACES)}")
    return Arrays(importlib.import_module(xp))
