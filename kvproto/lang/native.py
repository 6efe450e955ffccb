"""Running a model as plain Python: values, records, and one step at a time (also under pdb).

The front end never uses this module; it is the other reading of the same text, and a differential test
keeps the two together.  Arrays, records and sets behave as places: storing into one copies the contents, so that a
local name bound to a part of the state always sees that part as it is now.  What a set, a bag or a queue holds are
values: they go in and come out as copies.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import product
from typing import Any, Generic, SupportsIndex, TypeVar

from kvproto.diagnostics import KvError
from kvproto.lang.sorts import Array, Bag, BoolType, Int, Opt, Queue, Set, Sort

T = TypeVar("T")


class NotEnabled(Exception):
    """Raised by `require` when a guard is false; the action does nothing."""


def require(condition: bool) -> None:
    """Guard of an action: unless `condition` holds the action cannot happen."""
    if not condition:
        raise NotEnabled


class Record:
    """Base of record classes: annotated fields over finite types, at the zero of their type unless given by name."""

    def __init__(self, **given: object) -> None:
        types = field_types(type(self))
        object.__setattr__(self, "_types", types)
        for name, kind in types.items():
            object.__setattr__(self, name, zero(kind))
        for name, value in given.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        types: dict[str, Any] = object.__getattribute__(self, "_types")
        if name not in types:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        object.__setattr__(self, name, store(types[name], getattr(self, name), value))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _fields(self) == _fields(other)

    def __hash__(self) -> int:
        """What it holds now: sets keep copies that nobody changes."""
        return hash(tuple(_fields(self).values()))

    def __repr__(self) -> str:
        body = ", ".join(f"{k}={v!r}" for k, v in _fields(self).items())
        return f"{type(self).__name__}({body})"


def _fields(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in object.__getattribute__(record, "_types")}


def field_types(cls: type) -> dict[str, Any]:
    """The fields of a state class with their types, evaluated under the binding in force."""
    found: dict[str, Any] = {}
    for klass in reversed(cls.__mro__):
        if klass not in (object, Record):
            found |= inspect.get_annotations(klass, eval_str=True)
    return found


class Cells(Generic[T]):
    """Native value of an `Array`: one cell an element of the index sort, index checked."""

    def __init__(self, kind: Array) -> None:
        self._kind = kind
        self._keys = domain(kind.index)
        self._cells = [zero(kind.element) for _ in self._keys]

    def _at(self, key: object) -> int:
        if isinstance(key, bool) or key not in self._keys:
            raise IndexError(f"{key!r} is not an element of {self._kind.index!r}")
        return self._keys.index(key)

    def __getitem__(self, key: Any) -> Any:
        return self._cells[self._at(key)]

    def __setitem__(self, key: Any, value: object) -> None:
        at = self._at(key)
        self._cells[at] = store(self._kind.element, self._cells[at], value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cells) and self._cells == other._cells

    def __hash__(self) -> int:
        return hash(tuple(self._cells))

    def __repr__(self) -> str:
        return repr(self._cells)


class Members(set[Any]):
    """Native value of a `Set`: elements checked, iterated in the order of their type.

    A loop over it asks for each element when its turn comes, so the body may change the set.
    """

    def __init__(self, kind: Set, items: Iterable[Any] = ()) -> None:
        self._kind = kind
        super().__init__(items)

    def add(self, item: Any) -> None:
        """Put `item` in; it must belong to the element type."""
        super().add(value_of(self._kind.element, item))

    def discard(self, item: Any) -> None:
        """Take `item` out if it is in; it must belong to the element type."""
        super().discard(value_of(self._kind.element, item))

    def __iter__(self) -> Iterator[Any]:
        return in_order(self._kind.element, lambda: set.__iter__(self))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(set.__iter__(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Members:
        return Members(self._kind, set.__iter__(self))


class Copies:
    """Native value of a `Bag`: how many copies of which element it holds."""

    def __init__(self, kind: Bag) -> None:
        self._kind = kind
        self._counts: dict[Any, int] = {}

    def add(self, item: Any) -> None:
        """Put one more copy of `item` in; it must belong to the element type."""
        value = value_of(self._kind.element, item)
        if self.count(value) >= self._kind.copies():
            raise ValueError(f"the bag holds {self.count(value)} of {value!r} already")
        self._counts[value] = self.count(value) + 1

    def discard(self, item: Any) -> None:
        """Take one copy of `item` out if there is one; it must belong to the element type."""
        value = value_of(self._kind.element, item)
        left = self.count(value) - 1
        self._counts.pop(value, None)
        if left > 0:
            self._counts[value] = left

    def count(self, item: Any) -> int:
        """How many copies of `item` it holds."""
        return self._counts.get(value_of(self._kind.element, item), 0)

    def clear(self) -> None:
        """Take everything out."""
        self._counts.clear()

    def __contains__(self, item: object) -> bool:
        return item in self._counts

    def __iter__(self) -> Iterator[Any]:
        """Each element once, in the order of their type."""
        return in_order(self._kind.element, lambda: iter(self._counts))

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Copies) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __repr__(self) -> str:
        return f"Bag({', '.join(repr(item) for item in self for _ in range(self.count(item)))})"


class Line(list[Any]):
    """Native value of a `Queue`: elements checked and copied, as many as there is room for."""

    def __init__(self, kind: Queue, items: Iterable[Any] = ()) -> None:
        self._kind = kind
        super().__init__(items)

    def append(self, item: Any) -> None:
        """Put `item` at the end."""
        value = value_of(self._kind.element, item)
        if len(self) >= self._kind.capacity():
            raise IndexError("the queue is full")
        super().append(value)

    def pop(self, *at: SupportsIndex) -> Any:
        """Take out and give the element at a position, the last one without."""
        return super().pop(*map(self._at, at))

    def _at(self, at: Any) -> int:
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(self):
            raise IndexError(f"there is no element {at!r} in the queue")
        return at

    def __getitem__(self, at: Any) -> Any:
        return copy.deepcopy(super().__getitem__(self._at(at)))

    def __setitem__(self, at: Any, item: Any) -> None:
        super().__setitem__(self._at(at), value_of(self._kind.element, item))

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while at < len(self):
            yield self[at]
            at += 1

    def __bool__(self) -> bool:
        raise TypeError("write len(queue) > 0")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(list.__iter__(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Line:
        return Line(self._kind, (copy.deepcopy(item) for item in list.__iter__(self)))


def subsets(kind: Any) -> list[Members]:
    """All sets of elements of a sort, an enumeration or a set, the empty one first."""
    of = kind._kind if isinstance(kind, Members) else Set(kind)
    items = list(kind)
    return [
        Members(of, (x for x, inside in zip(reversed(items), bits, strict=True) if inside))
        for bits in product((False, True), repeat=len(items))
    ]


def domain(kind: Any) -> list[Any]:
    """All values of an index or element type, in order."""
    if isinstance(kind, Sort):
        return list(kind)
    if isinstance(kind, Int):
        lo, hi = kind.bounds()
        return list(range(lo, hi + 1))
    if kind is bool or isinstance(kind, BoolType):
        return [False, True]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)
    raise TypeError(f"{kind!r} cannot index an array")


def in_order(kind: Any, items: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Copies of the items in the order of their type, each asked for when its turn comes."""
    last: tuple[int, ...] | None = None
    while True:
        rest = [(rank(kind, item), item) for item in items()]
        rest = [(at, item) for at, item in rest if last is None or at > last]
        if not rest:
            return
        last, item = min(rest, key=lambda pair: pair[0])
        yield copy.deepcopy(item)


def rank(kind: Any, value: Any) -> tuple[int, ...]:
    """Where a value stands in the order of its type."""
    match kind:
        case Opt():
            return (0,) if value is None else (1, *rank(kind.inner, value))
        case Set():
            return (sum(1 << rank(kind.element, item)[0] for item in set.__iter__(value)),)
        case Array():
            return tuple(place for item in value for place in rank(kind.element, item))
        case type() if issubclass(kind, Record):
            types = field_types(kind)
            return tuple(place for name in types for place in rank(types[name], getattr(value, name)))
        case _:
            return (domain(kind).index(value),)


def zero(kind: Any) -> Any:
    """The value a field of this type starts with: False, the low bound, None, {}, first member, element 0."""
    match kind:
        case Opt():
            return None
        case Array():
            return Cells(kind)
        case Set():
            return Members(kind)
        case Bag():
            return Copies(kind)
        case Queue():
            return Line(kind)
        case type() if issubclass(kind, Record):
            return kind()
        case _:
            return domain(kind)[0]


def value_of(kind: Any, value: Any) -> Any:
    """A copy of a value, which must belong to the type."""
    return store(kind, zero(kind), value)


def store(kind: Any, old: Any, new: Any) -> Any:
    """What a place of type `kind` that held `old` holds after `new` is stored; raises if it does not fit."""
    match kind:
        case Opt():
            return None if new is None else store(kind.inner, None, new)
        case Set():
            fresh = Members(kind)
            for item in list(new):
                fresh.add(item)
            old.clear()
            old |= fresh
            return old
        case Bag():
            old._counts = copy.deepcopy(new._counts)
            return old
        case Queue():
            fresh_line = [value_of(kind.element, item) for item in new]
            old.clear()
            old.extend(fresh_line)
            return old
        case Array():
            for key, value in zip(domain(kind.index), list(copy.deepcopy(new)), strict=True):
                old[key] = value
            return old
        case type() if issubclass(kind, Record):
            if type(new) is not kind:
                raise TypeError(f"{new!r} is no {kind.__name__}")
            for name, value in _fields(copy.deepcopy(new)).items():
                setattr(old, name, value)
            return old
        case _:
            if isinstance(new, bool) != (kind is bool or isinstance(kind, BoolType)) or new not in domain(kind):
                raise ValueError(f"{new!r} does not fit {kind!r}")
            return new


def step(fn: Callable[..., None], state: T, *args: Any) -> T | None:
    """The state after action `fn(state, *args)`, or None if its guard is false; `state` stays as it is."""
    after = copy.deepcopy(state)
    try:
        fn(after, *args)
    except NotEnabled:
        return None
    except RecursionError:
        raise KvError(
            "KV112",
            f"{fn.__name__} calls itself without end",
            reason="helpers are inlined, so a model has no recursion",
            cure="write a loop over a finite sort",
        ) from None
    return after
