"""Candidates for an invariant: which are alive, which were given up, and what takes the place of those.

A mined clause that is given up comes back as the clauses that have one literal more (or a comparison that says less),
unless they are false in the same state or something alive makes them superfluous.  While a clause is alive it implies
all of those, so nothing is lost by not having them from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.theory import Clause, Structure
from kvproto.prove.mining.differences import Implied
from kvproto.prove.mining.minimal import Literals, canonical, instances_of, subsumed
from kvproto.prove.mining.rows import Bits, falsified, rows
from kvproto.prove.mining.template import Template


class Pool:
    """Clauses by name, in the order in which they came."""

    def __init__(self, template: Template, implied: Implied, longest: int, limit: int):
        self.template, self.implied, self.longest, self.limit = template, implied, longest, limit
        self.given: dict[str, Clause] = {}
        self.mined: dict[str, tuple[Literals, Clause]] = {}
        self.dropped: list[Clause] = []
        self.total = 0
        self._seen: set[Literals] = set()
        self._instances: dict[str, set[frozenset[int]]] = {}

    @property
    def alive(self) -> list[Clause]:
        """Given clauses first, then the mined ones."""
        return [*self.given.values(), *(clause for _, clause in self.mined.values())]

    def has(self, name: str) -> bool:
        """Whether the clause is alive."""
        return name in self.given or name in self.mined

    def clause(self, name: str) -> Clause:
        """A clause that is alive."""
        return self.given[name] if name in self.given else self.mined[name][1]

    def give(self, clauses: Iterable[Clause]) -> None:
        """Claims, typing and what users propose: kept as they are or dropped for good."""
        for clause in clauses:
            self.given[clause.name] = clause

    def add(self, clauses: Iterable[Literals]) -> list[Clause]:
        """Mined clauses, those that are new."""
        fresh = []
        for literals in clauses:
            if literals in self._seen:
                continue
            self._seen.add(literals)
            self.total += 1
            name = f"c {'.'.join(map(str, literals))}"  # no property of a model can be called so
            clause = Clause(name, self.template.formula(literals))
            self.mined[name] = (literals, clause)
            self._instances[name] = instances_of(self.template, literals)
            fresh.append(clause)
        return fresh

    def drop(self, state: Structure) -> list[Clause]:
        """Give up all clauses that are false in the state; what is added in their place is returned."""
        gone = [clause for clause in self.given.values() if not holds(clause.formula, state)]
        for clause in gone:
            del self.given[clause.name]
        here = rows(self.template, [state])
        names = list(self.mined)
        false = falsified(here, [self.mined[name][0] for name in names])
        losers = [name for name, lost in zip(names, false, strict=True) if lost]
        literals = [self.mined[name][0] for name in losers]
        for name in losers:
            gone.append(self.mined.pop(name)[1])
            del self._instances[name]
        self.dropped += gone
        return self.add(self._weakened(literals, here))

    def lose(self, name: str) -> None:
        """Give up one clause, whatever a state says."""
        gone = self.given.pop(name, None)
        if gone is None:
            gone = self.mined.pop(name)[1]
            del self._instances[name]
        self.dropped.append(gone)

    def _weakened(self, clauses: Sequence[Literals], here: Bits) -> list[Literals]:
        """One literal more: true in the state that refuted the clause, and implied by nothing that is alive."""
        instances: set[frozenset[int]] = set().union(*self._instances.values()) if self._instances else set()
        found: dict[Literals, None] = {}
        for longer in (other for clause in clauses for other in self._next(clause)):
            if longer not in found and longer not in self._seen and not self._superfluous(longer, instances):
                if not falsified(here, [longer])[0]:
                    found[longer] = None
        room = max(0, self.limit - len(self.mined))
        return list(found)[:room]

    def _next(self, clause: Literals) -> Iterator[Literals]:
        """Clauses that say a little less."""
        for place, literal in enumerate(clause):
            for weaker in self.implied.weaker[literal]:
                if weaker not in clause:
                    yield canonical(self.template, (*clause[:place], weaker, *clause[place + 1 :]))
        for literal in self.template.usable:
            if literal not in clause and len(clause) < self.longest:
                yield canonical(self.template, (*clause, literal))

    def _superfluous(self, clause: Literals, instances: set[frozenset[int]]) -> bool:
        if self.implied.tautology(clause):
            return True
        closed = self.implied.closure(clause)
        if len(closed) == len(clause):
            return subsumed(clause, instances)
        return any(instance <= closed for instance in instances)
