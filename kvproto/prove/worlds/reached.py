"""Whether the state before a failing step can be reached: looked for in the small world of its own size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations, product
from math import factorial, prod

from kvproto.diagnostics import KvError
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.prove.logic.theory import Structure
from kvproto.prove.lowering.system import Lowered
from kvproto.prove.worlds.instances import Reader, reachable

MOST_STATES = 50_000
MOST_NAMINGS = 1_000
"""Ways to name the elements of a state that are compared."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What the small world says: `yes`, `no`, or None where it was too large to say; `why` in words."""

    yes: bool | None
    why: str
    settings: Mapping[str, int] = field(default_factory=dict)
    """Sizes and numbers of that world."""


def reached(lowered: Lowered, chosen: Chosen, state: Structure) -> Reached:
    """Look for the state among the reachable ones of its size, names of elements aside."""
    sizes = {sort: size for sort, size in state.sizes.items() if sort in lowered.theory.sorts}
    numbers = {symbol.spelled: state.integers[symbol.name][()] for symbol in lowered.source.numbers.values()}
    told = [f"{size} {sort}" for sort, size in sizes.items()]
    shown = ", ".join([*told, *(f"{name}={value}" for name, value in numbers.items())])
    if prod(factorial(size) for size in sizes.values()) > MOST_NAMINGS:
        return Reached(None, f"not looked for: {shown} have too many names")
    sets = {**chosen.binding.values, **numbers, **sizes}
    try:
        system = build(
            lowered.source.model,
            choose(lowered.source.model, preset=chosen.preset or None, scope=chosen.scope or None, sets=sets),
        )
        found = reachable(system, MOST_STATES)
    except KvError:
        return Reached(None, f"not looked for: a search with {shown} is refused")
    reader = Reader(lowered, system)
    wanted = {_contents(state, lowered, naming) for naming in _namings(sizes)}
    for one in found:
        if _contents(reader.structure(one), lowered) in wanted:
            return Reached(True, f"it is reachable with {shown}: the claim may be false", {**sizes, **numbers})
    if len(found) >= MOST_STATES:
        return Reached(None, f"not found among the first {len(found):,} states with {shown}")
    return Reached(False, f"it is not reachable with {shown} ({len(found):,} states)")


Naming = Mapping[str, tuple[int, ...]]
"""For each sort the new name of every element."""


def _contents(structure: Structure, lowered: Lowered, naming: Naming | None = None) -> tuple[object, ...]:
    """What state symbols hold, under other names of the elements, as something that can be compared."""
    parts: list[object] = []
    for symbol in lowered.theory.state:

        def renamed(cell: tuple[int, ...], sorts: tuple[str, ...] = symbol.args) -> tuple[int, ...]:
            if naming is None:
                return cell
            return tuple(naming[sort][item] for sort, item in zip(sorts, cell, strict=True))

        if symbol.name in structure.integers:
            values = structure.integers[symbol.name].items()
            parts.append(frozenset((renamed(cell), value) for cell, value in values))
        else:
            parts.append(frozenset(map(renamed, structure.relations[symbol.name])))
    return tuple(parts)


def _namings(sizes: Mapping[str, int]) -> Iterator[Naming]:
    """All ways to name the elements."""
    for chosen in product(*(permutations(range(size)) for size in sizes.values())):
        yield dict(zip(sizes, chosen, strict=True))
