"""Whether runs start symmetrically: the set of initial states must be closed under renaming."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kvproto.engine.evaluate import State
from kvproto.engine.symmetry.renaming import Renaming
from kvproto.ir.nodes import System
from kvproto.ir.types import SortT, label, leaves, show_path, show_value
from kvproto.passes.symmetry import Asymmetry, init_loc

MAX_ELEMENTS = 256
"""Elements of all symmetric sorts together; the canonical form keeps a square of that many numbers."""


def closed(
    system: System, sorts: Sequence[SortT], initial: Collection[State]
) -> tuple[tuple[SortT, ...], tuple[Asymmetry, ...]]:
    """The sorts under whose permutations the set of initial states is closed, and why the others are not among them.

    Exact: every initial state is tried under every exchange of neighbouring elements, and these generate all
    permutations.  Sorts that would make more than `MAX_ELEMENTS` elements are left out as well.
    """
    states = set(initial)
    kept: list[SortT] = []
    broken: list[Asymmetry] = []
    for sort in sorts:
        if sum(k.size for k in kept) + sort.size > MAX_ELEMENTS:
            reason = f"it has {sort.size} elements, and no more than {MAX_ELEMENTS} in all can be put in order"
            broken.append(Asymmetry(sort.name, None, reason))
            continue
        problem = _start_that_differs(system, sort, states)
        if problem is None:
            kept.append(sort)
        else:
            broken.append(problem)
    return tuple(kept), tuple(broken)


def _start_that_differs(system: System, sort: SortT, states: set[State]) -> Asymmetry | None:
    """Why the initial states are not closed under permutations of the sort, if they are not."""
    for first in range(sort.size - 1):
        order = list(range(sort.size))
        order[first : first + 2] = first + 1, first
        exchange = Renaming(system.state, {sort.name: order})
        for state in states:
            if exchange.of(state) not in states:
                seen = min((s for s in states if exchange.of(s) not in states), key=repr)
                return _explained(system, sort, seen, exchange.of(seen), first)
    return None


def _explained(system: System, sort: SortT, state: State, other: State, first: int) -> Asymmetry:
    parts = list(leaves(system.state))
    at = next(n for n in range(len(parts)) if state[n] != other[n])
    path, kind = parts[at]
    place, value = show_path(path, system.state), show_value(state[at], kind)
    if isinstance(kind, SortT) and not system.inits:
        reason = (
            f"{place} starts as the element {value}: declare it Opt({sort.name}), "
            f"or choose it by a parameter of an init function"
        )
    else:
        one, two = label(first, sort), label(first + 1, sort)
        reason = f"{place} starts as {value}, and in no initial state are {one} and {two} exchanged"
    return Asymmetry(sort.name, init_loc(system, sort), reason)
