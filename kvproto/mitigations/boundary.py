"""The boundary between sets that suffice and sets that do not.

If turning a switch on never did harm, sufficient sets would be closed upwards, and the boundary could be walked as
MARCO walks the boundary of unsatisfiable sets of constraints (Liffiton, Previti, Malik, Marques-Silva: Fast, flexible
MUS enumeration, Constraints 21, 2016): take an unexplored set that is as large as possible; if it is not enough it is
a maximal one that is not; otherwise shrink it; never look above or below again.  What MARCO asks a SAT solver for, an
unexplored set, is kept explicitly here (`Frontier`): it is never much larger than the answer.

But a measure may do harm.  So the assumption is made for single switches, and given up for those that refute it: all
pairs of decided sets are compared, after every neighbour of the boundary has been decided too; if a set suffices and
a larger one does not, one of the switches between them hurts.  From then on the sets with that switch and those
without it are walked separately.  What is left is an assumption about sets that nobody looked at; `exact` makes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kvproto.mitigations.lattice import Frontier, bits, maximal, minimal, size_then_value, subsets, within

MOST_OPEN = 16
"""So many sets that cannot be decided end the walk: the answer is open anyway."""


class Oracle(Protocol):
    """Decides sets for one goal."""

    def decide(self, chosen: int) -> bool | None:
        """Whether the set suffices; None if that is not known within the budget."""

    def ahead(self, sets: Iterable[int]) -> None:
        """These will be asked for: decide them now, in parallel if possible."""

    def decided(self) -> Mapping[int, bool]:
        """All sets decided so far."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Minimal sufficient sets, maximal insufficient ones, and what stands in the way of a complete answer.

    `hurts` are pairs (set that suffices, switch that spoils it), the smallest known for each such switch; `split` are
    the switches that nothing is assumed about, `exact` says that no set was passed over.
    """

    sufficient: tuple[int, ...]
    insufficient: tuple[int, ...]
    hurts: tuple[tuple[int, int], ...]
    split: int
    open: tuple[int, ...]
    exact: bool
    verdicts: Mapping[int, bool | None] = field(default_factory=dict)
    """Of all sets, if it is exact."""


def exact(everything: int, oracle: Oracle) -> Boundary:
    """The boundary from all sets."""
    sets = sorted(subsets(everything), key=size_then_value)
    oracle.ahead(sets)
    verdicts = {chosen: oracle.decide(chosen) for chosen in sets}
    good = {chosen for chosen, verdict in verdicts.items() if verdict is True}
    hurts = [
        (chosen, bit)
        for chosen in sorted(good, key=size_then_value)
        for bit in bits(everything & ~chosen)
        if verdicts[chosen | bit] is False
    ]
    return Boundary(
        tuple(minimal(good)),
        tuple(maximal(chosen for chosen, verdict in verdicts.items() if verdict is False)),
        _smallest(hurts),
        everything,
        tuple(chosen for chosen, verdict in verdicts.items() if verdict is None),
        exact=True,
        verdicts=verdicts,
    )


def walk(everything: int, oracle: Oracle) -> Boundary:
    """The boundary, passing over sets that follow as long as no switch hurts, each one until it is seen to."""
    split, hurts = 0, dict[tuple[int, int], None]()
    while True:
        slices = [_Slice(everything & ~split, fixed, oracle) for fixed in subsets(split)]
        for part in slices:
            part.explore()
        good = minimal(s for part in slices for s in part.sufficient)
        bad = maximal(s for part in slices for s in part.insufficient)
        unknown = {s for part in slices for s in part.open}
        unknown |= _neighbours(everything, [*good, *bad], oracle)
        found = dict.fromkeys(_contradictions(everything & ~split, oracle))
        hurts |= found
        if not found:
            hurts |= dict.fromkeys(_spoilt(everything, good, oracle))
            opened = tuple(sorted(unknown, key=size_then_value))
            return Boundary(tuple(good), tuple(bad), _smallest(hurts), split, opened, exact=split == everything)
        for _, bit in found:
            split |= bit


def _smallest(hurts: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """For each switch that does harm the smallest sets that it spoils."""
    spoilt: dict[int, list[int]] = {}
    for low, bit in hurts:
        spoilt.setdefault(bit, []).append(low)
    return tuple((low, bit) for bit in sorted(spoilt) for low in minimal(spoilt[bit]))


def _neighbours(everything: int, sets: list[int], oracle: Oracle) -> set[int]:
    """Decide every set that differs from one of these by one switch; gives those that cannot be decided."""
    near = sorted({s ^ bit for s in sets for bit in bits(everything)}, key=size_then_value)
    oracle.ahead(near)
    return {s for s in near if oracle.decide(s) is None}


def _contradictions(assumed: int, oracle: Oracle) -> Iterator[tuple[int, int]]:
    """(set that suffices, switch that spoils it) for switches that are assumed to do no harm; one pair a switch."""
    verdicts = oracle.decided()
    good = sorted((s for s, verdict in verdicts.items() if verdict), key=size_then_value)
    bad = sorted((s for s, verdict in verdicts.items() if not verdict), key=size_then_value)
    named = 0
    for high in bad:
        for low in good:
            if within(low, high) and within(high & ~low, assumed & ~named):
                pair = _step_between(low, high, oracle.decide)
                if pair is not None:
                    named |= pair[1]
                    yield pair


def _step_between(low: int, high: int, decide: Callable[[int], bool | None]) -> tuple[int, int] | None:
    """`low` suffices and `high` above it does not: the step on the way where that changes, if it can be seen."""
    for bit in bits(high & ~low):
        after = decide(low | bit)
        if after is False:
            return low, bit
        if after is None:
            return None
        low |= bit
    return None


def _spoilt(everything: int, good: list[int], oracle: Oracle) -> Iterator[tuple[int, int]]:
    """Minimal sufficient sets that a single further switch spoils: what a reader of the answer must know."""
    for chosen in good:
        for bit in bits(everything & ~chosen):
            if oracle.decide(chosen | bit) is False:
                yield chosen, bit


def _groups(chosen: int, size: int) -> Iterator[int]:
    """The set cut into pieces of that size, the last one smaller."""
    single = list(bits(chosen))
    return (sum(single[at : at + size]) for at in range(0, len(single), size))


class _Slice:
    """The sets that agree with `fixed` outside of `free`."""

    def __init__(self, free: int, fixed: int, oracle: Oracle) -> None:
        self.free = free
        self.fixed = fixed
        self.oracle = oracle
        self.sufficient: list[int] = []
        self.insufficient: list[int] = []
        self.open: set[int] = set()

    def explore(self) -> None:
        """Find the boundary inside of the slice."""
        frontier = Frontier(self.free)
        while len(self.open) < MOST_OPEN:
            seed = frontier.seed()
            if seed is None:
                return
            match self.decide(seed):
                case None:
                    frontier.skip(seed)
                case False:
                    self.insufficient.append(seed | self.fixed)
                    frontier.settle(seed)
                case True:
                    low = self.shrink(seed)
                    self.sufficient.append(low | self.fixed)
                    frontier.sufficient(low)

    def decide(self, chosen: int) -> bool | None:
        verdict = self.oracle.decide(chosen | self.fixed)
        if verdict is None:
            self.open.add(chosen | self.fixed)
        return verdict

    def shrink(self, chosen: int) -> int:
        """A sufficient set inside of this one from which no single switch can be taken away."""
        many = chosen.bit_count() // 2
        while many > 1:  # of many switches few matter, so whole groups go at once
            for group in _groups(chosen, many):
                if self.decide(chosen & ~group):
                    chosen &= ~group
            many //= 2
        again = True
        while again:
            again = False
            for bit in bits(chosen):
                if self.decide(chosen & ~bit):
                    # With a switch that hurts, one that was needed above need not be needed here: go round again.
                    chosen, again = chosen & ~bit, True
        return chosen
