"""Running a model as plain Python: values, records, and one step at a time (also under pdb).

The front end never uses this module; it is the other reading of the same text, and a differential test
keeps the two together.  Containers behave as places: storing into one copies the contents, so that a local name
bound to a part of the state always sees that part as it is now.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Generic, TypeVar

from kvproto.diagnostics import KvError
from kvproto.lang.sorts import Array, BoolType, Int, Opt, Set, Sort

T = TypeVar("T")


class NotEnabled(Exception):
    """Raised by `require` when a guard is false; the action does nothing."""


def require(condition: bool) -> None:
    """Guard of an action: unless `condition` holds the action cannot happen."""
    if not condition:
        raise NotEnabled


class Record:
    """Base of state classes: annotated fields over finite types, all starting at the zero of their type."""

    def __init__(self) -> None:
        types = field_types(type(self))
        object.__setattr__(self, "_types", types)
        for name, kind in types.items():
            object.__setattr__(self, name, zero(kind))

    def __setattr__(self, name: str, value: object) -> None:
        types: dict[str, Any] = object.__getattribute__(self, "_types")
        if name not in types:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        object.__setattr__(self, name, store(types[name], getattr(self, name), value))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _fields(self) == _fields(other)

    def __hash__(self) -> int:
        raise TypeError("a record is mutable")

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
        raise TypeError("an array is mutable")

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
        if item not in domain(self._kind.element):
            raise ValueError(f"{item!r} is not an element of {self._kind.element!r}")
        super().add(item)

    def discard(self, item: Any) -> None:
        """Take `item` out if it is in; it must belong to the element type."""
        if item not in domain(self._kind.element):
            raise ValueError(f"{item!r} is not an element of {self._kind.element!r}")
        super().discard(item)

    def __iter__(self) -> Iterator[Any]:
        return (x for x in domain(self._kind.element) if x in self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Members:
        return Members(self._kind, set.__iter__(self))


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
    raise TypeError(f"{kind!r} cannot index an array or fill a set")


def zero(kind: Any) -> Any:
    """The value a field of this type starts with: False, the low bound, None, {}, first member, element 0."""
    match kind:
        case Opt():
            return None
        case Array():
            return Cells(kind)
        case Set():
            return Members(kind)
        case type() if issubclass(kind, Record):
            return kind()
        case _:
            return domain(kind)[0]


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
        case Array():
            for key, value in zip(domain(kind.index), list(copy.deepcopy(new)), strict=True):
                old[key] = value
            return old
        case type() if issubclass(kind, Record):
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
