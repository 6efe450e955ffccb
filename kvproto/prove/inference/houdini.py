"""The largest subset of the candidates that holds initially and is kept by every step, over a few elements."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from kvproto.prove.inference.finite import Finite
from kvproto.prove.inference.pool import Pool
from kvproto.prove.logic.theory import Clause
from kvproto.prove.proof import Induction


class Guidance(Protocol):
    """Supplies clauses on demand."""

    def support(self, found: Induction, pool: Pool) -> list[Clause]:
        """New clauses in the pool that exclude the state before a step that breaks one; none if it is not worth it."""


class Houdini:
    """Drops what a counterexample to induction refutes until there is none; every counterexample serves all clauses.

    It gives up as soon as a clause of `wanted` is refuted: no subset of the candidates can then keep it.
    """

    def __init__(self, finite: Finite, pool: Pool, wanted: Collection[str], guidance: Guidance | None = None):
        self.finite, self.pool, self.wanted, self.guidance = finite, pool, frozenset(wanted), guidance
        self.rejected: dict[str, Induction] = {}
        self.hypotheses: list[Clause] = []
        """What the last counterexample fulfils before the step."""

    def run(self) -> Induction | None:
        """None once all that is alive is inductive, or the counterexample that refutes a wanted clause."""
        self.begin(self.pool.alive)
        stable = 0
        while stable < len(self.finite.cases) and not self.lost:
            for case in self.finite.cases:
                alive = self.pool.alive
                found = self.finite.broken(case, alive, alive)
                stable = stable + 1 if found is None else 0
                while found is not None and not self.lost:
                    self.hypotheses = alive
                    if not self._supported(found):
                        self.refute(found)
                    alive = self.pool.alive
                    found = self.finite.broken(case, alive, alive)
                if self.lost or stable >= len(self.finite.cases):
                    break
        return self.lost

    @property
    def lost(self) -> Induction | None:
        """The counterexample of a wanted clause, if one was refuted."""
        return next((found for name, found in self.rejected.items() if name in self.wanted), None)

    def _supported(self, found: Induction) -> bool:
        """Whether new clauses exclude the state before, so that what the step breaks may live."""
        if self.guidance is None:
            return False
        return self.begin(self.guidance.support(found, self.pool))

    def begin(self, clauses: Iterable[Clause]) -> bool:
        """Drop what is false in an initial state, and ask the same of what takes its place; is something left?"""
        asked = list(clauses)
        while asked:
            state = self.finite.initially(asked)
            if state is None:
                return True
            fresh = self._dropped(Induction(asked[0], state, None, {}, state))
            asked = [clause for clause in (*asked, *fresh) if self.pool.has(clause.name)]
        return False

    def refute(self, found: Induction) -> None:
        """Drop what is false after the step."""
        self.begin(self._dropped(found))

    def _dropped(self, found: Induction) -> list[Clause]:
        before = dict(self.pool.given)
        fresh = self.pool.drop(found.after)
        for name, clause in before.items():
            if name not in self.pool.given:
                self.rejected[name] = Induction(clause, found.before, found.action, found.choice, found.after)
        return fresh
