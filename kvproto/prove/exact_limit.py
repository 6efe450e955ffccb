"""Whether the assumptions of a proof are as weak as they can be: for all parameters beyond them, a run that goes wrong.

Runs come from the bounded search, one for parameters that no run so far accounts for; each is then taken with its
integers left open.  The search ends when all parameters beyond the assumptions are accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvproto.prove.bounded import search
from kvproto.prove.exact import Boundary, assumption_text, boundary, exact
from kvproto.prove.exact_run import Schedule
from kvproto.prove.exact_world import NotExact
from kvproto.prove.formula import FALSE, INT, Apply, conj, neg, walk
from kvproto.prove.theory import Clause, Theory

STEPS = 7
"""Longest runs that are looked for."""

LARGEST = 2
"""Most elements of every sort."""

ROUNDS = 12
"""Runs that are generalised."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What becomes of a claim if one assumption of the proof does not hold, and the others do.

    `exact`: for all such parameters `boundary` has a run.  Otherwise it accounts for some of them only, or there is
    none, and `why` says what ended the search.
    """

    assumption: str
    boundary: Boundary | None
    exact: bool
    why: str = ""

    def lines(self) -> list[str]:
        """In sentences."""
        if self.boundary is None:
            return [f"assumed: {self.assumption}; whether that is needed is open: {self.why}"]
        found = [f"assumed: {self.assumption}"]
        for text, schedule in self.boundary.cases:
            steps = ", ".join(move.action for move in schedule.moves)
            when = "in any case" if text == "always" else f"if {text}"
            found.append(f"{when}, {self.boundary.claim} is broken by {steps}")
        if self.exact:
            return [*found, "no weaker assumption would do: for all other values there is such a run"]
        return [*found, f"whether a weaker assumption would do is open: {self.why}"]


def limits(theory: Theory, *, steps: int = STEPS, largest: int = LARGEST) -> list[Limit]:
    """What becomes of the claims without each of the theory's assumptions about parameters."""
    return [_limit(theory, axiom, steps, largest) for axiom in theory.axioms if is_assumption(axiom)]


def is_assumption(axiom: Clause) -> bool:
    """Whether an axiom is a `require` of the model's initial states, and not what a parameter's type says."""
    return axiom.name.startswith("assumption")


def _limit(theory: Theory, assumption: Clause, steps: int, largest: int) -> Limit:
    general = replace(theory, axioms=tuple(axiom for axiom in theory.axioms if axiom != assumption))
    text = assumption_text(theory, general)
    passed = _others(theory)
    schedules: list[Schedule] = []
    found: Boundary | None = None
    why = ""
    try:
        for size in range(1, largest + 1):
            for _ in range(ROUNDS):
                left = conj((neg(assumption.formula), neg(FALSE if found is None else found.formula)))
                claim = "" if found is None else found.claim
                sizes = dict.fromkeys(theory.sorts, size)
                answer = search(general, sizes, steps, claim=claim, parameters=left)
                if answer.run is None:
                    why = answer.unknown or f"no {'other ' if found else ''}run of at most {steps} steps goes wrong"
                    break
                schedules.append(answer.run.schedule)
                found = boundary(general, schedules, claim=answer.run.claim, beyond=passed)
                if exact(theory, general, found):
                    return Limit(text, found, True)
    except NotExact as problem:
        return Limit(text, found, False, str(problem))
    return Limit(text, found, False, why)


def _others(theory: Theory) -> tuple[str, ...]:
    """Parameters that no assumption mentions, such as a horizon: of those some value is enough."""
    formulas = [axiom.formula for axiom in theory.axioms if is_assumption(axiom)]
    mentioned = {node.symbol for formula in formulas for node in walk(formula) if isinstance(node, Apply)}
    return tuple(s.name for s in theory.rigid if s.result == INT and s not in mentioned)
