"""Integer literals of a template: which imply which, for all values that the axioms allow.

Every one of them says that a difference of two terms is at most an offset, so one implies the other if they speak of
the same difference and the offsets are ordered.  Only offsets are compared, and there are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import Apply, Compare, Formula, Not, Num, Plus, Term, Times
from kvproto.prove.logic.theory import Theory
from kvproto.prove.mining.template import Template

Valid = Callable[[Condition], bool]
Sum = tuple[tuple[Term | None, int], ...]
"""A linear sum: factors of applications, and the constant under None; in order of their text."""


@dataclass(frozen=True)
class Bound:
    """`terms <= offset`, with all state terms on the left and rigid constants and numbers on the right."""

    terms: Sum
    offset: Sum


class Implied:
    """For each literal the literals that imply it, itself among them."""

    def __init__(self, theory: Theory, template: Template, valid: Valid):
        self._theory, self._valid = theory, valid
        self._rigid = {symbol for symbol in theory.rigid if not symbol.args}
        self._ordered: dict[tuple[Sum, Sum], bool] = {}
        bounds = {
            2 * number + side: self._bound(template.literal(2 * number + side))
            for number, atom in enumerate(template.atoms)
            if isinstance(atom, Compare)
            for side in (0, 1)
        }
        by_terms: dict[Sum, list[int]] = {}
        for literal, bound in bounds.items():
            by_terms.setdefault(bound.terms, []).append(literal)
        self.stronger: list[frozenset[int]] = [frozenset({n}) for n in range(2 * len(template.atoms))]
        self.weaker: list[list[int]] = [[] for _ in range(2 * len(template.atoms))]
        for alike in by_terms.values():
            for weak in alike:
                strong = (n for n in alike if self._at_most(bounds[n].offset, bounds[weak].offset))
                self.stronger[weak] |= frozenset(strong)
        for weak, implying in enumerate(self.stronger):
            for literal in sorted(implying - {weak}):
                self.weaker[literal].append(weak)

    @property
    def trivial(self) -> bool:
        """Whether no literal implies another one."""
        return all(len(each) == 1 for each in self.stronger)

    def closure(self, clause: Iterable[int]) -> frozenset[int]:
        """All literals that imply one of the clause's: a clause made of those says more."""
        return frozenset().union(*(self.stronger[literal] for literal in clause))

    def tautology(self, clause: Sequence[int]) -> bool:
        """Whether two literals leave no other possibility."""
        closed = self.closure(clause)
        return any(literal ^ 1 in closed for literal in clause)

    def _at_most(self, left: Sum, right: Sum) -> bool:
        key = (left, right)
        if key not in self._ordered:
            goal = Compare("<=", _term(left), _term(right))
            axioms = self._theory.axioms
            self._ordered[key] = left == right or self._valid(Condition("order", "initial", axioms, goal, "order"))
        return self._ordered[key]

    def _bound(self, literal: Formula) -> Bound:
        if isinstance(literal, Not):
            inner = literal.body
            assert isinstance(inner, Compare)
            return self._at_most_form(inner.right, inner.left, -1)
        assert isinstance(literal, Compare)
        return self._at_most_form(literal.left, literal.right, 0)

    def _at_most_form(self, left: Term, right: Term, slack: int) -> Bound:
        """left <= right + slack."""
        total: Counter[Term | None] = Counter()
        for side, sign in ((left, 1), (right, -1)):
            for part, factor in _linear(side):
                total[part] += sign * factor
        terms: dict[Term | None, int] = {}
        offset: dict[Term | None, int] = {None: slack - total.pop(None, 0)}
        for part, factor in total.items():
            if factor and isinstance(part, Apply) and part.symbol in self._rigid:
                offset[part] = -factor
            elif factor:
                terms[part] = factor
        return Bound(_sorted(terms), _sorted(offset))


def _linear(term: Term) -> Iterable[tuple[Term | None, int]]:
    match term:
        case Num():
            return [(None, term.value)]
        case Plus():
            return [*_linear(term.left), *_linear(term.right)]
        case Times():
            return [(part, factor * term.factor) for part, factor in _linear(term.term)]
        case _:
            return [(term, 1)]


def _sorted(total: dict[Term | None, int]) -> Sum:
    return tuple(sorted(((part, factor) for part, factor in total.items() if factor), key=lambda item: repr(item[0])))


def _term(total: Sum) -> Term:
    """The sum as a term."""
    found: Term = Num(0)
    for part, factor in total:
        one: Term = Num(factor) if part is None else Times(factor, part)
        found = Plus(found, one)
    return found


def strongest(
    implied: Implied, instances: Callable[[Sequence[int]], set[frozenset[int]]], clauses: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Clauses without tautologies, and without those that an instance of another one implies literal by literal."""
    meaningful = [clause for clause in clauses if not implied.tautology(clause)]
    if implied.trivial:
        return meaningful
    closed = _matrix([implied.closure(clause) for clause in meaningful], len(implied.stronger))
    owners, rows = [], []
    for number, clause in enumerate(meaningful):
        found = sorted(map(sorted, instances(clause)))
        owners += [number] * len(found)
        rows += found
    missing = _matrix(rows, len(implied.stronger)) @ (1 - closed).T
    implies: list[set[int]] = [set() for _ in meaningful]
    for instance, weak in zip(*(missing == 0).nonzero(), strict=True):
        implies[owners[instance]].add(int(weak))
    weaker: set[int] = set()
    for strong, others in enumerate(implies):
        if strong not in weaker:
            weaker |= others - {strong}
    return [clause for number, clause in enumerate(meaningful) if number not in weaker]


def _matrix(sets: Sequence[Iterable[int]], width: int) -> npt.NDArray[np.float32]:
    """One row a set of literals."""
    found = np.zeros((len(sets), width), dtype=np.float32)
    for row, literals in enumerate(sets):
        found[row, list(literals)] = 1
    return found
