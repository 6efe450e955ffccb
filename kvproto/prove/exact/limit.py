"""Whether the assumptions of a proof are as weak as they can be: for all parameters beyond them, a run that goes wrong.

Runs come from the bounded search, one for parameters that no run so far accounts for; each is then taken with its
integers left open.  The search ends when all parameters beyond the assumptions are accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvproto.prove.exact.boundary import Boundary, assumption_text, boundary, covers
from kvproto.prove.exact.bounded import search
from kvproto.prove.exact.run import Schedule
from kvproto.prove.exact.world import NotExact
from kvproto.prove.logic.formula import FALSE, INT, TRUE, Apply, Formula, conj, neg, walk
from kvproto.prove.logic.theory import Clause, Theory

STEPS = 7
"""Longest runs that are looked for."""

LARGEST = 2
"""Most elements of every sort."""

ROUNDS = 12
"""Runs that are generalised."""


@dataclass(frozen=True, slots=True)
class Limit:
    """For which parameters a claim is broken, beyond an assumption of its proof or (`assumption` is empty) at all.

    `exact`: `boundary` has a run for all of them.  Otherwise it accounts for some of them only, or there is none, and
    `why` says what ended the search.
    """

    assumption: str
    boundary: Boundary | None
    exact: bool
    why: str = ""

    def lines(self) -> list[str]:
        """In sentences."""
        found = [f"assumed: {self.assumption}"] if self.assumption else []
        if self.boundary is None:
            return [f"assumed: {self.assumption}; whether that is needed is open: {self.why}"] if found else []
        for text, schedule in self.boundary.cases:
            steps = ", ".join(move.action for move in schedule.moves)
            when = "in any case" if text == "always" else f"if {text}"
            found.append(f"{when}, {self.boundary.claim} is broken by {steps}")
        if not self.assumption:
            return [*found, "no values of the numbers would do" if self.exact else f"for other values {self.why}"]
        if self.exact:
            return [*found, "no weaker assumption would do: for all other values there is such a run"]
        return [*found, f"whether a weaker assumption would do is open: {self.why}"]


def limits(theory: Theory, *, steps: int = STEPS, largest: int = LARGEST) -> list[Limit]:
    """What becomes of the claims without each of the theory's assumptions about parameters."""
    found = []
    for assumption in theory.axioms:
        if is_assumption(assumption):
            general = replace(theory, axioms=tuple(axiom for axiom in theory.axioms if axiom != assumption))
            search_for = _Question(general, neg(assumption.formula), _others(theory), steps, largest)
            found.append(search_for.answer(assumption_text(theory, general)))
    return found


def broken(theory: Theory, claim: str, *, steps: int = STEPS, largest: int = LARGEST) -> Limit:
    """For which parameters a claim that does not hold is broken, whatever the theory assumes of them."""
    general = replace(theory, axioms=tuple(axiom for axiom in theory.axioms if not is_assumption(axiom)))
    return _Question(general, TRUE, _horizons(theory), steps, largest).answer("", claim)


def is_assumption(axiom: Clause) -> bool:
    """Whether an axiom is a `require` of the model's initial states, and not what a parameter's type says."""
    return axiom.name.startswith("assumption")


@dataclass(frozen=True, slots=True)
class _Question:
    """Whether there are runs of the theory for all parameters of a region, those passed over aside."""

    theory: Theory
    region: Formula
    passed: tuple[str, ...]
    steps: int
    largest: int

    def answer(self, assumption: str, claim: str = "") -> Limit:
        """Runs for ever more of the region, until there are no more or nothing of it is left."""
        schedules: list[Schedule] = []
        found: Boundary | None = None
        why = ""
        try:
            for size in range(1, self.largest + 1):
                for _ in range(ROUNDS):
                    left = conj((self.region, neg(FALSE if found is None else found.formula)))
                    sizes = dict.fromkeys(self.theory.sorts, size)
                    answer = search(self.theory, sizes, self.steps, claim=claim, parameters=left)
                    if answer.run is None:
                        other = "other " if assumption and found else ""
                        why = answer.unknown or f"no {other}run of at most {self.steps} steps goes wrong"
                        break
                    claim = answer.run.claim
                    schedules.append(answer.run.schedule)
                    found = boundary(self.theory, schedules, claim=claim, beyond=self.passed)
                    if covers(self.theory, self.region, found):
                        return Limit(assumption, found, True)
        except NotExact as problem:
            return Limit(assumption, found, False, str(problem))
        return Limit(assumption, found, False, why)


def _others(theory: Theory) -> tuple[str, ...]:
    """Parameters that no assumption mentions, such as a horizon: of those some value is enough."""
    formulas = [axiom.formula for axiom in theory.axioms if is_assumption(axiom)]
    mentioned = {node.symbol for formula in formulas for node in walk(formula) if isinstance(node, Apply)}
    return tuple(s.name for s in theory.rigid if s.result == INT and s not in mentioned)


def _horizons(theory: Theory) -> tuple[str, ...]:
    """Parameters that bound the waiting and nothing else: guards of steps that choose amounts alone mention them."""
    waiting = [step for step in theory.transitions if step.params and all(p.sort == INT for p in step.params)]
    others = [step for step in theory.transitions if step not in waiting]
    values = [update.value for step in theory.transitions for update in step.updates]
    duties = [duty.formula for step in theory.transitions for duty in step.obligations]
    formulas = [*(step.guard for step in others), *values, *duties, *(claim.formula for claim in theory.claims)]
    mentioned = {node.symbol for formula in formulas for node in walk(formula) if isinstance(node, Apply)}
    return tuple(s.name for s in theory.rigid if s.result == INT and s not in mentioned)
