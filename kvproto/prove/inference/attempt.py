"""One attempt with one template: mine, drop, slice, and prove what is left for every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvproto.prove.conditions import Condition, conditions
from kvproto.prove.evaluate import holds
from kvproto.prove.formula import INT, ForAll
from kvproto.prove.inference.finite import Finite
from kvproto.prove.inference.houdini import Houdini
from kvproto.prove.inference.pool import Pool
from kvproto.prove.inference.slicing import Slice, Slicer
from kvproto.prove.mining.minimal import minimal_clauses
from kvproto.prove.mining.rows import rows
from kvproto.prove.mining.template import Template
from kvproto.prove.proof import Induction, Limits
from kvproto.prove.solver import Counterexample, Solver, Valid
from kvproto.prove.theory import Clause, Structure, Theory


@dataclass(frozen=True, slots=True)
class Proved:
    """Clauses with all conditions, each reduced to the hypotheses it needs."""

    clauses: tuple[Clause, ...]
    conditions: tuple[Condition, ...]
    cores: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why the attempt failed, and the clauses that were given up on the way."""

    reason: str
    where: Induction | None
    dropped: tuple[Clause, ...]


@dataclass
class Attempt:
    """A template with a bound on literals, tried on the seeds."""

    theory: Theory
    seeds: Sequence[Structure]
    template: Template
    literals: int
    user: Sequence[Clause]
    limits: Limits
    solver: Solver
    pool: Pool = field(init=False)
    finite: Finite = field(init=False)
    rejected: dict[str, Induction] = field(default_factory=dict)

    def run(self) -> Proved | Stuck:
        """The proof, or where it is stuck."""
        truth = rows(self.template, self.seeds)
        self.pool = Pool(self.template, truth, self.literals, self.limits.candidates)
        self.pool.give((*self.theory.claims, *self.theory.typing, *self.user))
        self.pool.add(minimal_clauses(self.template, truth, self.literals)[: self.limits.candidates])
        self.finite = Finite(self.theory, universe(self.theory, self.template, self.user))
        wanted = {claim.name for claim in self.theory.claims}
        houdini = Houdini(self.finite, self.pool, wanted)
        while True:
            lost = houdini.run()
            self.rejected |= {name: found for name, found in houdini.rejected.items() if name not in wanted}
            if lost is not None:
                return self._stuck(f"no candidate keeps {lost.broken.name}", lost)
            found = Slicer(self.theory, self.finite, self.pool.alive).slice()
            if isinstance(found, Induction):
                return self._stuck(f"what is left does not imply {found.broken.name}", found)
            result = self._discharged(found)
            if not isinstance(result, Induction):
                return result
            houdini.refute(result)

    def false_in(self, clause: Clause, state: Structure) -> bool:
        """Whether a clause that was given up would exclude the state."""
        return not holds(clause.formula, state)

    def _stuck(self, reason: str, where: Induction | None) -> Stuck:
        return Stuck(reason, where, tuple(self.pool.dropped))

    def _discharged(self, found: Slice) -> Proved | Stuck | Induction:
        """All conditions over any number of elements; a counterexample there goes back to the candidates."""
        kept = found.clauses
        proved: dict[str, Condition] = {}
        cores: dict[str, tuple[str, ...]] = {}
        waiting = conditions(self.theory, kept)
        while waiting:
            condition = waiting.pop(0)
            core = self._core(condition, found)
            if isinstance(core, tuple):
                cores[condition.name], proved[condition.name] = core, condition.assuming(core)
                continue
            again = self._with_all(condition, kept)
            if not isinstance(again, list):
                return again
            kept = tuple(clause for clause in self.pool.alive if clause in kept or clause in again)
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

    def _with_all(self, condition: Condition, kept: Sequence[Clause]) -> list[Clause] | Stuck | Induction:
        """Clauses outside of the slice that prove the condition after all, or its counterexample."""
        everything = self.pool.alive
        whole = next(each for each in conditions(self.theory, everything) if each.name == condition.name)
        answer = self.solver.decide(whole)
        if isinstance(answer, Valid):
            return [clause for clause in everything if clause.name in answer.core and clause not in kept]
        if isinstance(answer, Counterexample):
            broken = next((clause for clause in everything if clause.name == condition.about), None)
            if broken is not None:
                return answer.induction(condition, broken)
            return self._stuck(
                f"what is left does not imply {condition.about}",
                answer.induction(replace(condition), Clause(condition.about, condition.goal)),
            )
        return self._stuck(f"{condition.name}: {answer.reason}", None)


def universe(theory: Theory, template: Template, user: Sequence[Clause]) -> dict[str, int]:
    """Elements of each sort: as many as a step names, and a clause speaks of, together."""
    sizes = {}
    for sort in theory.sorts:
        named = max((sum(var.sort == sort for var in action.params) for action in theory.transitions), default=0)
        clauses = [sum(var.sort == sort for var in template.vars)]
        for clause in (*theory.claims, *theory.typing, *user):
            if isinstance(clause.formula, ForAll):
                clauses.append(sum(var.sort == sort for var in clause.formula.vars if var.sort != INT))
        sizes[sort] = max(1, named + max(clauses))
    return sizes
