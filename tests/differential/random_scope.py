"""What the generator of random models knows at one point of a text: types, names in scope, and how to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kvproto.ir.shapes import bag_type, large_set, queue_type, value_count
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, LeafT, OptT, RecordT, ScalarT, SetT, SortT, Type

T = TypeVar("T")

Integers = Callable[[int, int], int]
"""Chooses a number between two bounds, both included; smaller choices are simpler."""

Pieces = tuple["str | ScalarT", ...]
"""Text of a place, with a type wherever an index goes."""


@dataclass(frozen=True)
class Helper:
    """A function that models call.  `result` is None for one that only has effects."""

    name: str
    params: tuple[Type, ...]
    result: Type | None
    effects: bool


@dataclass
class World:
    """What stands at the top of a model's text."""

    draw: Integers
    sorts: list[SortT] = field(default_factory=list)
    enums: list[EnumT] = field(default_factory=list)
    records: list[RecordT] = field(default_factory=list)
    state: RecordT = field(default_factory=lambda: RecordT("State", ()))
    flag: bool = False
    number: int = 1
    risk: int = 0
    """Percentage of the places where something may fault in which it is let."""
    helpers: list[Helper] = field(default_factory=list)

    def chance(self, percent: int) -> bool:
        """True in that many cases of a hundred; the simple answer is False."""
        return self.draw(0, 99) >= 100 - percent

    def pick(self, items: Sequence[T]) -> T:
        """One of the items; the first is the simplest."""
        return items[self.draw(0, len(items) - 1)]

    def risky(self) -> bool:
        """Whether a fault may be possible here."""
        return self.chance(self.risk)

    def scalar(self) -> ScalarT:
        """A scalar type."""
        return self.pick([BoolT(), self.integers(), *self.sorts, *self.enums, *self.sorts])

    def small_records(self, most: int) -> list[RecordT]:
        """Record classes with few values, which can be elements and parameters."""
        return [r for r in self.records if all(_plain(kind) for _, kind in r.fields) and value_count(r) <= most]

    def container(self) -> RecordT:
        """A queue, a bag or a set of records."""
        records = self.small_records(8)
        element: Type = self.pick([*self.sorts, *self.enums, *records, *records, IntT(0, 1)])
        way = self.draw(0, 3)
        if way <= 1:
            held = OptT(element) if isinstance(element, SortT) and self.chance(20) else element
            return queue_type(held, self.draw(1, 3))
        if way == 2 and records:
            return large_set(self.pick(records))
        return bag_type(element, self.draw(1, 2))

    def integers(self) -> IntT:
        """A range of integers, negative ones among them."""
        low = self.draw(-2, 1)
        return IntT(low, low + self.draw(0, 3))


def spots(root: str, kind: Type) -> Iterator[tuple[Pieces, Type]]:
    """Everything inside a part of the state, the part itself included; what a queue, set or bag holds is no part."""
    yield (root,), kind
    match kind:
        case RecordT(shape="record"):
            for name, inner in kind.fields:
                yield from spots(f"{root}.{name}", inner)
        case ArrayT():
            for rest, inner in spots("", kind.element):
                yield (f"{root}[", kind.index, f"]{rest[0]}", *rest[1:]), inner
        case _:
            pass


@dataclass
class Scope:
    """Names at one point of a function; `inner` gives a copy for a block or a comprehension."""

    world: World
    roots: dict[str, Type]
    """`s`, and aliases of its parts."""
    values: dict[str, Type] = field(default_factory=dict)
    """Locals, parameters, loop variables."""
    assigned: set[str] = field(default_factory=set)
    """Locals that may be assigned again."""
    counter: list[int] = field(default_factory=lambda: [0])
    loops: int = 0
    early: bool = False
    """A bare `return` may stand here."""
    guards: bool = True
    """`require` and `assert` may stand here."""
    depth: int = 0

    def inner(self) -> Scope:
        """The scope of a nested block."""
        return replace(
            self, roots=dict(self.roots), values=dict(self.values), assigned=set(self.assigned), depth=self.depth + 1
        )

    def fresh(self, stem: str) -> str:
        """A name not used before in this function."""
        self.counter[0] += 1
        return f"{stem}{self.counter[0]}"

    def names(self, wanted: Callable[[Type], bool]) -> list[str]:
        """Locals whose type is wanted."""
        return [name for name, kind in self.values.items() if wanted(kind)]

    def places(self, wanted: Callable[[Type], bool]) -> list[tuple[Pieces, Type]]:
        """Parts of the state whose type is wanted."""
        return [spot for root, kind in self.roots.items() for spot in spots(root, kind) if wanted(spot[1])]

    def readable(self, wanted: Callable[[Type], bool]) -> list[tuple[Pieces, Type]]:
        """Parts of the state and of records that are locals, whose type is wanted."""
        records = {name: kind for name, kind in self.values.items() if isinstance(kind, RecordT)}
        parts = [spot for name, kind in records.items() for spot in spots(name, kind) if spot[0] != (name,)]
        return [*self.places(wanted), *(spot for spot in parts if wanted(spot[1]))]


def text_of(kind: Type) -> str:
    """How the type is written in an annotation."""
    match kind:
        case OptT(inner):
            return f"Opt({text_of(inner)})"
        case SetT(element):
            return f"Set({text_of(element)})"
        case ArrayT(index, element):
            return f"Array({text_of(index)}, {text_of(element)})"
        case RecordT(shape="queue", element=element):
            assert element is not None
            return f"Queue({text_of(element)}, {room(kind)})"
        case RecordT(shape="bag", element=element):
            assert element is not None
            return f"Bag({text_of(element)}, {room(kind)})"
        case RecordT(shape="set", element=element):
            assert element is not None
            return f"Set({text_of(element)})"
        case _:
            return str(kind)


def size_of(kind: Type) -> int:
    """Number of values of a part of the state."""
    match kind:
        case OptT(inner):
            return size_of(inner) + 1
        case SetT(element):
            return 1 << size_of(element)
        case ArrayT(index, element):
            return int(size_of(element) ** size_of(index))
        case RecordT(shape="queue", element=element):
            assert element is not None
            return sum(size_of(element) ** length for length in range(room(kind) + 1))
        case RecordT(_, fields):
            total = 1
            for _, inner in fields:
                total *= size_of(inner)
            return total
        case SortT():
            return kind.size
        case EnumT():
            return len(kind.members)
        case IntT(lo, hi):
            assert lo is not None and hi is not None
            return hi - lo + 1
        case _:
            return 2


def room(kind: Type) -> int:
    """How many elements a queue holds, or a bag of each."""
    assert isinstance(kind, RecordT)
    inner = kind.fields[0][1]
    while isinstance(inner, ArrayT):
        inner = inner.element
    assert isinstance(inner, IntT) and inner.hi is not None
    return inner.hi


def _plain(kind: Type) -> bool:
    """A type of which the fields of an element are made."""
    if isinstance(kind, SetT):
        return size_of(kind) <= 8
    if isinstance(kind, RecordT):
        return kind.shape == "record" and all(_plain(inner) for _, inner in kind.fields)
    return not isinstance(kind, ArrayT)


def is_shape(kind: Type, *shapes: str) -> bool:
    """A record type that stands for one of these."""
    return isinstance(kind, RecordT) and kind.shape in shapes


def is_leaf(kind: Type) -> bool:
    """One variable of the state."""
    return isinstance(kind, BoolT | IntT | SortT | EnumT | OptT | SetT)


def is_int(kind: Type) -> bool:
    """A number."""
    return isinstance(kind, IntT)


def same(wanted: Type) -> Callable[[Type], bool]:
    """Exactly that type."""
    return lambda kind: kind == wanted


Leaf = LeafT
