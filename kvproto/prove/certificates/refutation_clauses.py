"""Refuting clauses by splitting on literals; what is learned on the way is checked by unit propagation alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kvproto.prove.certificates.ground import Clause

RuleOut = Callable[[Sequence[int]], bool]
"""Given literals that satisfy all clauses: add clauses to the base that rule them out; false if there are none."""


class Satisfiable(Exception):
    """The clauses can all be true."""


@dataclass(slots=True)
class Base:
    """Clauses, each literal knowing where its negation occurs."""

    clauses: list[Clause] = field(default_factory=list)
    with_literal: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, clause: Clause) -> int:
        """Add a clause; its place is returned."""
        place = len(self.clauses)
        self.clauses.append(clause)
        for literal in clause:
            self.with_literal[literal].append(place)
        return place


@dataclass(slots=True)
class Spread:
    """What follows from decisions by unit propagation: literals in order, each with the clause that forced it."""

    literals: list[int] = field(default_factory=list)
    reason: dict[int, int | None] = field(default_factory=dict)
    conflict: int | None = None


def propagate(base: Base, decisions: Iterable[int]) -> Spread:
    """Unit propagation from the decisions, up to a clause without a literal left."""
    spread = Spread()
    for place, clause in enumerate(base.clauses):
        if len(clause) <= 1 and _take(base, spread, place):
            return spread
    for decision in decisions:
        if decision not in spread.reason:
            spread.reason[decision] = None
            spread.literals.append(decision)
    at = 0
    while at < len(spread.literals):
        for place in base.with_literal.get(-spread.literals[at], ()):
            if _take(base, spread, place):
                return spread
        at += 1
    return spread


def _take(base: Base, spread: Spread, place: int) -> bool:
    """Draw the literal that a clause leaves; true if it leaves none."""
    rest = 0
    for literal in base.clauses[place]:
        if literal in spread.reason:
            return False
        if -literal not in spread.reason:
            if rest:
                return False
            rest = literal
    if not rest:
        spread.conflict = place
        return True
    spread.reason[rest] = place
    spread.literals.append(rest)
    return False


def causes(base: Base, spread: Spread) -> tuple[set[int], set[int]]:
    """Decisions and clauses that a conflict needs."""
    assert spread.conflict is not None
    decisions: set[int] = set()
    used, seen = {spread.conflict}, set()
    todo = [-literal for literal in base.clauses[spread.conflict]]
    while todo:
        literal = todo.pop()
        if literal in seen:
            continue
        seen.add(literal)
        place = spread.reason[literal]
        if place is None:
            decisions.add(literal)
        else:
            used.add(place)
            todo.extend(-other for other in base.clauses[place] if other != literal)
    return decisions, used


@dataclass(slots=True)
class Splitter:
    """Learns clauses until the empty one."""

    base: Base
    rule_out: RuleOut
    learned: list[int] = field(default_factory=list)
    """Places of what was learned by splitting; the rest is given, or told by the theory."""
    needs: dict[int, set[int]] = field(default_factory=dict)

    def refute(self) -> None:
        """Learn the empty clause; raises `Satisfiable`."""
        self._under(())

    def _under(self, decisions: tuple[int, ...]) -> Clause:
        """A learned clause that is false under the decisions."""
        while True:
            spread = propagate(self.base, decisions)
            if spread.conflict is not None:
                return self._learn(spread)
            split = self._split(spread)
            if split:
                learned = self._under((*decisions, split))
                if -split not in learned:
                    return learned
                continue
            if not self.rule_out(spread.literals):
                raise Satisfiable

    def _learn(self, spread: Spread) -> Clause:
        decisions, used = causes(self.base, spread)
        clause = tuple(sorted((-literal for literal in decisions), key=abs))
        place = self.base.add(clause)
        self.learned.append(place)
        self.needs[place] = used
        return clause

    def _split(self, spread: Spread) -> int:
        """A literal of a shortest clause that is not satisfied yet, 0 if all are."""
        best: list[int] = []
        for clause in self.base.clauses:
            if any(literal in spread.reason for literal in clause):
                continue
            free = [literal for literal in clause if -literal not in spread.reason]
            if not best or len(free) < len(best):
                best = free
                if len(best) == 2:
                    break
        return best[0] if best else 0

    def needed(self) -> tuple[list[int], set[int]]:
        """Places of learned clauses that the empty one needs, in order, and of all clauses that they need."""
        wanted, used = [self.learned[-1]], set[int]()
        for place in reversed(self.learned):
            if place in used or place in wanted:
                used |= {place} | self.needs[place]
        return [place for place in self.learned if place in used], used
