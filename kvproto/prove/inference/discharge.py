"""What few elements left over, proved for any number of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvproto.prove.inference.slicing import Slice
from kvproto.prove.logic.conditions import Condition, conditions
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.proof import Induction
from kvproto.prove.solver import Counterexample, Solver, Valid


@dataclass(frozen=True, slots=True)
class Proved:
    """Clauses with all conditions, each reduced to the hypotheses it needs."""

    clauses: tuple[Clause, ...]
    conditions: tuple[Condition, ...]
    cores: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Open:
    """A condition that is not valid with all that is alive, or not decided."""

    reason: str
    where: Induction | None


@dataclass
class Discharge:
    """Proves a slice; what is alive beside it helps where few elements told too little."""

    theory: Theory
    solver: Solver
    alive: Sequence[Clause]

    def run(self, found: Slice) -> Proved | Open:
        """All conditions over any number of elements."""
        kept = found.clauses
        proved: dict[str, Condition] = {}
        cores: dict[str, tuple[str, ...]] = {}
        waiting = conditions(self.theory, kept)
        while waiting:
            condition = waiting.pop(0)
            core = self._core(condition, found)
            if core is not None:
                cores[condition.name], proved[condition.name] = core, condition.assuming(core)
                continue
            again = self._with_all(condition, kept)
            if isinstance(again, Open):
                return again
            kept = tuple(clause for clause in self.alive if clause in kept or clause in again)
            waiting = [each for each in conditions(self.theory, kept) if each.name not in proved]
        return Proved(kept, tuple(proved.values()), cores)

    def _core(self, condition: Condition, found: Slice) -> tuple[str, ...] | None:
        """Hypotheses with which the condition is valid: those that few elements needed, or all of the slice."""
        always = {each.name for each in condition.hypotheses} - {clause.name for clause in found.clauses}
        for names in (always | found.used.get(condition.name, frozenset()), None):
            answer = self.solver.decide(condition if names is None else condition.assuming(names))
            if isinstance(answer, Valid):
                return answer.core
        return None

    def _with_all(self, condition: Condition, kept: Sequence[Clause]) -> list[Clause] | Open:
        """Clauses outside of the slice that prove the condition after all, or its counterexample."""
        everything = self.alive
        whole = next(each for each in conditions(self.theory, everything) if each.name == condition.name)
        answer = self.solver.decide(whole)
        if isinstance(answer, Valid):
            return [clause for clause in everything if clause.name in answer.core and clause not in kept]
        if isinstance(answer, Counterexample):
            broken = next((clause for clause in everything if clause.name == condition.about), None)
            if broken is not None:
                return Open(f"{condition.name}: refuted by more elements", answer.induction(condition, broken))
            return Open(
                f"what is left does not imply {condition.about}",
                answer.induction(condition, Clause(condition.about, condition.goal)),
            )
        return Open(f"{condition.name}: {answer.reason}", None)
