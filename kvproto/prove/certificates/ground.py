"""Closed formulas as clauses over numbered atoms, by fixed rules: what a refutation and its checker have in common.

Elements of sorts are named constants.  A quantified formula is an atom of its own: opening an `exists` names its
witnesses, instantiating a `forall` says what it means for given elements, and nothing else is known of either.  So
whatever follows from the clauses follows from the formulas, for any number of elements.  Numbers are given out in
the order in which atoms are met, and everybody who takes the same steps gets the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from kvproto.prove.logic.formula import (
    FALSE,
    INT,
    TRUE,
    And,
    Apply,
    Atom,
    Choose,
    Compare,
    Exists,
    ForAll,
    Formula,
    Not,
    Num,
    Or,
    Plus,
    Same,
    Symbol,
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    free_variables,
    neg,
)
from kvproto.prove.logic.substitute import substitute

Base = Apply | Var
"""What a linear term is a sum of."""


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `factor * base` is at most `bound`; factors have no common divisor and the first is positive."""

    parts: tuple[tuple[Base, int], ...]
    bound: int


Known = Truth | Atom | Same | Linear | And | Or | ForAll | Exists
"""What has a number."""

Clause = tuple[int, ...]
"""Literals, one of which is true: numbers of atoms, negative where the atom is false."""


class Refused(Exception):
    """A step that the rules do not allow."""


class Ground:
    """Clauses that follow from the formulas that were supposed, and the numbers of their atoms."""

    def __init__(self, elements: Iterable[Var] = ()) -> None:
        self.atoms: list[Known] = [TRUE]
        self.numbers: dict[Known, int] = {TRUE: 1}
        self.clauses: list[Clause] = []
        self.constants: dict[str, Var] = {}
        for element in elements:
            self.constants[element.name] = element

    def atom(self, number: int) -> Known:
        """The atom that has a number."""
        if not 0 < number <= len(self.atoms):
            raise Refused(f"there is no atom {number}")
        return self.atoms[number - 1]

    def suppose(self, formula: Formula) -> None:
        """Take a formula as true; its free variables are constants."""
        for variable in sorted(free_variables(formula), key=lambda v: v.name):
            if self.constants.setdefault(variable.name, variable) != variable:
                raise Refused(f"{variable.name} has two sorts")
        self._implied((), formula)

    def element(self, name: str, sort: str) -> None:
        """Name an element: every sort has one, and there are integers."""
        self._fresh(name, sort)

    def open(self, number: int, names: Sequence[str]) -> None:
        """Name the witnesses of an `exists`."""
        found = self.atom(number)
        if not isinstance(found, Exists) or len(names) != len(found.vars):
            raise Refused(f"atom {number} has no {len(names)} witnesses")
        witnesses = [self._fresh(name, v.sort) for name, v in zip(names, found.vars, strict=True)]
        body = substitute(found.body, dict(zip(found.vars, witnesses, strict=True)))
        self._implied((-number,), body)

    def instantiate(self, number: int, terms: Sequence[Term]) -> None:
        """What a `forall` says about given elements and integers."""
        found = self.atom(number)
        if not isinstance(found, ForAll) or len(terms) != len(found.vars):
            raise Refused(f"atom {number} has no instance for {len(terms)} terms")
        for variable, term in zip(found.vars, terms, strict=True):
            if not self._fits(term, variable.sort):
                raise Refused(f"an instance of atom {number} is not of sort {variable.sort}")
        body = substitute(found.body, dict(zip(found.vars, terms, strict=True)))
        self._implied((-number,), body)

    def transitive(self, first: Var, second: Var, third: Var) -> None:
        """Equality of elements is transitive."""
        self._named((first, second, third))
        self._add((-self._same(first, second), -self._same(second, third), self._same(first, third)))

    def congruent(self, one: int, other: int) -> None:
        """A relation that holds for some elements holds for equal ones."""
        left, right = self.atom(one), self.atom(other)
        if not isinstance(left, Atom) or not isinstance(right, Atom) or left.symbol != right.symbol:
            raise Refused(f"atoms {one} and {other} are not of one relation")
        self._add((-one, other, *self._unequal(left.args, right.args)))

    def equal(self, symbol: Symbol, left: Sequence[Var], right: Sequence[Var]) -> None:
        """An integer function has the same value for equal elements."""
        self._named((*left, *right))
        if symbol.result != INT or any([v.sort for v in side] != list(symbol.args) for side in (left, right)):
            raise Refused(f"{symbol.name} is no integer function of these elements")
        apart = self._unequal(left, right)
        one, other = Apply(symbol, tuple(left)), Apply(symbol, tuple(right))
        self._add((*apart, self.literal(Compare("<=", one, other))))
        self._add((*apart, self.literal(Compare("<=", other, one))))

    def contradict(self, weighted: Sequence[tuple[int, int]]) -> None:
        """Inequalities of which the weighted sum is false are not all true: literals, each with its weight."""
        total: dict[Base, int] = {}
        bound = 0
        for literal, weight in weighted:
            parts, limit = self.inequality(literal)
            if weight <= 0:
                raise Refused("a weight is not positive")
            for base, factor in parts:
                total[base] = total.get(base, 0) + weight * factor
            bound += weight * limit
        if any(total.values()) or bound >= 0:
            raise Refused("the weighted sum of the inequalities is not false")
        self._add(tuple(-literal for literal, _ in weighted))

    def literal(self, formula: Formula) -> int:
        """The number of a closed formula, clauses about its parts included; negative for the negation of an atom."""
        formula = outward(formula)
        match formula:
            case Truth():
                return 1 if formula.value else -1
            case Atom():
                return self._number(formula)
            case Same():
                return self._same(formula.left, formula.right)
            case Not():
                return -self.literal(formula.body)
            case Compare():
                return self._compare(formula)
            case And() | Or():
                known = formula in self.numbers
                number = self._number(formula)
                if not known:
                    self._implied((-number,), formula)
                return number
            case ForAll() | Exists():
                return self._number(formula)

    def _implied(self, premise: Clause, formula: Formula) -> None:
        """Clauses that say that the formula holds unless one of the literals does."""
        formula = outward(formula)
        if isinstance(formula, And):
            for part in formula.parts:
                self._implied(premise, part)
        elif isinstance(formula, Or):
            self._add((*premise, *(self.literal(part) for part in alternatives(formula))))
        else:
            self._add((*premise, self.literal(formula)))

    def _add(self, literals: Clause) -> None:
        kept = tuple(dict.fromkeys(literal for literal in literals if literal != -1))
        if 1 not in kept and not any(-literal in kept for literal in kept):
            self.clauses.append(kept)

    def _number(self, atom: Known) -> int:
        number = self.numbers.get(atom)
        if number is None:
            self.atoms.append(atom)
            number = self.numbers[atom] = len(self.atoms)
        return number

    def _same(self, left: Var, right: Var) -> int:
        if left == right:
            return 1
        return self._number(Same(*sorted((left, right), key=lambda v: v.name)))

    def _unequal(self, left: Sequence[Var], right: Sequence[Var]) -> Clause:
        return tuple(-self._same(a, b) for a, b in zip(left, right, strict=True))

    def _compare(self, compare: Compare) -> int:
        """Number of an inequality, turned around if that makes its first factor positive."""
        assert compare.op == "<="
        total: dict[Base, int] = {}
        bound = -collect(compare.left, 1, total) - collect(compare.right, -1, total)
        parts = sorted(((base, factor) for base, factor in total.items() if factor), key=lambda part: spell(part[0]))
        if not parts:
            return 1 if bound >= 0 else -1
        divisor = gcd(*(factor for _, factor in parts))
        if parts[0][1] > 0:
            return self._number(Linear(tuple((base, factor // divisor) for base, factor in parts), bound // divisor))
        turned = tuple((base, -factor // divisor) for base, factor in parts)
        return -self._number(Linear(turned, -(bound // divisor) - 1))

    def inequality(self, literal: int) -> tuple[tuple[tuple[Base, int], ...], int]:
        """Parts and bound of a literal that is an inequality."""
        found = self.atom(abs(literal))
        if not isinstance(found, Linear):
            raise Refused(f"atom {abs(literal)} is no inequality")
        if literal > 0:
            return found.parts, found.bound
        return tuple((base, -factor) for base, factor in found.parts), -found.bound - 1

    def _fresh(self, name: str, sort: str) -> Var:
        if "#" not in name or name in self.constants:
            raise Refused(f"{name} is no new name")
        self.constants[name] = Var(name, sort)
        return self.constants[name]

    def _fits(self, term: Term, sort: str) -> bool:
        self._named(free_variables(term))
        return term.sort == sort if isinstance(term, Var) else sort == INT

    def _named(self, variables: Iterable[Var]) -> None:
        for variable in variables:
            if self.constants.get(variable.name) != variable:
                raise Refused(f"{variable.name} has not been named")


def outward(formula: Formula) -> Formula:
    """The formula with its outermost connective in sight: a negation moved inward, a case of integers told apart."""
    match formula:
        case Compare() if (choose := _choice(formula)) is not None:
            cases = (
                conj((choose.test, _decided(formula, choose, choose.then))),
                conj((neg(choose.test), _decided(formula, choose, choose.other))),
            )
            return outward(disj(cases))
        case Compare("<", left, right):
            return Compare("<=", Plus(left, Num(1)), right)
        case Compare("==", left, right):
            return conj((Compare("<=", left, right), Compare("<=", right, left)))
        case Not():
            return _negated(formula)
        case _:
            return formula


def _negated(formula: Not) -> Formula:
    match formula.body:
        case Truth(value):
            return FALSE if value else TRUE
        case Not(body):
            return outward(body)
        case And(parts):
            return Or(tuple(neg(part) for part in parts))
        case Or(parts):
            return And(tuple(neg(part) for part in parts))
        case ForAll(variables, body):
            return Exists(variables, neg(body))
        case Exists(variables, body):
            return ForAll(variables, neg(body))
        case Compare() as compare if _choice(compare) is not None:
            return outward(neg(outward(compare)))
        case Compare("<=", left, right):
            return outward(Compare("<", right, left))
        case Compare("<", left, right):
            return outward(Compare("<=", right, left))
        case Compare(_, left, right):
            return Or((Compare("<", left, right), Compare("<", right, left)))
        case _:
            return formula


def alternatives(formula: Or) -> Iterable[Formula]:
    """Parts of a disjunction, those of disjunctions inside among them."""
    for part in formula.parts:
        shown = outward(part)
        if isinstance(shown, Or):
            yield from alternatives(shown)
        else:
            yield shown


def spell(term: Base) -> str:
    """A base of linear terms as text, by which they are put in order."""
    return term.name if isinstance(term, Var) else f"{term.symbol.name}({', '.join(v.name for v in term.args)})"


def collect(term: Term, factor: int, total: dict[Base, int]) -> int:
    """Add a multiple of a term without cases to a sum; what is constant in it is returned."""
    match term:
        case Num(value):
            return factor * value
        case Plus(left, right):
            return collect(left, factor, total) + collect(right, factor, total)
        case Times(times, inner):
            return collect(inner, factor * times, total)
        case Var() | Apply():
            total[term] = total.get(term, 0) + factor
            return 0
        case Choose():
            raise AssertionError("cases are told apart before terms are added")


def _choice(node: Compare | Term) -> Choose | None:
    """The first case inside a comparison or a term."""
    match node:
        case Choose():
            return node
        case Compare(_, left, right) | Plus(left, right):
            return _choice(left) or _choice(right)
        case Times(_, term):
            return _choice(term)
        case _:
            return None


def _decided(node: Compare, choose: Choose, value: Term) -> Compare:
    """The comparison with a case decided everywhere in it."""
    return Compare(node.op, _replaced(node.left, choose, value), _replaced(node.right, choose, value))


def _replaced(term: Term, choose: Choose, value: Term) -> Term:
    match term:
        case Choose() if term == choose:
            return value
        case Plus(left, right):
            return Plus(_replaced(left, choose, value), _replaced(right, choose, value))
        case Times(factor, inner):
            return Times(factor, _replaced(inner, choose, value))
        case _:
            return term
