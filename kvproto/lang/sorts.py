"""The types a model author writes: sorts, booleans, integers, optionals, arrays, sets, bags, queues, records.

They are descriptions only.  `kvproto.lang.native` gives them values for stepping a model in plain Python,
and the front end turns them into `kvproto.ir.types` for everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.lang.amounts import Amount, Computed
from kvproto.lang.binding import Number, Parameter, current, shapes


class Sort(Amount):
    """A finite set of interchangeable names: requests, pages, slots.

    Its size is a parameter of a scope (`Scope("small", Req=2)`); `size` is what holds where a scope is
    silent.  Elements are 0, 1, 2, ... in plain Python; `labels` say how they are printed.
    """

    def __init__(self, name: str, *, size: int | None = None, labels: Sequence[str] = (), doc: str = "") -> None:
        self.name = name
        self.default_size = size
        self.labels = tuple(labels)
        self.doc = doc

    def __len__(self) -> int:
        binding = current()
        size = binding.sizes.get(self.name) if binding else None
        if size is None:
            raise KvError(
                "KV140",
                f"the size of sort {self.name} is not known here",
                reason="the size of a sort belongs to a scope, and no scope is in force while the module is read",
                cure=f"write Int(0, {self.name}) for a bound, or use it inside actions and properties only",
            )
        return size

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __bool__(self) -> bool:
        return True

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and 0 <= value < len(self)

    def __call__(self, number: int) -> int:
        """The element with that number, from 0."""
        if number not in self:
            raise IndexError(f"{self.name} has no element number {number}")
        return number

    def label(self, element: int) -> str:
        """How element number `element` is printed."""
        return self.labels[element] if element < len(self.labels) else f"{self.name.lower()}{element}"

    def __repr__(self) -> str:
        return f"Sort({self.name})"


class BoolType:
    """The type of `Bool`."""

    def __repr__(self) -> str:
        return "Bool"


Bool = BoolType()
"""True or False."""

Bound = int | Sort | Parameter | Computed


class Int:
    """An integer from `lo` to `hi`, both included.  A sort as bound means its size, a parameter its value.

    Bounds may be computed of these: `Int(0, 2 * Page + 1)`.
    """

    def __init__(self, lo: Bound, hi: Bound) -> None:
        self.lo = lo
        self.hi = hi

    def bounds(self) -> tuple[int, int]:
        """The two numbers under the scope and parameters in force."""
        return _number(self.lo), _number(self.hi)

    def __repr__(self) -> str:
        return f"Int({self.lo}, {self.hi})"


def _number(bound: Bound) -> int:
    if isinstance(bound, Sort):
        shapes([bound.name], f"a bound, {bound.name}")
        return len(bound)
    if isinstance(bound, Number):
        binding = current()
        return int(bound.default if binding is None else binding.values.get(bound.name, bound.default))
    if isinstance(bound, Computed):
        if not bound.linear:
            shapes([one.name for one in bound.operands()], f"a bound, {bound!r}")
        return bound.number(_number)
    if isinstance(bound, int):
        return bound
    raise TypeError(f"an integer bound is a number, a sort or a number parameter, not {bound!r}")


class Opt:
    """`None`, or a value of the type inside."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"Opt({self.inner!r})"


class Array:
    """One value for each element of a sort or an enumeration."""

    def __init__(self, index: Any, element: Any) -> None:
        self.index = index
        self.element = element

    def __repr__(self) -> str:
        return f"Array({self.index!r}, {self.element!r})"


class Set:
    """Any subset of a sort, an enumeration, a range of integers, or of the values of a record class."""

    def __init__(self, element: Any) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"Set({self.element!r})"


class Bag:
    """A set that may hold an element several times, at most `most` times each."""

    def __init__(self, element: Any, most: Bound) -> None:
        self.element = element
        self.most = most

    def copies(self) -> int:
        """How many of each, under the scope and parameters in force."""
        return _number(self.most)

    def __repr__(self) -> str:
        return f"Bag({self.element!r}, {self.most!r})"


class Queue:
    """A line of at most `size` elements: first in, first out."""

    def __init__(self, element: Any, size: Bound) -> None:
        self.element = element
        self.size = size

    def capacity(self) -> int:
        """Its size, under the scope and parameters in force."""
        return _number(self.size)

    def __repr__(self) -> str:
        return f"Queue({self.element!r}, {self.size!r})"


TypeLike = Sort | BoolType | Int | Opt | Array | Set | Bag | Queue | type[bool] | type[Enum] | type
"""What may stand in an annotation of a model."""
