"""Formulas in the words of the model: a clause reads as an implication whose consequence stands last."""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.prove.logic.formula import (
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
)
from kvproto.prove.logic.theory import Clause


def render(clause: Clause) -> str:
    """The clause as its author wrote it, or as its formula reads; free variables are for all."""
    return clause.text or reading(clause.formula)


def reading(formula: Formula) -> str:
    """A closed formula; outermost universal variables are not mentioned, as in `infl(r, p) -> own(r, p)`."""
    body = formula.body if isinstance(formula, ForAll) else formula
    if isinstance(body, Or) and all(not isinstance(part, ForAll | Exists) for part in body.parts):
        return _implication(body)
    return _text(body)


def _implication(clause: Or) -> str:
    """Negated literals are the premise, the others the consequence."""
    premise = [part.body for part in clause.parts if isinstance(part, Not)]
    consequence = [part for part in clause.parts if not isinstance(part, Not)]
    if not consequence:
        *others, last = premise
        return f"{_joined(others, ' and ')} -> {_text(Not(last), inner=True)}" if others else _text(Not(last))
    if not premise:
        return _joined(consequence, " or ")
    return f"{_joined(premise, ' and ')} -> {_joined(consequence, ' or ')}"


def _text(formula: Formula, *, inner: bool = False) -> str:
    """`inner` asks for parentheses where the formula would not hold together."""
    match formula:
        case Truth():
            return "true" if formula.value else "false"
        case Atom():
            return spelled(formula.symbol, formula.args)
        case Same():
            return f"{formula.left.name} == {formula.right.name}"
        case Compare():
            return f"{term_text(formula.left)} {formula.op} {term_text(formula.right)}"
        case Not(body=Same() as same):
            return f"{same.left.name} != {same.right.name}"
        case Not(body=Compare(op="<=" | "<" as op) as order):
            return f"{term_text(order.right)} {'<' if op == '<=' else '<='} {term_text(order.left)}"
        case Not():
            inside = _text(formula.body, inner=True)
            plain = isinstance(formula.body, Atom) and inside.count(" == ") == 1 and " and " not in inside
            return inside.replace(" == ", " != ") if plain else f"not {inside}"
        case And(parts=()):
            return "true"
        case Or(parts=()):
            return "false"
        case And():
            return _wrapped(_joined(formula.parts, " and "), inner)
        case Or():
            has_premise = any(isinstance(part, Not) for part in formula.parts)
            return _wrapped(_implication(formula) if has_premise else _joined(formula.parts, " or "), inner)
        case ForAll() | Exists():
            word = "all" if isinstance(formula, ForAll) else "some"
            return _wrapped(f"{word} {', '.join(var.name for var in formula.vars)}: {_text(formula.body)}", inner)


def term_text(term: Term) -> str:
    """An integer as the model writes it."""
    match term:
        case Var():
            return term.name
        case Num():
            return str(term.value)
        case Apply():
            return spelled(term.symbol, term.args)
        case Plus():
            return f"{term_text(term.left)} + {term_text(term.right)}"
        case Times():
            inner = term_text(term.term)
            return f"{term.factor} * ({inner})" if isinstance(term.term, Plus) else f"{term.factor} * {inner}"
        case Choose():
            return f"({term_text(term.then)} if {_text(term.test)} else {term_text(term.other)})"


def spelled(symbol: Symbol, args: tuple[Var, ...]) -> str:
    """An application in the model's own words."""
    names = [var.name for var in args]
    if symbol.spelled:
        return symbol.spelled.format(*names)
    return f"{symbol.name}({', '.join(names)})" if names else symbol.name


def _joined(parts: Sequence[Formula], word: str) -> str:
    return word.join(_text(part, inner=len(parts) > 1) for part in parts)


def _wrapped(text: str, inner: bool) -> str:
    return f"({text})" if inner else text
