"""Renaming: what a permutation of elements makes of values, arguments and states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, State
from kvproto.ir.nodes import Param
from kvproto.ir.types import ArrayT, LeafT, OptT, Path, RecordT, SetT, SortT, Type, Value, leaves

Permutation = Mapping[str, Sequence[int]]
"""For some sorts, by name: the element `i` becomes `permutation[sort][i]`."""


def renamed(value: Value, kind: LeafT, permutation: Permutation) -> Value:
    """The value with its elements renamed."""
    match kind:
        case SortT() if kind.name in permutation:
            assert isinstance(value, int)
            return permutation[kind.name][value]
        case OptT() if value is not None:
            return renamed(value, kind.inner, permutation)
        case SetT():
            assert isinstance(value, frozenset)
            moved = (renamed(item, kind.element, permutation) for item in value)
            return frozenset(item for item in moved if item is not None and not isinstance(item, frozenset))
        case _:
            return value


def renamed_args(params: Sequence[Param], args: Args, permutation: Permutation) -> Args:
    """Arguments with their elements renamed."""
    return tuple(renamed(arg, param.type, permutation) for param, arg in zip(params, args, strict=True))


def index_types(path: Path, root: Type) -> tuple[LeafT | None, ...]:
    """For each part of a path the type of the index that it is, None for the names of fields."""
    found: list[LeafT | None] = []
    kind = root
    for part in path:
        if isinstance(kind, ArrayT):
            found.append(kind.index)
            kind = kind.element
        else:
            assert isinstance(kind, RecordT)
            inner = kind.get(str(part))
            assert inner is not None
            found.append(None)
            kind = inner
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a leaf lies inside of a queue: in slot `at`, which is empty unless `length` says more than `at`."""

    length: Path
    at: int


def slot_of(path: Path, root: Type) -> Slot | None:
    """The innermost queue slot that a leaf is a part of.  Empty slots hold zeroes, which are no elements."""
    found = None
    kind = root
    for at, part in enumerate(path):
        if isinstance(kind, ArrayT):
            kind = kind.element
            continue
        assert isinstance(kind, RecordT)
        if kind.shape == "queue" and part == "slots":
            number = path[at + 1]
            assert isinstance(number, int)
            found = Slot((*path[:at], "length"), number)
        inner = kind.get(str(part))
        assert inner is not None
        kind = inner
    return found


class Renaming:
    """A permutation, made ready for states of one type."""

    def __init__(self, state: RecordT, permutation: Permutation) -> None:
        paths = list(leaves(state))
        number = {path: at for at, (path, _) in enumerate(paths)}
        self._permutation = permutation
        self._moves: list[tuple[int, int, LeafT, int, int]] = []
        """From leaf, to leaf, type, and for leaves in queue slots the leaf of the length, and the slot (else -1)."""
        for at, (path, kind) in enumerate(paths):
            target = number[tuple(self._parts(path, state))]
            slot = slot_of(path, state) if _changes(kind, permutation) else None
            if target != at or _changes(kind, permutation):
                length, place = (-1, -1) if slot is None else (number[slot.length], slot.at)
                self._moves.append((at, target, kind, length, place))

    def _parts(self, path: Path, state: RecordT) -> Iterator[Value]:
        for part, kind in zip(path, index_types(path, state), strict=True):
            yield part if kind is None else renamed(part, kind, self._permutation)

    def of(self, state: State) -> State:
        """The renamed state."""
        after = list(state)
        for at, target, kind, length, place in self._moves:
            value = state[at]
            if length >= 0:
                filled = state[length]
                assert isinstance(filled, int)
                if filled <= place:
                    after[target] = value
                    continue
            after[target] = renamed(value, kind, self._permutation)
        return tuple(after)


def _changes(kind: LeafT, permutation: Permutation) -> bool:
    """Whether values of the type hold elements that are renamed."""
    match kind:
        case SortT():
            return kind.name in permutation
        case OptT(inner=inner):
            return _changes(inner, permutation)
        case SetT(element=element):
            return _changes(element, permutation)
        case _:
            return False
