"""Types of the IR.  Values are plain immutable Python values:

| type | values |
|---|---|
| `BoolT` | `False`, `True` |
| `IntT` | integers |
| `SortT` | 0 .. size-1 |
| `EnumT` | member names (strings) |
| `OptT` | `None` or a value of the inner type |
| `SetT` | frozensets |

`ArrayT` and `RecordT` have no values of their own: the state is a flat tuple of *leaves*, scalars, optionals and
sets named by paths such as `("req", 0, "phase")` (`leaves`).  Queues, bags and large sets are records of a fixed
shape (`RecordT.kind`): what behaves like a queue to the author of a model is a length and an array to everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Literal

Value = bool | int | str | None | frozenset["bool | int | str"]
PathPart = Value
Path = tuple[PathPart, ...]


@dataclass(frozen=True, slots=True)
class BoolT:
    """Truth values."""

    def __str__(self) -> str:
        return "Bool"


@dataclass(frozen=True, slots=True)
class IntT:
    """Integers in [lo, hi]; None on a side that is not bounded (locals and intermediate results only)."""

    lo: int | None = None
    hi: int | None = None

    def __str__(self) -> str:
        return "Int" if self.lo is None else f"Int({self.lo}, {self.hi})"


@dataclass(frozen=True, slots=True)
class SortT:
    """A sort with its size in this scope; `labels` are for people."""

    name: str
    size: int
    labels: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class EnumT:
    """An enumeration; members in order of declaration."""

    name: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptT:
    """None or a value of the inner scalar type."""

    inner: ScalarT

    def __str__(self) -> str:
        return f"Opt({self.inner})"


@dataclass(frozen=True, slots=True)
class NoneT:
    """The type of the literal `None` before it meets an optional."""

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class SetT:
    """Subsets of a type with at most `MAX_SET` values."""

    element: ScalarT

    def __str__(self) -> str:
        return f"Set({self.element})"


@dataclass(frozen=True, slots=True)
class ArrayT:
    """One element for each value of the index type; in what a model writes that is a scalar type."""

    index: LeafT
    element: Type

    def __str__(self) -> str:
        return f"Array({self.index}, {self.element})"


Shape = Literal["record", "queue", "set", "bag"]
"""What a record type stands for.

| shape | fields | rule |
|---|---|---|
| `queue` | `length`, `slots[0 .. n-1]` of elements | slots from `length` on hold zeroes |
| `set` | `has`, an array over each leaf of the element in turn, of booleans | |
| `bag` | `count`, likewise, of numbers | |
"""


@dataclass(frozen=True, slots=True)
class RecordT:
    """Named fields; `element` is what a queue, set or bag holds."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    shape: Shape = "record"
    element: Type | None = None

    def get(self, name: str) -> Type | None:
        """Type of the field, or None if there is no such field."""
        return dict(self.fields).get(name)

    def __str__(self) -> str:
        return self.name


ScalarT = BoolT | IntT | SortT | EnumT
LeafT = BoolT | IntT | SortT | EnumT | OptT | SetT
Type = BoolT | IntT | SortT | EnumT | OptT | NoneT | SetT | ArrayT | RecordT

MAX_SET = 62
"""A set is one machine word of the packed state, with two bits to spare for signed arithmetic."""


@lru_cache(maxsize=4096)
def values_of(kind: LeafT) -> tuple[Value, ...]:
    """All values of a leaf type in the order of their raw numbers; for `IntT` both bounds must be known."""
    match kind:
        case OptT():
            return (None, *scalars_of(kind.inner))
        case SetT():
            items = scalars_of(kind.element)
            return tuple(
                frozenset(v for v, inside in zip(reversed(items), bits, strict=True) if inside)
                for bits in product((False, True), repeat=len(items))
            )
        case _:
            return scalars_of(kind)


@lru_cache(maxsize=4096)
def scalars_of(kind: ScalarT) -> tuple[bool | int | str, ...]:
    """All values of a scalar type in order."""
    match kind:
        case BoolT():
            return (False, True)
        case SortT():
            return tuple(range(kind.size))
        case EnumT():
            return kind.members
        case IntT():
            assert kind.lo is not None and kind.hi is not None
            return tuple(range(kind.lo, kind.hi + 1))


def cardinality(kind: LeafT) -> int:
    """Number of values of a leaf type."""
    match kind:
        case OptT():
            return cardinality(kind.inner) + 1
        case SetT():
            return 1 << cardinality(kind.element)
        case BoolT():
            return 2
        case SortT():
            return kind.size
        case EnumT():
            return len(kind.members)
        case IntT():
            assert kind.lo is not None and kind.hi is not None
            return kind.hi - kind.lo + 1


def leaf_count(kind: Type) -> int:
    """Number of leaves inside a type."""
    match kind:
        case RecordT():
            return sum(leaf_count(inner) for _, inner in kind.fields)
        case ArrayT():
            return cardinality(kind.index) * leaf_count(kind.element)
        case _:
            return 1


def zero_of(kind: LeafT) -> Value:
    """The value a leaf starts with before `init` functions run."""
    match kind:
        case OptT():
            return None
        case SetT():
            return frozenset()
        case IntT():
            return kind.lo  # without all the others, which may be billions
        case _:
            return scalars_of(kind)[0]


def fits(value: Value, kind: LeafT) -> bool:
    """Whether `value` belongs to the type."""
    match kind:
        case OptT():
            return value is None or fits(value, kind.inner)
        case SetT():
            return isinstance(value, frozenset) and value <= set(scalars_of(kind.element))
        case IntT():
            in_low = kind.lo is None or (isinstance(value, int) and value >= kind.lo)
            return isinstance(value, int) and in_low and (kind.hi is None or value <= kind.hi)
        case _:
            return value in scalars_of(kind)


def leaves(kind: Type, prefix: Path = ()) -> Iterator[tuple[Path, LeafT]]:
    """Scalars and sets inside a type with their paths, in order of declaration."""
    match kind:
        case RecordT():
            for name, inner in kind.fields:
                yield from leaves(inner, (*prefix, name))
        case ArrayT():
            for key in values_of(kind.index):
                yield from leaves(kind.element, (*prefix, key))
        case NoneT():
            raise AssertionError("the state holds no bare None")
        case _:
            yield prefix, kind


def label(value: Value, kind: Type) -> bool | int | str | list[bool | int | str] | None:
    """The value as it stands in traces: labels for sort elements that have them, sorted lists for sets."""
    match kind:
        case SetT():
            assert isinstance(value, frozenset)
            ordered = [v for v in scalars_of(kind.element) if v in value]
            return [x for v in ordered if not isinstance(x := label(v, kind.element), list) and x is not None]
        case OptT():
            return None if value is None else label(value, kind.inner)
        case SortT() if kind.labels and isinstance(value, int):
            return kind.labels[value]
        case _:
            assert not isinstance(value, frozenset)
            return value


def show_path(path: Path, root: Type) -> str:
    """`("req", 0, "phase")` as `req[A].phase`.

    Parts of queues, sets and bags are shown as what they stand for: `q[0].kind`, `sent[ACK, A]`, `q.length`.
    """
    text, kind = "", root
    several = inside = False
    """Whether the next indices make up one element of a set or bag, and whether the last one did."""
    for part in path:
        if isinstance(kind, RecordT):
            shape = kind.shape
            inner = kind.get(str(part))
            assert inner is not None
            if shape == "record" or part == "length":
                text += f".{part}" if text else str(part)
            inside, kind = False, inner
            several = shape in ("set", "bag")
        else:
            assert isinstance(kind, ArrayT)
            index = show_value(part, kind.index)
            text = f"{text[:-1]}, {index}]" if inside else f"{text}[{index}]"
            kind, inside = kind.element, several
    return text


def show_value(value: Value, kind: LeafT) -> str:
    """A value as text, as traces and messages write it."""
    found = label(value, kind)
    return "{" + ", ".join(map(str, found)) + "}" if isinstance(found, list) else str(found)
