"""Verification conditions: what has to be valid for clauses to be an inductive invariant that implies the claims.

initial     axioms and init imply the clause
step        axioms, all clauses and the guard imply what the clause says about the state after
claim       axioms and all clauses imply the claim
obligation  axioms, all clauses and the guard imply that the step does not go wrong

Parameters of a step are free variables of its conditions, the same in all hypotheses and the goal: constants.  Its
`chosen` relations are symbols like any other.  Conditions that are hypotheses word for word (a step that changes no
symbol of the clause) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kvproto.prove.logic.formula import Formula, conj, neg
from kvproto.prove.logic.substitute import before, changes
from kvproto.prove.logic.theory import Clause, Theory, Transition

Kind = Literal["initial", "step", "claim", "obligation"]

INIT, GUARD = "the start", "the guard"
"""Names of the hypotheses that are neither axioms nor clauses; no property can be called so."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The conjunction of the hypotheses implies the goal, over all structures and all values of free variables."""

    name: str
    kind: Kind
    hypotheses: tuple[Clause, ...]
    goal: Formula
    about: str
    transition: Transition | None = None

    @property
    def negation(self) -> Formula:
        """Satisfiable exactly if the condition is not valid."""
        return conj((*(hypothesis.formula for hypothesis in self.hypotheses), neg(self.goal)))

    def assuming(self, names: Iterable[str]) -> Condition:
        """The same goal from the named hypotheses only."""
        kept = frozenset(names)
        hypotheses = tuple(hypothesis for hypothesis in self.hypotheses if hypothesis.name in kept)
        return Condition(self.name, self.kind, hypotheses, self.goal, self.about, self.transition)


def conditions(theory: Theory, clauses: Sequence[Clause]) -> list[Condition]:
    """All conditions of the clauses as an invariant of the theory that implies its claims, in a fixed order."""
    _distinct(theory, clauses)
    return [
        *(initial(theory, clause) for clause in clauses),
        *(step(theory, clauses, action, clause) for action, clause in moves(theory, clauses)),
        *(claim(theory, clauses, wanted) for wanted in theory.claims),
        *obligations(theory, clauses),
    ]


def moves(theory: Theory, clauses: Iterable[Clause]) -> Iterator[tuple[Transition, Clause]]:
    """Steps and the clauses that they could break."""
    kept = tuple(clauses)
    return ((action, clause) for action in theory.transitions for clause in kept if changes(clause.formula, action))


def initial(theory: Theory, clause: Clause) -> Condition:
    """The clause holds in every initial state."""
    hypotheses = (*theory.axioms, Clause(INIT, theory.init))
    return Condition(f"initial {clause.name}", "initial", hypotheses, clause.formula, clause.name)


def step(theory: Theory, clauses: Sequence[Clause], action: Transition, clause: Clause) -> Condition:
    """The action keeps the clause."""
    hypotheses = (*theory.axioms, *clauses, Clause(GUARD, action.guard))
    goal = before(clause.formula, action)
    return Condition(f"{action.name} keeps {clause.name}", "step", hypotheses, goal, clause.name, action)


def claim(theory: Theory, clauses: Sequence[Clause], wanted: Clause) -> Condition:
    """The clauses imply the claim."""
    hypotheses = (*theory.axioms, *clauses)
    return Condition(f"claim {wanted.name}", "claim", hypotheses, wanted.formula, wanted.name)


def obligations(theory: Theory, clauses: Sequence[Clause]) -> list[Condition]:
    """No step goes wrong."""
    return [
        Condition(
            f"{action.name} respects {duty.name}",
            "obligation",
            (*theory.axioms, *clauses, Clause(GUARD, action.guard)),
            duty.formula,
            duty.name,
            action,
        )
        for action in theory.transitions
        for duty in action.obligations
    ]


def _distinct(theory: Theory, clauses: Sequence[Clause]) -> None:
    """Hypotheses are told apart by their names."""
    names = [clause.name for clause in (*theory.axioms, *clauses)]
    twice = sorted({name for name in (*names, INIT, GUARD) if (*names, INIT, GUARD).count(name) > 1})
    if twice:
        raise ValueError(f"hypotheses share a name: {', '.join(twice)}")
