"""Formulas over finite sorts, with symbols for what is not known: integers, and relations if need be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from kvproto.prove.certificates.ground import Base, collect
from kvproto.prove.logic.formula import (
    BOOL,
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
    neg,
)
from kvproto.prove.logic.theory import Transition, Update

Cell = tuple[int, ...]
Place = tuple[str, Cell]
"""A symbol by name, and elements."""

Env = Mapping[Var, int | Term]
"""Elements by number, integers by term."""


class NotExact(Exception):
    """Why there is no exact answer."""


class World:
    """A state over finite sorts: a formula for every relation of elements, a term for every integer function.

    `chosen` says the same of the relations that the current step chooses.
    """

    def __init__(self, sizes: Mapping[str, int], relations: dict[Place, Formula], integers: dict[Place, Term]) -> None:
        self.sizes = sizes
        self.relations = relations
        self.integers = integers
        self.chosen: Mapping[Place, Formula] = {}

    def after(self, action: Transition, env: Env) -> World:
        """The state after the step: all updates at once."""
        relations: dict[Place, Formula] = {}
        integers: dict[Place, Term] = {}
        for update in action.updates:
            for cell in cells(self.sizes, update.symbol.args):
                inner = {**env, **dict(zip(update.formals, cell, strict=True))}
                if update.symbol.result == BOOL:
                    relations[update.symbol.name, cell] = self.truth(_formula(update), inner)
                else:
                    integers[update.symbol.name, cell] = self.term(_term(update), inner)
        return World(self.sizes, self.relations | relations, self.integers | integers)

    def truth(self, formula: Formula, env: Env) -> Formula:
        """The formula in this state: true, false, or a formula over integers."""
        match formula:
            case Truth():
                return formula
            case Atom(symbol, args):
                return self._relation(symbol, self._cell(args, env))
            case Same(left, right):
                return Truth(env[left] == env[right])
            case Compare(op, left, right):
                return decided(Compare(op, self.term(left, env), self.term(right, env)))
            case Not(body):
                return neg(self.truth(body, env))
            case And(parts):
                return conj(self.truth(part, env) for part in parts)
            case Or(parts):
                return disj(self.truth(part, env) for part in parts)
            case ForAll(variables, body):
                return conj(self.truth(body, inner) for inner in self._choices(variables, env))
            case Exists(variables, body):
                return disj(self.truth(body, inner) for inner in self._choices(variables, env))

    def term(self, term: Term, env: Env) -> Term:
        """The integer in this state, over parameters and amounts."""
        match term:
            case Var():
                value = env[term]
                return Num(value) if isinstance(value, int) else value
            case Num():
                return term
            case Apply(symbol, args):
                return self.integers[symbol.name, self._cell(args, env)]
            case Plus(left, right):
                return Plus(self.term(left, env), self.term(right, env))
            case Times(factor, inner):
                return Times(factor, self.term(inner, env))
            case Choose(test, then, other):
                known = self.truth(test, env)
                if isinstance(known, Truth):
                    return self.term(then if known.value else other, env)
                return Choose(known, self.term(then, env), self.term(other, env))

    def _relation(self, symbol: Symbol, cell: Cell) -> Formula:
        found = self.chosen.get((symbol.name, cell), self.relations.get((symbol.name, cell)))
        if found is None:
            raise NotExact(f"nobody says what {symbol.name} is")
        return found

    def _cell(self, args: Sequence[Var], env: Env) -> Cell:
        found = []
        for arg in args:
            value = env[arg]
            assert isinstance(value, int), "arguments of symbols are elements"
            found.append(value)
        return tuple(found)

    def _choices(self, variables: Sequence[Var], env: Env) -> Iterator[dict[Var, int | Term]]:
        if any(variable.sort == INT for variable in variables):
            raise NotExact("a quantifier ranges over all integers")
        for cell in cells(self.sizes, [variable.sort for variable in variables]):
            yield {**env, **dict(zip(variables, cell, strict=True))}


def cells(sizes: Mapping[str, int], sorts: Sequence[str]) -> Iterator[Cell]:
    """All elements for arguments of these sorts."""
    return product(*(range(sizes[sort]) for sort in sorts))


def shown(name: str, cell: Cell) -> str:
    """A symbol of elements as text."""
    return f"{name}({', '.join(map(str, cell))})" if cell else name


def decided(compare: Compare) -> Formula:
    """True or false if the comparison does not depend on its unknowns."""
    if any(isinstance(node, Choose) for node in _inside(compare.left) + _inside(compare.right)):
        return compare
    total: dict[Base, int] = {}
    left = collect(compare.left, 1, total) + collect(compare.right, -1, total)
    if any(total.values()):
        return compare
    return TRUE if (left <= 0 if compare.op == "<=" else left < 0 if compare.op == "<" else left == 0) else FALSE


def _inside(term: Term) -> list[Term]:
    match term:
        case Plus(left, right):
            return [term, *_inside(left), *_inside(right)]
        case Times(_, inner):
            return [term, *_inside(inner)]
        case _:
            return [term]


def _formula(update: Update) -> Formula:
    assert not isinstance(update.value, Var | Num | Apply | Plus | Times | Choose)
    return update.value


def _term(update: Update) -> Term:
    assert isinstance(update.value, Var | Num | Apply | Plus | Times | Choose)
    return update.value
