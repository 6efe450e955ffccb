"""One attempt with one template: mine, drop, slice, and prove what is left for every size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvproto.prove.conditions import Condition, conditions
from kvproto.prove.formula import free_variables
from kvproto.prove.inference.groundwork import Groundwork, Part
from kvproto.prove.inference.houdini import Houdini
from kvproto.prove.inference.pool import Pool
from kvproto.prove.inference.slicing import Slice, Slicer
from kvproto.prove.mining.minimal import Literals, without_subsumed
from kvproto.prove.proof import Induction
from kvproto.prove.solver import Counterexample, Valid
from kvproto.prove.theory import Clause


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


class Attempt:
    """Clauses of at most `short` literals, and of one more over a part of the template."""

    def __init__(self, work: Groundwork, short: int, part: Part | None):
        self.work, self.short, self.part = work, short, part
        self.pool = Pool(work.template, work.implied, self._longest, work.limits.candidates)
        self.rejected: dict[str, Induction] = {}

    @property
    def text(self) -> str:
        """How a report names it."""
        sorts = self.work.theory.sorts
        counts = {sort: sum(var.sort == sort for var in self.work.template.vars) for sort in sorts}
        general = f"clauses of {self.short} literals over {_counted(counts)}"
        if self.part is None:
            return general
        used = {var for n in self.part for var in free_variables(self.work.template.literal(n))}
        counts = {sort: sum(var.sort == sort for var in used) for sort in sorts}
        return f"{general}, of {self.short + 1} over {_counted(counts)}"

    def run(self) -> Proved | Stuck:
        """The proof, or where it is stuck."""
        theory, finite = self.work.theory, self.work.finite
        self.pool.give((*theory.claims, *theory.typing, *self.work.user))
        self.pool.add(self._mined())
        wanted = {claim.name for claim in theory.claims}
        houdini = Houdini(finite, self.pool, wanted)
        while True:
            lost = houdini.run()
            self.rejected |= {name: found for name, found in houdini.rejected.items() if name not in wanted}
            if lost is not None:
                return self._stuck(f"no candidate keeps {lost.broken.name}", lost)
            found = Slicer(theory, finite, self.pool.alive).slice()
            if isinstance(found, Induction):
                return self._stuck(f"what is left does not imply {found.broken.name}", found)
            result = self._discharged(found)
            if not isinstance(result, Induction):
                return result
            houdini.refute(result)

    def _mined(self) -> list[Literals]:
        """Short clauses, then the longer ones, no more than are wanted."""
        found = self.work.mined(self.short, None)
        if self.part is not None:
            found = list(dict.fromkeys((*found, *self.work.mined(self.short + 1, self.part))))
            found = without_subsumed(self.work.template, found)
        return found[: self.work.limits.candidates]

    def _longest(self, clause: Iterable[int]) -> int:
        return self.short if self.part is None or not self.part.issuperset(clause) else self.short + 1

    def _stuck(self, reason: str, where: Induction | None) -> Stuck:
        return Stuck(reason, where, tuple(self.pool.dropped))

    def _discharged(self, found: Slice) -> Proved | Stuck | Induction:
        """All conditions over any number of elements; a counterexample there goes back to the candidates."""
        kept = found.clauses
        proved: dict[str, Condition] = {}
        cores: dict[str, tuple[str, ...]] = {}
        waiting = conditions(self.work.theory, kept)
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
            waiting = [each for each in conditions(self.work.theory, kept) if each.name not in proved]
        return Proved(kept, tuple(proved.values()), cores)

    def _core(self, condition: Condition, found: Slice) -> tuple[str, ...] | None:
        """Hypotheses with which the condition is valid: those that few elements needed, or all of the slice."""
        always = {each.name for each in condition.hypotheses} - {clause.name for clause in found.clauses}
        for names in (always | found.used.get(condition.name, frozenset()), None):
            answer = self.work.solver.decide(condition if names is None else condition.assuming(names))
            if isinstance(answer, Valid):
                return answer.core
        return None

    def _with_all(self, condition: Condition, kept: Sequence[Clause]) -> list[Clause] | Stuck | Induction:
        """Clauses outside of the slice that prove the condition after all, or its counterexample."""
        everything = self.pool.alive
        whole = next(each for each in conditions(self.work.theory, everything) if each.name == condition.name)
        answer = self.work.solver.decide(whole)
        if isinstance(answer, Valid):
            return [clause for clause in everything if clause.name in answer.core and clause not in kept]
        if isinstance(answer, Counterexample):
            broken = next((clause for clause in everything if clause.name == condition.about), None)
            if broken is not None:
                return answer.induction(condition, broken)
            return self._stuck(
                f"what is left does not imply {condition.about}",
                answer.induction(condition, Clause(condition.about, condition.goal)),
            )
        return self._stuck(f"{condition.name}: {answer.reason}", None)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {sort}" for sort, count in counts.items())
