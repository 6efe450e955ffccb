"""Values of expressions while a model is lowered: formulas and terms over the state before the step.

An element of a sort is known by the predicate that it satisfies, so that `owner[p]` needs no function symbol; what is
compared with it becomes an atom, and only where it is an index does a variable have to stand for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from kvproto.ir.types import Value
from kvproto.prove.logic.formula import (
    FALSE,
    TRUE,
    Choose,
    Compare,
    Formula,
    Num,
    Plus,
    Same,
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    forall,
    implies,
    neg,
)
from kvproto.prove.lowering.simplify import existing
from kvproto.prove.lowering.state import ite

Predicate = Callable[[Var], Formula]
"""Whether an element is the one meant, or is in the set."""


@dataclass(frozen=True, slots=True)
class Finite:
    """A member, a boolean or None: when it is which; the cases exclude each other."""

    cases: tuple[tuple[Value, Formula], ...]

    def when(self, value: Value) -> Formula:
        """The condition of a value."""
        return disj(test for found, test in self.cases if found == value)

    @property
    def none(self) -> Formula:
        """When it is None."""
        return disj(test for found, test in self.cases if found is None)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a sort, or None; `var` is set where it is a variable."""

    sort: str
    is_: Predicate
    none: Formula = FALSE
    var: Var | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, or None."""

    term: Term
    none: Formula = FALSE


@dataclass(frozen=True, slots=True)
class Elements:
    """A set of elements of a sort."""

    sort: str
    has: Predicate


@dataclass(frozen=True, slots=True)
class Members:
    """A set of known values: when which is in it."""

    cases: tuple[tuple[Value, Formula], ...]

    def has(self, value: Value) -> Formula:
        """When a value is in it."""
        return disj(test for found, test in self.cases if found == value)


@dataclass(frozen=True, slots=True)
class Carried:
    """A local that a loop carries from one round to the next: it has no value of its own."""

    name: str


Meaning = Formula | Finite | Element | Number | Elements | Members | Carried


def variable(var: Var) -> Element:
    """The element that a variable stands for."""

    def same(other: Var) -> Formula:
        return TRUE if other == var else Same(other, var)

    return Element(var.sort, same, FALSE, var)


def nothing(sort: str) -> Element:
    """None, where an element could stand."""
    return Element(sort, lambda _: FALSE, TRUE)


def truth_as_finite(found: Meaning) -> Finite:
    """A boolean as one of two values."""
    if isinstance(found, Finite):
        return found
    test = as_formula(found)
    return Finite(((True, test), (False, neg(test))))


def as_formula(found: Meaning) -> Formula:
    """A boolean."""
    if isinstance(found, Finite):
        return found.when(True)
    assert not isinstance(found, Element | Number | Elements | Members | Carried)
    return found


_NUMBERS = count()


def fresh_var(sort: str) -> Var:
    """A variable that occurs nowhere else: predicates build formulas around whatever variable they are given.

    `lower_simplify.tidied` gives names that do not depend on what was lowered before.
    """
    return Var(f"{sort[:1].lower()}..x{next(_NUMBERS)}", sort)


def some_element(sort: str, test: Predicate) -> Formula:
    """Whether an element of the sort satisfies the predicate."""
    var = fresh_var(sort)
    return existing((var,), test(var))


def merged(test: Formula, then: Meaning, other: Meaning) -> Meaning:
    """`then` where the test holds, else `other`."""
    if isinstance(test, Truth):
        return then if test.value else other
    match then, other:
        case Finite(), _:
            return _merged_cases(test, then, truth_as_finite(other))
        case _, Finite():
            return _merged_cases(test, truth_as_finite(then), other)
        case Element(), Element():
            if then.var is not None and then.var == other.var:
                return then
            one, two = then, other
            return Element(one.sort, lambda v: ite(test, one.is_(v), two.is_(v)), ite(test, one.none, two.none))
        case Number(), Number():
            term = then.term if then.term == other.term else Choose(test, then.term, other.term)
            return Number(term, ite(test, then.none, other.none))
        case Elements(), Elements():
            left, right = then, other
            return Elements(left.sort, lambda v: ite(test, left.has(v), right.has(v)))
        case Members(), Members():
            return Members(tuple((v, ite(test, then.has(v), other.has(v))) for v, _ in then.cases))
        case _:
            return ite(test, as_formula(then), as_formula(other))


def _merged_cases(test: Formula, then: Finite, other: Finite) -> Finite:
    values = dict.fromkeys([v for v, _ in then.cases] + [v for v, _ in other.cases])
    return Finite(tuple((v, ite(test, then.when(v), other.when(v))) for v in values))


def equal(one: Meaning, other: Meaning) -> Formula:
    """Whether two values of one type are the same."""
    match one, other:
        case Finite() | Finite(), _ if isinstance(one, Finite):
            return _same_cases(one, truth_as_finite(other))
        case _, Finite():
            return _same_cases(truth_as_finite(one), other)
        case Element(), Element():
            return _same_element(one, other)
        case Number(), Number():
            there = conj((neg(one.none), neg(other.none), _same_number(one.term, other.term)))
            return disj((conj((one.none, other.none)), there))
        case Elements(), Elements():
            return _every(one.sort, lambda v: iff(one.has(v), other.has(v)))
        case Members(), Members():
            return conj(iff(test, other.has(v)) for v, test in one.cases)
        case _:
            return iff(as_formula(one), as_formula(other))


def _same_number(one: Term, other: Term) -> Formula:
    if isinstance(one, Num) and isinstance(other, Num):
        return Truth(one.value == other.value)
    return TRUE if one == other else Compare("==", one, other)


def _same_cases(one: Finite, other: Finite) -> Formula:
    return disj(conj((test, other.when(value))) for value, test in one.cases)


def _same_element(one: Element, other: Element) -> Formula:
    neither = conj((one.none, other.none))
    if other.var is not None:
        return disj((one.is_(other.var), neither))
    if one.var is not None:
        return disj((other.is_(one.var), neither))
    return disj((some_element(one.sort, lambda v: conj((one.is_(v), other.is_(v)))), neither))


def contained(one: Meaning, other: Meaning) -> Formula:
    """Whether one set is part of another."""
    match one, other:
        case Elements(), Elements():
            return _every(one.sort, lambda v: implies(one.has(v), other.has(v)))
        case Members(), Members():
            return conj(implies(test, other.has(v)) for v, test in one.cases)
        case _:
            raise AssertionError((one, other))


def among(item: Meaning, container: Meaning) -> Formula:
    """Whether a value is in a set."""
    match item, container:
        case Element(), Elements():
            if item.var is not None:
                return container.has(item.var)
            return some_element(item.sort, lambda v: conj((item.is_(v), container.has(v))))
        case Number(), Members():
            pairs = [(Number(Num(int(v))), test) for v, test in container.cases if isinstance(v, int)]
            return disj(conj((equal(item, value), test)) for value, test in pairs)
        case _, Members():
            cases = truth_as_finite(item).cases
            return disj(conj((test, container.has(value))) for value, test in cases)
        case _:
            raise AssertionError((item, container))


def combined(op: str, one: Meaning, other: Meaning) -> Meaning:
    """Union, intersection or difference."""

    def of(left: Formula, right: Formula) -> Formula:
        return disj((left, right)) if op == "union" else conj((left, right if op == "inter" else neg(right)))

    match one, other:
        case Elements(), Elements():
            return Elements(one.sort, lambda v: of(one.has(v), other.has(v)))
        case Members(), Members():
            return Members(tuple((v, of(test, other.has(v))) for v, test in one.cases))
        case _:
            raise AssertionError((op, one, other))


def iff(one: Formula, other: Formula) -> Formula:
    """Both or neither."""
    if one == other:
        return TRUE
    if isinstance(one, Truth):
        return other if one.value else neg(other)
    if isinstance(other, Truth):
        return one if other.value else neg(one)
    return disj((conj((one, other)), conj((neg(one), neg(other)))))


def _every(sort: str, test: Predicate) -> Formula:
    var = fresh_var(sort)
    return forall((var,), test(var))


def literal(value: Value) -> Meaning:
    """A known value."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int):
        return Number(Num(value))
    return Finite(((value, TRUE),))


def none_of(found: Meaning) -> Formula:
    """When a value is None."""
    return found.none if isinstance(found, Element | Number | Finite) else FALSE


def term_of(found: Meaning) -> Term:
    """A number."""
    if isinstance(found, Number):
        return found.term
    return Choose(as_formula(found), Num(1), Num(0))


def plus(one: Term, other: Term) -> Term:
    """A sum, computed where both sides are known."""
    if isinstance(one, Num) and isinstance(other, Num):
        return Num(one.value + other.value)
    if one == Num(0):
        return other
    return one if other == Num(0) else Plus(one, other)


def times(factor: int, term: Term) -> Term:
    """A multiple."""
    if isinstance(term, Num):
        return Num(factor * term.value)
    return term if factor == 1 else Times(factor, term)
