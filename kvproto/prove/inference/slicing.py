"""What a proof needs: back from the claims and obligations, by the hypotheses that each condition really uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kvproto.prove.inference.finite import Case, Finite
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.proof import Induction

Prove = Callable[[Sequence[Clause]], "list[str] | None"]
"""Names of hypotheses that suffice for something, or none."""

_TRIED = 12
"""Cores longer than this are taken as they are."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Clauses that support each other and everything that was asked, with what each condition used.

    `used` is by name of the condition, as `kvproto.prove.logic.conditions` calls it.
    """

    clauses: tuple[Clause, ...]
    used: Mapping[str, frozenset[str]]


class Slicer:
    """Walks back from what is wanted."""

    def __init__(self, theory: Theory, finite: Finite, alive: Sequence[Clause]):
        self.theory, self.finite, self.alive = theory, finite, list(alive)
        self.needed: dict[str, None] = {}
        self.used: dict[str, set[str]] = {}

    def slice(self) -> Slice | Induction:
        """The clauses that are needed, or why what is alive does not suffice."""
        names = {clause.name for clause in self.alive}
        for claim in self.theory.claims:
            if claim.name in names:
                self._need([claim.name], f"claim {claim.name}")
            else:
                core = self._least(partial(self.finite.core, None, goal=claim.formula, name=claim.name))
                if core is None:
                    return self._unmet(None, claim)
                self._need(core, f"claim {claim.name}")
        stuck = self._obligations()
        if stuck is not None:
            return stuck
        by_name = {clause.name: clause for clause in self.alive}
        waiting = list(self.needed)
        while waiting:
            clause = by_name[waiting.pop(0)]
            for case in self.finite.cases:
                known = set(self.needed)
                core = self._least(partial(self.finite.kept, case, clause=clause))
                assert core is not None, f"{clause.name} is alive and not kept by {case.action.name}"
                self._need(core, f"{case.action.name} keeps {clause.name}")
                waiting += [name for name in core if name not in known]
        kept = tuple(clause for clause in self.alive if clause.name in self.needed)
        return Slice(kept, {name: frozenset(used) for name, used in self.used.items()})

    def _obligations(self) -> Induction | None:
        for case in self.finite.cases:
            for duty in case.action.obligations:
                name = f"{case.action.name} respects {duty.name}"
                core = self._least(partial(self.finite.core, case, goal=duty.formula, name=name))
                if core is None:
                    return self._unmet(case, Clause(name, duty.formula, duty.text, duty.loc))
                self._need(core, name)
        return None

    def _least(self, prove: Prove) -> list[str] | None:
        """Hypotheses that suffice, as few new ones as a short search finds."""
        core = prove([clause for clause in self.alive if clause.name in self.needed])
        if core is not None:
            return core
        core = prove(self.alive)
        if core is None:
            return None
        by_name = {clause.name: clause for clause in self.alive}
        fresh = [name for name in core if name not in self.needed]
        if len(fresh) <= _TRIED:
            for name in reversed(fresh):
                shorter = prove([by_name[other] for other in core if other != name])
                core = core if shorter is None else shorter
        return core

    def _need(self, core: Sequence[str], condition: str) -> None:
        self.needed.update(dict.fromkeys(core))
        self.used.setdefault(condition, set()).update(core)

    def _unmet(self, case: Case | None, wanted: Clause) -> Induction:
        found = self.finite.unmet(case, self.alive, wanted.formula, wanted.name)
        assert found is not None
        return found
