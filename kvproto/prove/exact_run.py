"""One schedule with integers left open: what has to be true of them for every step to happen and the claim to break.

Elements are numbers, relations have truth values, and only integers are symbols: parameters, the amounts that steps
choose, and what initial states leave open.  Truth values may depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from kvproto.prove.formula import (
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
from kvproto.prove.ground import Base, collect
from kvproto.prove.theory import Theory, Transition, Update

Cell = tuple[int, ...]
Env = Mapping[Var, "int | Term"]
"""Elements by number, integers by term."""


class NotExact(Exception):
    """Why there is no exact answer."""


@dataclass(frozen=True, slots=True)
class Move:
    """A step of a schedule: its action, the elements that it is about, and the relations that it chooses.

    Amounts, which are integers, are left open.
    """

    action: str
    elements: Mapping[str, int] = field(default_factory=dict)
    chosen: Mapping[str, frozenset[Cell]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Sizes of sorts, the relations that are true at the start (those of the orders, too), and steps."""

    sizes: Mapping[str, int]
    relations: Mapping[str, frozenset[Cell]]
    moves: tuple[Move, ...]


def path_condition(theory: Theory, schedule: Schedule, claim: Formula) -> Formula:
    """What has to hold of the integers for the schedule to be a run at whose end the claim is false.

    Free variables of sort Int in it are amounts; integer functions without arguments that are rigid are parameters.
    """
    world = _World(theory, schedule)
    found = [world.truth(axiom.formula, {}) for axiom in theory.axioms]
    found.append(world.truth(theory.init, {}))
    for number, move in enumerate(schedule.moves, 1):
        action = next((step for step in theory.transitions if step.name == move.action), None)
        if action is None:
            raise NotExact(f"there is no action {move.action}")
        env = _arguments(action, move, number)
        world.chosen = move.chosen
        found.append(world.truth(action.guard, env))
        world.update(action, env)
    found.append(neg(world.truth(claim, {})))
    return conj(found)


def _arguments(action: Transition, move: Move, number: int) -> dict[Var, int | Term]:
    env: dict[Var, int | Term] = {}
    for param in action.params:
        if param.sort == INT:
            env[param] = Var(f"{param.name}#{number}", INT)
        elif param.name in move.elements:
            env[param] = move.elements[param.name]
        else:
            raise NotExact(f"step {number}, {action.name}, does not say which {param.name}")
    return env


class _World:
    """A state: a formula over integers for every relation and its elements, a term for every integer function."""

    def __init__(self, theory: Theory, schedule: Schedule) -> None:
        self.sizes = schedule.sizes
        self.chosen: Mapping[str, frozenset[Cell]] = {}
        self.relations: dict[tuple[str, Cell], Formula] = {}
        self.integers: dict[tuple[str, Cell], Term] = {}
        for symbol in (*theory.state, *theory.rigid):
            for cell in self._cells(symbol.args):
                if symbol.result == BOOL:
                    self.relations[symbol.name, cell] = Truth(cell in schedule.relations.get(symbol.name, frozenset()))
                elif not cell and symbol in theory.rigid:
                    self.integers[symbol.name, cell] = Apply(symbol)
                else:
                    shown = f"({', '.join(map(str, cell))})" if cell else ""
                    self.integers[symbol.name, cell] = Var(f"{symbol.name}{shown}#0", INT)

    def update(self, action: Transition, env: Env) -> None:
        """All updates at once."""
        relations: dict[tuple[str, Cell], Formula] = {}
        integers: dict[tuple[str, Cell], Term] = {}
        for update in action.updates:
            for cell in self._cells(update.symbol.args):
                inner = {**env, **dict(zip(update.formals, cell, strict=True))}
                if update.symbol.result == BOOL:
                    relations[update.symbol.name, cell] = self.truth(_formula(update), inner)
                else:
                    integers[update.symbol.name, cell] = self.term(_term(update), inner)
        self.relations |= relations
        self.integers |= integers

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
        if symbol.name in self.chosen:
            return Truth(cell in self.chosen[symbol.name])
        if (symbol.name, cell) not in self.relations:
            raise NotExact(f"the schedule does not say what {symbol.name} is")
        return self.relations[symbol.name, cell]

    def _cell(self, args: Sequence[Var], env: Env) -> Cell:
        found = []
        for arg in args:
            value = env[arg]
            assert isinstance(value, int), "arguments of symbols are elements"
            found.append(value)
        return tuple(found)

    def _cells(self, sorts: Sequence[str]) -> Iterator[Cell]:
        return product(*(range(self.sizes[sort]) for sort in sorts))

    def _choices(self, variables: Sequence[Var], env: Env) -> Iterator[dict[Var, int | Term]]:
        if any(variable.sort == INT for variable in variables):
            raise NotExact("a quantifier ranges over all integers")
        for cell in self._cells([variable.sort for variable in variables]):
            yield {**env, **dict(zip(variables, cell, strict=True))}


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
