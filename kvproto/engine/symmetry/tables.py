"""The tables of the canonical form: for every leaf, what renaming elements does to its position and to its value.

Elements of all symmetric sorts are numbered through.  A leaf is described by *steps*, one for each element among the
indices of its path, and by the kind of its value.  A renamed state has the leaf's renamed value in leaf

    home + sum of stride * position (or stride << position, where the index is a set) over its steps

with the position that each element has in its sort after renaming.  Leaves without steps whose values are no elements
stay as they are and are in no table.

Sorts differ in how hard it is to put their elements in order.  If every leaf that is about the sort is about one
element at a time (`phase[r]`, or `owner[p]` with pages that are not symmetric), then the elements' *keys*, all that a
state says about each of them, tell them apart as far as that is possible: elements with equal keys can be exchanged
and nothing changes.  Keys are bit fields (`Group.columns`, `Group.mentions`) of at most `KEY_BITS` bits.  All other
sorts are ordered by the refinement of `canonical`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from kvproto.engine.layout import Layout
from kvproto.engine.program import Leaf
from kvproto.engine.symmetry.renaming import index_types, slot_of
from kvproto.ir.types import LeafT, OptT, Path, RecordT, SetT, SortT, Type, leaf_count, leaves

KEY_BITS = 1024
"""Longer keys are hashed, as the colours of `canonical`."""

MAX_TRIALS = 512
"""States that are tried at most to put the elements of one state in order; see `canonical`."""

VERSION = 1
"""Of the packed form, which `canon_new` checks."""

NONE = (1 << 64) - 1


class Kind(IntEnum):
    """What the value of a leaf is, as far as renaming goes."""

    PLAIN = 0
    ELEMENT = 1
    SET = 2


@dataclass(frozen=True, slots=True)
class Step:
    """An element among the indices of a leaf.  `place` tells the indices of one path apart."""

    element: int
    stride: int
    power: bool
    place: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A leaf that renaming changes or moves.

    A value of kind ELEMENT is `offset` + position in the sort whose first element is `base` (less is None); one of
    kind SET has bit p set for the element in position p.  `length` and `slot`: a leaf in a queue holds no element
    unless the raw value of leaf `length` is greater than `slot`.  `shape` numbers the leaves that renaming can
    exchange alike.
    """

    leaf: int
    home: int
    steps: tuple[Step, ...]
    kind: Kind
    base: int
    size: int
    offset: int
    length: int
    slot: int
    shape: int


@dataclass(frozen=True, slots=True)
class Column:
    """Bits of the state with one value for each element of a sort: where they are, as (word, shift), and in the key.

    Neither straddles a word of 64 bits.
    """

    places: tuple[tuple[int, int], ...]
    bits: int
    shift: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A leaf whose value is an element (or a set of elements) of a sort: one bit of the key of each."""

    leaf: int
    kind: Kind
    offset: int
    shift: int


@dataclass(frozen=True, slots=True)
class Group:
    """The elements of one sort.  `single`: every leaf is about one element at a time; `keyed`: keys are bit fields."""

    sort: SortT
    base: int
    single: bool
    keyed: bool
    columns: tuple[Column, ...]
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All tables for one layout and one choice of sorts."""

    words: int
    leaves: tuple[Leaf, ...]
    moved: tuple[Moved, ...]
    groups: tuple[Group, ...]
    shapes: int

    @property
    def elements(self) -> int:
        """Elements of all groups."""
        return sum(group.sort.size for group in self.groups)

    def packed(self) -> array[int]:
        """The tables as numbers, for `canon_new` of canon.h, which reads them in this order."""
        numbers = [VERSION, self.words, len(self.leaves), len(self.moved), len(self.groups), self.elements]
        numbers += [sum(len(m.steps) for m in self.moved), MAX_TRIALS]
        for leaf in self.leaves:
            numbers += [leaf.word, leaf.shift, leaf.bits]
        for m in self.moved:
            length = NONE if m.length < 0 else m.length
            numbers += [m.leaf, m.home & NONE, m.kind, m.base, m.size, m.offset, length, max(m.slot, 0), m.shape]
            numbers.append(len(m.steps))
            for step in m.steps:
                numbers += [step.element, step.stride, int(step.power), step.place]
        for g in self.groups:
            numbers += [g.base, g.sort.size, int(g.single), int(g.keyed), len(g.columns), len(g.mentions)]
            for column in g.columns:
                numbers += [column.shift, column.bits, *(number for place in column.places for number in place)]
            for mention in g.mentions:
                numbers += [mention.leaf, mention.kind, mention.offset, mention.shift]
        return array("Q", numbers)


def plan(state: RecordT, layout: Layout, sorts: Sequence[SortT]) -> Plan:
    """The tables for a state type.  Sorts that the state does not mention have no group."""
    found = _Leaves(state, layout, sorts)
    touched = {k.name for m in found.moved for k in found.sorts_of(m)}
    groups = tuple(found.group(sort) for sort in sorts if sort.name in touched)
    return Plan(layout.words, layout.leaves, tuple(found.moved), groups, len(found.shapes))


class _Leaves:
    """Describes the leaves of a state type."""

    def __init__(self, state: RecordT, layout: Layout, sorts: Sequence[SortT]) -> None:
        self.state = state
        self.number = {path: at for at, path in enumerate(layout.paths)}
        self.leaves = layout.leaves
        mentioned = {k.name for path, kind in leaves(state) for k in _sorts_at(path, kind, state)}
        self.base: dict[str, int] = {}
        self.sorts: dict[str, SortT] = {}
        for sort in sorts:
            if sort.name in mentioned:
                self.base[sort.name] = sum(k.size for k in self.sorts.values())
                self.sorts[sort.name] = sort
        self.shapes: dict[tuple[object, ...], int] = {}
        described = (self._moved(path, kind) for path, kind in leaves(state))
        self.moved = [m for m in described if m is not None]

    def sorts_of(self, moved: Moved) -> set[SortT]:
        """The sorts that a leaf is about."""
        elements = [step.element for step in moved.steps]
        if moved.kind != Kind.PLAIN:
            elements.append(moved.base)
        return {self._sort_of(element) for element in elements}

    def _sort_of(self, element: int) -> SortT:
        return next(k for k in self.sorts.values() if self.base[k.name] <= element < self.base[k.name] + k.size)

    # --- leaves ---------------------------------------------------------------------------------------

    def _moved(self, path: Path, kind: LeafT) -> Moved | None:
        steps: list[Step] = []
        shape: list[object] = []
        shift = 0
        inner: Type = self.state
        for place, (part, index) in enumerate(zip(path, index_types(path, self.state), strict=True)):
            inner = _inside(inner, part)
            found = [] if index is None else list(self._steps(part, index, leaf_count(inner), place))
            steps += found
            shift += sum(self._distance(step) for step in found)
            shape.append(("elements", str(index), len(found)) if found else part)
        value, base, size, offset = self._value(kind)
        if not steps and value == Kind.PLAIN:
            return None
        slot = slot_of(path, self.state) if value != Kind.PLAIN else None
        at = self.number[path]
        length, place = (-1, -1) if slot is None else (self.number[slot.length], slot.at)
        number = self.shapes.setdefault(tuple(shape), len(self.shapes))
        return Moved(at, at - shift, tuple(steps), value, base, size, offset, length, place, number)

    def _steps(self, part: object, index: LeafT, stride: int, place: int) -> Iterator[Step]:
        match index:
            case SortT() if index.name in self.base and isinstance(part, int):
                yield Step(self.base[index.name] + part, stride, False, place)
            case OptT(inner=inner) if part is not None:
                yield from self._steps(part, inner, stride, place)
            case SetT(element=SortT() as sort) if sort.name in self.base and isinstance(part, frozenset):
                for item in sorted(v for v in part if isinstance(v, int)):
                    yield Step(self.base[sort.name] + item, stride, True, place)

    def _distance(self, step: Step) -> int:
        position = step.element - self.base[self._sort_of(step.element).name]
        return step.stride << position if step.power else step.stride * position

    def _value(self, kind: LeafT) -> tuple[Kind, int, int, int]:
        match kind:
            case SortT() if kind.name in self.base:
                return Kind.ELEMENT, self.base[kind.name], kind.size, 0
            case OptT(inner=SortT() as sort) if sort.name in self.base:
                return Kind.ELEMENT, self.base[sort.name], sort.size, 1
            case SetT(element=SortT() as sort) if sort.name in self.base:
                return Kind.SET, self.base[sort.name], sort.size, 0
            case _:
                return Kind.PLAIN, 0, 0, 0

    # --- groups ---------------------------------------------------------------------------------------

    def group(self, sort: SortT) -> Group:
        """How the elements of a sort are told apart."""
        mine = [m for m in self.moved if sort in self.sorts_of(m)]
        single = all(len(m.steps) + (m.kind != Kind.PLAIN) == 1 for m in mine)
        plain = all(m.length < 0 and not any(s.power for s in m.steps) for m in mine)
        columns = self._columns([m for m in mine if m.kind == Kind.PLAIN]) if single else []
        if single and plain and all(len(column.places) == sort.size for column in columns):
            placed, shift = _in_key(columns)
            mentions = [m for m in mine if m.kind != Kind.PLAIN]
            if shift + len(mentions) <= KEY_BITS:
                bits = tuple(Mention(m.leaf, m.kind, m.offset, at) for at, m in enumerate(mentions, shift))
                return Group(sort, self.base[sort.name], True, True, placed, bits)
        return Group(sort, self.base[sort.name], single, False, (), ())

    def _columns(self, mine: Sequence[Moved]) -> list[Column]:
        """The leaves of single elements, those that lie side by side for every element taken together."""
        columns: list[Column] = []
        for shape in dict.fromkeys(m.shape for m in mine):
            row = [
                self.leaves[leaf] for _, leaf in sorted((m.steps[0].element, m.leaf) for m in mine if m.shape == shape)
            ]
            column = Column(tuple((x.word, x.shift) for x in row), row[0].bits, 0)
            joined = _joined(columns[-1], column) if columns else None
            if joined is not None:
                columns[-1] = joined
            else:
                columns.append(column)
        return columns


def _joined(left: Column, right: Column) -> Column | None:
    """Both in one, if for every element the right one begins where the left one ends."""
    ends = tuple((word, shift + left.bits) for word, shift in left.places)
    return Column(left.places, left.bits + right.bits, 0) if ends == right.places else None


def _in_key(columns: Sequence[Column]) -> tuple[tuple[Column, ...], int]:
    """The columns with their places in the key, and the number of bits that they take."""
    placed, shift = [], 0
    for column in columns:
        if shift % 64 + column.bits > 64:
            shift += 64 - shift % 64
        placed.append(replace(column, shift=shift))
        shift += column.bits
    return tuple(placed), shift


def _inside(kind: Type, part: object) -> Type:
    if isinstance(kind, RecordT):
        inner = kind.get(str(part))
        assert inner is not None
        return inner
    return kind.element  # type: ignore[union-attr]


def _sorts_at(path: Path, kind: LeafT, state: RecordT) -> Iterator[SortT]:
    """Sorts that a leaf is about, by its indices and its value."""
    for index in (*index_types(path, state), kind):
        match index:
            case SortT():
                yield index
            case OptT(inner=SortT() as sort) | SetT(element=SortT() as sort):
                yield sort
            case _:
                pass


__all__ = ["Column", "Group", "Kind", "Mention", "Moved", "Plan", "Step", "plan"]
