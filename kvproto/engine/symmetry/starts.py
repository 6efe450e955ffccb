"""Whether runs start symmetrically: the set of initial states must be closed under renaming."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kvproto.engine.layout import Layout
from kvproto.engine.symmetry.tables import Group, Kind, Plan, plan
from kvproto.ir.nodes import System
from kvproto.ir.types import SortT, label, show_path, show_value
from kvproto.passes.symmetry import Asymmetry, init_loc

MAX_ELEMENTS = 256
"""Elements of all symmetric sorts together; the canonical form keeps a square of that many numbers."""


def closed(
    system: System, layout: Layout, sorts: Sequence[SortT], initial: Collection[int]
) -> tuple[tuple[SortT, ...], tuple[Asymmetry, ...]]:
    """The sorts under whose permutations the set of initial states is closed, and why the others are not among them.

    Exact: every initial state (packed) is tried under every exchange of neighbouring elements, and these generate all
    permutations.  Sorts that would make more than `MAX_ELEMENTS` elements are left out as well.
    """
    states = frozenset(initial)
    kept: list[SortT] = []
    broken: list[Asymmetry] = []
    for sort in sorts:
        if sum(k.size for k in kept) + sort.size > MAX_ELEMENTS:
            reason = f"it has {sort.size} elements, and no more than {MAX_ELEMENTS} in all can be put in order"
            broken.append(Asymmetry(sort.name, None, reason))
            continue
        problem = _start_that_differs(system, layout, sort, states)
        if problem is None:
            kept.append(sort)
        else:
            broken.append(problem)
    return tuple(kept), tuple(broken)


def _start_that_differs(system: System, layout: Layout, sort: SortT, states: frozenset[int]) -> Asymmetry | None:
    """Why the initial states are not closed under permutations of the sort, if they are not."""
    tables = plan(system.state, layout, [sort])
    for group in tables.groups:
        for first in range(sort.size - 1):
            exchange = Exchange(tables, group, first, first + 1)
            moved = [state for state in states if exchange.of(state) not in states]
            if moved:
                state = min(moved)
                always = _always_the_same(layout, sort, states)
                if always is not None:
                    return _named_at_start(system, layout, sort, always, state)
                return _explained(system, layout, sort, (state, exchange.of(state)), first)
    return None


class Exchange:
    """Exchanges two elements of a sort, given by their positions, in packed states."""

    def __init__(self, tables: Plan, group: Group, one: int, other: int) -> None:
        self._pair = (one, other)
        self._both = 1 << one | 1 << other
        positions = list(range(tables.elements))
        for g in tables.groups:
            positions[g.base : g.base + g.sort.size] = range(g.sort.size)
        positions[group.base + one], positions[group.base + other] = other, one
        places = [(64 * x.word + x.shift, (1 << x.bits) - 1) for x in tables.leaves]
        self._keep = -1
        self._moves: list[tuple[int, int, int, bool, bool, int, tuple[int, int, int] | None]] = []
        """From, mask, to, what the value is of this sort, its offset, and place and slot of a queue's length."""
        for moved in tables.moved:
            target = moved.home
            for step in moved.steps:
                at = positions[step.element]
                target += step.stride << at if step.power else step.stride * at
            mine = moved.kind != Kind.PLAIN and moved.base == group.base
            if target == moved.leaf and not mine:
                continue
            shift, mask = places[moved.leaf]
            length = (*places[moved.length], moved.slot) if moved.length >= 0 else None
            many = moved.kind == Kind.SET
            self._keep &= ~(mask << shift)
            self._moves.append((shift, mask, places[target][0], mine, many, moved.offset, length))

    def of(self, packed: int) -> int:
        """The renamed state."""
        after = packed & self._keep
        one, other = self._pair
        for shift, mask, target, mine, many, offset, length in self._moves:
            value = packed >> shift & mask
            if mine and (length is None or packed >> length[0] & length[1] > length[2]):
                if many:
                    if value & self._both not in (0, self._both):
                        value ^= self._both
                elif value - offset == one:
                    value = other + offset
                elif value - offset == other:
                    value = one + offset
            after |= value << target
        return after


def _always_the_same(layout: Layout, sort: SortT, states: frozenset[int]) -> int | None:
    """A variable of the sort that starts as one and the same element in all initial states."""
    for at, (kind, leaf) in enumerate(zip(layout.types, layout.leaves, strict=True)):
        if kind == sort and "slots" not in layout.paths[at]:
            shift, mask = 64 * leaf.word + leaf.shift, (1 << leaf.bits) - 1
            if len({packed >> shift & mask for packed in states}) == 1:
                return at
    return None


def _named_at_start(system: System, layout: Layout, sort: SortT, at: int, state: int) -> Asymmetry:
    place = show_path(layout.paths[at], system.state)
    value = show_value(layout.unpack(state)[at], sort)
    reason = (
        f"{place} starts as the element {value}: declare it Opt({sort.name}), "
        f"or choose it by a parameter of an init function"
    )
    return Asymmetry(sort.name, init_loc(system, sort), reason)


def _explained(system: System, layout: Layout, sort: SortT, pair: tuple[int, int], first: int) -> Asymmetry:
    """The first variable that tells an initial state from the renamed one, which is none."""
    state, other = (layout.unpack(packed) for packed in pair)
    at = next(n for n in range(len(state)) if state[n] != other[n])
    place, value = show_path(layout.paths[at], system.state), show_value(state[at], layout.types[at])
    one, two = label(first, sort), label(first + 1, sort)
    reason = f"{place} starts as {value}, and in no initial state are {one} and {two} exchanged"
    return Asymmetry(sort.name, init_loc(system, sort), reason)
