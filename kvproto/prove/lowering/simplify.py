"""Formulas made smaller without changing what they mean: what is known is used, what is determined is put in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvproto.prove.logic.formula import (
    TRUE,
    And,
    Apply,
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
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    exists,
    forall,
    free_variables,
    neg,
)
from kvproto.prove.logic.substitute import rebuilt, rebuilt_term, substitute

Known = Mapping[Formula, bool]
"""Formulas whose truth is settled by what stands beside them."""


def existing(variables: tuple[Var, ...], body: Formula) -> Formula:
    """Some choice of the variables; those that an equation determines are put in place, unused ones are left out.

    >>> from kvproto.prove.logic.formula import Atom, Symbol
    >>> x, y = Var("x", "Req"), Var("y", "Req")
    >>> existing((x,), And((Same(x, y), Atom(Symbol("p", ("Req",)), (x,))))).args
    (Var(name='y', sort='Req'),)
    """
    if isinstance(body, Or):
        return disj(existing(variables, part) for part in body.parts)
    parts = body.parts if isinstance(body, And) else (body,)
    for part in parts:
        if isinstance(part, Same) and part.left != part.right:
            for var, value in ((part.left, part.right), (part.right, part.left)):
                if var in variables:
                    rest = tuple(v for v in variables if v != var)
                    others = conj(substitute(p, {var: value}) for p in parts if p is not part)
                    return existing(rest, others)
    outside, inside = list[Formula](), list[Formula]()
    for part in parts:
        (inside if free_variables(part) & set(variables) else outside).append(part)
    kept = tuple(v for v in variables if any(v in free_variables(part) for part in inside))
    return conj((*outside, exists(kept, conj(inside))))


def _used(variables: tuple[Var, ...], body: Formula) -> tuple[Var, ...]:
    free = free_variables(body)
    return tuple(var for var in variables if var in free)


def pushed(formula: Formula) -> Formula:
    """The same formula; negations of conjunctions and disjunctions are pushed inside of them."""
    match formula:
        case Not(body=And() as inner):
            return disj(pushed(neg(part)) for part in inner.parts)
        case Not(body=Or() as inner):
            return conj(pushed(neg(part)) for part in inner.parts)
        case Not(body=ForAll() as inner):
            return Exists(inner.vars, pushed(neg(inner.body)))
        case Not(body=Exists() as inner):
            return ForAll(inner.vars, pushed(neg(inner.body)))
        case And():
            return conj(pushed(part) for part in formula.parts)
        case Or():
            return disj(pushed(part) for part in formula.parts)
        case ForAll():
            return forall(formula.vars, pushed(formula.body))
        case Exists():
            return exists(formula.vars, pushed(formula.body))
        case _:
            return formula


def simplified(formula: Formula, known: Known | None = None) -> Formula:
    """The formula without what follows from its surroundings; negations stand in front of atoms only."""
    return _simple(pushed(formula), dict(known or {}))


def _simple(formula: Formula, known: dict[Formula, bool]) -> Formula:
    if formula in known:
        return Truth(known[formula])
    match formula:
        case Not():
            return Truth(not known[formula.body]) if formula.body in known else formula
        case And():
            return _junction(formula.parts, known, conjunction=True)
        case Or():
            return _junction(formula.parts, known, conjunction=False)
        case ForAll():
            body = _simple(formula.body, _outside(known, formula.vars))
            return forall(_used(formula.vars, body), body)
        case Exists():
            return existing(formula.vars, _simple(formula.body, _outside(known, formula.vars)))
        case Compare():
            return _comparison(formula)
        case Same():
            return TRUE if formula.left == formula.right else formula
        case _:
            return formula


def _outside(known: Mapping[Formula, bool], bound: Iterable[Var]) -> dict[Formula, bool]:
    """What is known of other variables than those that are bound here."""
    names = set(bound)
    return {formula: value for formula, value in known.items() if not free_variables(formula) & names}


def _comparison(formula: Compare) -> Formula:
    left, right = formula.left, formula.right
    if isinstance(left, Num) and isinstance(right, Num):
        one, other = left.value, right.value
        return Truth(one < other if formula.op == "<" else one <= other if formula.op == "<=" else one == other)
    if left == right:
        return Truth(formula.op != "<")
    return Compare(formula.op, simple_term(left, {}), simple_term(right, {}))


def _junction(parts: Iterable[Formula], known: dict[Formula, bool], *, conjunction: bool) -> Formula:
    """Literals first: beside them everything else may take them for granted."""
    here, literals, rest = dict(known), list[Formula](), list[Formula]()
    for part in parts:
        (literals if not isinstance(part, And | Or | ForAll | Exists) else rest).append(part)
    kept: list[Formula] = []
    for literal in literals:
        found = _simple(literal, here)
        kept.append(found)
        positive = not isinstance(found, Not)
        atom = found.body if isinstance(found, Not) else found
        if not isinstance(atom, Truth):
            here[atom] = positive == conjunction
    kept += [_simple(part, here) for part in rest]
    quantified = {part for part in kept if isinstance(part, ForAll | Exists)}
    if any(pushed(neg(part)) in quantified for part in quantified):
        return Truth(not conjunction)  # one of them is the opposite of another
    return conj(kept) if conjunction else disj(kept)


def simple_term(term: Term, known: Known) -> Term:
    """The same for an integer."""
    match term:
        case Var() | Num():
            return term
        case Choose():
            test = simplified(term.test, known)
            if isinstance(test, Truth):
                return simple_term(term.then if test.value else term.other, known)
            then = simple_term(term.then, {**known, test: True})
            other = simple_term(term.other, {**known, test: False})
            return then if then == other else Choose(test, then, other)
        case Plus():
            return Plus(simple_term(term.left, known), simple_term(term.right, known))
        case Times():
            return Times(term.factor, simple_term(term.term, known))
        case Apply():
            return term


def tidied(formula: Formula, taken: Iterable[str] = ()) -> Formula:
    """The formula with short names for its bound variables, none of them free or bound around it."""
    scope = {*taken, *(var.name for var in free_variables(formula))}
    match formula:
        case ForAll() | Exists():
            renaming: dict[Var, Term] = {}
            bound = []
            for var in formula.vars:
                new = _short(var, scope)
                scope.add(new.name)
                bound.append(new)
                renaming[var] = new
            body = tidied(substitute(formula.body, renaming), scope)
            if isinstance(body, ForAll | Exists) and type(body) is type(formula):
                return type(formula)((*bound, *body.vars), body.body)
            return type(formula)(tuple(bound), body)
        case And() | Or() | Not() | Compare():
            return rebuilt(formula, lambda part: tidied(part, scope), lambda term: tidied_term(term, scope))
        case _:
            return formula


def tidied_term(term: Term, taken: Iterable[str] = ()) -> Term:
    """The same for an integer."""
    scope = set(taken)
    match term:
        case Var() | Num() | Apply():
            return term
        case _:
            return rebuilt_term(term, lambda part: tidied(part, scope), lambda inner: tidied_term(inner, scope))


def _short(var: Var, scope: set[str]) -> Var:
    letter, number = var.sort[:1].lower(), 2
    name = letter
    while name in scope:
        name, number = f"{letter}{number}", number + 1
    return Var(name, var.sort)
