"""Queues, bags and sets of records: how they are made of arrays and numbers.

The element of a set or bag is taken apart into its leaves, and there is one index for each:
`Set({kind: K, r: Req})` is an array over K of arrays over Req of booleans.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from kvproto.ir.types import (
    MAX_SET,
    ArrayT,
    BoolT,
    IntT,
    LeafT,
    RecordT,
    SetT,
    Type,
    Value,
    cardinality,
    leaves,
    values_of,
)


def set_type(element: Type) -> SetT | RecordT:
    """The type of sets of `element`: one word where it is a scalar with few values."""
    if not isinstance(element, RecordT | ArrayT) and cardinality(dimensions(element)[0]) <= MAX_SET:
        return SetT(element)  # type: ignore[arg-type]
    return large_set(element)


def large_set(element: Type) -> RecordT:
    """A set with one boolean for each value of its element."""
    return RecordT(f"Set({element})", (("has", over(dimensions(element), BoolT())),), "set", element)


def bag_type(element: Type, most: int) -> RecordT:
    """Multisets with at most `most` copies of each element."""
    counts = over(dimensions(element), IntT(0, most))
    return RecordT(f"Bag({element}, {most})", (("count", counts),), "bag", element)


def queue_type(element: Type, size: int) -> RecordT:
    """Queues of at most `size` elements."""
    fields: tuple[tuple[str, Type], ...] = (("length", IntT(0, size)), ("slots", ArrayT(IntT(0, size - 1), element)))
    return RecordT(f"Queue({element}, {size})", fields, "queue", element)


def dimensions(element: Type) -> tuple[LeafT, ...]:
    """The leaves of an element."""
    return tuple(kind for _, kind in leaves(element))


def over(indices: tuple[LeafT, ...], inner: Type) -> Type:
    """Arrays in arrays, the first index outermost."""
    for kind in reversed(indices):
        inner = ArrayT(kind, inner)
    return inner


def value_count(kind: Type) -> int:
    """Number of values of a type: every combination of its leaves."""
    return prod(cardinality(leaf) for leaf in dimensions(kind))


def elements_of(element: Type) -> Iterator[tuple[Value, ...]]:
    """All values of an element as tuples of leaves, in the order in which sets of it are run through."""
    return product(*(values_of(kind) for kind in dimensions(element)))


def shape_of(kind: Type) -> str:
    """`queue`, `set`, `bag` or `record`; empty for everything that is no record."""
    return kind.shape if isinstance(kind, RecordT) else ""
