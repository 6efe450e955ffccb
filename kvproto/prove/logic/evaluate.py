"""Truth of a formula in a finite structure, by the definition: the oracle for everything that is faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from kvproto.prove.logic.formula import (
    BOOL,
    INT,
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
    Term,
    Times,
    Truth,
    Var,
)
from kvproto.prove.logic.theory import Structure, Transition

Choice = Mapping[Var, int]
"""Values of free variables: elements of their sort, or integers."""


def holds(formula: Formula, structure: Structure, choice: Choice | None = None) -> bool:
    """Whether the formula is true in the structure; quantified integers cannot be tried out and are refused."""
    env = choice or {}
    match formula:
        case Truth():
            return formula.value
        case Atom():
            return tuple(env[var] for var in formula.args) in structure.relations[formula.symbol.name]
        case Same():
            return env[formula.left] == env[formula.right]
        case Compare():
            return _compare(formula.op, value(formula.left, structure, env), value(formula.right, structure, env))
        case Not():
            return not holds(formula.body, structure, env)
        case And():
            return all(holds(part, structure, env) for part in formula.parts)
        case Or():
            return any(holds(part, structure, env) for part in formula.parts)
        case ForAll():
            return all(holds(formula.body, structure, inner) for inner in choices(formula.vars, structure, env))
        case Exists():
            return any(holds(formula.body, structure, inner) for inner in choices(formula.vars, structure, env))


def value(term: Term, structure: Structure, choice: Choice | None = None) -> int:
    """The integer that a term denotes in the structure."""
    env = choice or {}
    match term:
        case Var():
            return env[term]
        case Num():
            return term.value
        case Apply():
            return structure.integers[term.symbol.name][tuple(env[var] for var in term.args)]
        case Plus():
            return value(term.left, structure, env) + value(term.right, structure, env)
        case Times():
            return term.factor * value(term.term, structure, env)
        case Choose():
            return value(term.then if holds(term.test, structure, env) else term.other, structure, env)


def choices(variables: tuple[Var, ...], structure: Structure, choice: Choice | None = None) -> Iterator[dict[Var, int]]:
    """All values of the variables, on top of `choice`."""
    for var in variables:
        if var.sort == INT:
            raise ValueError(f"{var.name} ranges over all integers")
    for values in product(*(range(structure.sizes[var.sort]) for var in variables)):
        yield {**(choice or {}), **dict(zip(variables, values, strict=True))}


def after(structure: Structure, action: Transition, choice: Choice) -> Structure:
    """The structure after the step; its chosen relations have to be among the relations of `structure`."""
    relations, integers = dict(structure.relations), dict(structure.integers)
    for update in action.updates:
        cells = list(choices(update.formals, structure, choice))
        keys = [tuple(env[var] for var in update.formals) for env in cells]
        if update.symbol.result == BOOL:
            relations[update.symbol.name] = frozenset(
                key for key, env in zip(keys, cells, strict=True) if holds(_formula(update.value), structure, env)
            )
        else:
            integers[update.symbol.name] = {
                key: value(_term(update.value), structure, env) for key, env in zip(keys, cells, strict=True)
            }
    return replace(structure, relations=relations, integers=integers)


def _compare(op: str, left: int, right: int) -> bool:
    return left <= right if op == "<=" else left < right if op == "<" else left == right


def _formula(found: Formula | Term) -> Formula:
    if isinstance(found, Var | Num | Apply | Plus | Times | Choose):
        raise TypeError("a relation is updated by an integer")
    return found


def _term(found: Formula | Term) -> Term:
    if not isinstance(found, Var | Num | Apply | Plus | Times | Choose):
        raise TypeError("an integer is updated by a truth value")
    return found
