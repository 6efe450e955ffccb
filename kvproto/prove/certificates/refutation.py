"""Finding a refutation of a condition: why its hypotheses and the negation of its goal cannot be true together.

The search may use Z3 and luck; its result speaks for itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.prove.certificates.ground import Ground
from kvproto.prove.certificates.ground_steps import Element, Instance, Refutation, Step, grounded, renumbered, take
from kvproto.prove.certificates.refutation_clauses import Base, Satisfiable, Splitter
from kvproto.prove.certificates.refutation_theory import Facts
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import Var, free_variables


class NotRefuted(Exception):
    """No refutation was found, and why."""


def refute(condition: Condition) -> Refutation:
    """A refutation of the condition's hypotheses with its goal negated; raises `NotRefuted`."""
    from kvproto.prove.certificates.refutation_instances import Instances

    search = Instances(condition)
    search.run()
    uses, steps = search.needed()
    return _Told(condition, uses, _replayed(condition, uses, steps, search.ground)).refutation()


class _Told:
    """Chosen hypotheses and instances, refuted by clauses that unit propagation can follow."""

    def __init__(self, condition: Condition, uses: Sequence[str], start: tuple[Ground, list[Step]]) -> None:
        self.condition, self.uses = condition, tuple(uses)
        self.ground, self.steps = start
        self.base = Base()
        self.facts = Facts(self.ground)
        self.told: dict[int, Step] = {}
        """By place of a clause the fact about equality or integers that it is."""
        for clause in self.ground.clauses:
            self.base.add(clause)

    def refutation(self) -> Refutation:
        """Learn the empty clause, and keep what it needs."""
        splitter = Splitter(self.base, self._rule_out)
        try:
            splitter.refute()
        except Satisfiable:
            raise NotRefuted(f"{self.condition.name}: whole numbers that need more than sums") from None
        learned, used = splitter.needed()
        facts = [step for place, step in self.told.items() if place in used]
        final, steps = _replayed(self.condition, self.uses, [*self.steps, *dict.fromkeys(facts)], self.ground)
        number = _Numbers(self.ground, final)
        clauses = tuple(tuple(number(literal) for literal in self.base.clauses[place]) for place in learned)
        return Refutation(self.uses, tuple(steps), clauses)

    def _rule_out(self, literals: Sequence[int]) -> bool:
        """Tell facts that an assignment goes against; false if there are none."""
        steps = self.facts.against(literals)
        for step in steps:
            known = len(self.ground.clauses)
            take(self.ground, step)
            for clause in self.ground.clauses[known:]:
                self.told[self.base.add(clause)] = step
        return bool(steps)


class _Numbers:
    """Literals of one ground as literals of another; raises KeyError for atoms that it has not met."""

    def __init__(self, source: Ground, target: Ground) -> None:
        self.source, self.target = source, target

    def __call__(self, literal: int) -> int:
        number = self.target.numbers[self.source.atom(abs(literal))]
        return number if literal > 0 else -number


def _replayed(
    condition: Condition, uses: Sequence[str], steps: Sequence[Step], source: Ground
) -> tuple[Ground, list[Step]]:
    """The steps taken again where only these hypotheses are supposed, and under the numbers that atoms have there.

    A step waits until the atom that it is about is known.  A constant whose definition has gone is any element.
    """
    ground, taken = grounded(condition, uses), list[Step]()
    number, waiting = _Numbers(source, ground), list(steps)

    def attempt(step: Step) -> bool:
        if any(variable.name not in ground.constants for variable in _constants(step)):
            return False
        try:
            step = renumbered(step, number)
        except KeyError:
            return False
        take(ground, step)
        taken.append(step)
        return True

    while waiting:
        left = [step for step in waiting if not attempt(step)]
        if len(left) == len(waiting):
            missing = [v for step in left for v in _constants(step) if v.name not in ground.constants]
            if not missing:
                break
            left = [Element(missing[0].name, missing[0].sort), *left]
        waiting = left
    return ground, taken


def _constants(step: Step) -> list[Var]:
    if isinstance(step, Instance):
        return sorted({v for term in step.terms for v in free_variables(term)}, key=lambda v: v.name)
    return []
