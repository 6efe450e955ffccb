"""Steps of a refutation: each adds clauses to a `Ground`, and none of them leaves a choice to who repeats it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvproto.prove.certificates.ground import Clause, Ground
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import Symbol, Term, Var, free_variables, neg


@dataclass(frozen=True, slots=True)
class Element:
    """Some element of a sort, under a new name."""

    name: str
    sort: str


@dataclass(frozen=True, slots=True)
class Open:
    """New names for the witnesses of an `exists`."""

    atom: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """What a `forall` says of these terms."""

    atom: int
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Transitive:
    """If the first is the second and the second the third, the first is the third."""

    first: Var
    second: Var
    third: Var


@dataclass(frozen=True, slots=True)
class Congruent:
    """If the arguments of two atoms of one relation are the same, the first implies the second."""

    one: int
    other: int


@dataclass(frozen=True, slots=True)
class Equal:
    """If the arguments are the same, so are the integers."""

    symbol: Symbol
    left: tuple[Var, ...]
    right: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Inequalities that are not all true, with weights that show it."""

    weighted: tuple[tuple[int, int], ...]


Step = Element | Open | Instance | Transitive | Congruent | Equal | Contradiction


@dataclass(frozen=True, slots=True)
class Refutation:
    """Why hypotheses and the negation of a goal cannot be true together.

    The named hypotheses and the negated goal are supposed, the steps taken in order; then each of the clauses follows
    by unit propagation from all before it, and the last one is empty.
    """

    uses: tuple[str, ...]
    steps: tuple[Step, ...]
    clauses: tuple[Clause, ...]


def take(ground: Ground, step: Step) -> None:
    """Do one step; raises `Refused` if the rules do not allow it."""
    match step:
        case Element(name, sort):
            ground.element(name, sort)
        case Open(atom, names):
            ground.open(atom, names)
        case Instance(atom, terms):
            ground.instantiate(atom, terms)
        case Transitive(first, second, third):
            ground.transitive(first, second, third)
        case Congruent(one, other):
            ground.congruent(one, other)
        case Equal(symbol, left, right):
            ground.equal(symbol, left, right)
        case Contradiction(weighted):
            ground.contradict(weighted)


def renumbered(step: Step, number: Callable[[int], int]) -> Step:
    """The same step where atoms have other numbers."""
    match step:
        case Open(atom, names):
            return Open(number(atom), names)
        case Instance(atom, terms):
            return Instance(number(atom), terms)
        case Congruent(one, other):
            return Congruent(number(one), number(other))
        case Contradiction(weighted):
            return Contradiction(tuple((number(literal), weight) for literal, weight in weighted))
        case _:
            return step


def grounded(condition: Condition, uses: Sequence[str]) -> Ground:
    """The clauses of the named hypotheses and of the negated goal, where a refutation begins.

    Free variables are constants, whichever hypotheses are used.
    """
    formulas = [*(hypothesis.formula for hypothesis in condition.hypotheses), condition.goal]
    free = frozenset[Var]().union(*map(free_variables, formulas))
    ground = Ground(sorted(free, key=lambda v: v.name))
    for hypothesis in condition.hypotheses:
        if hypothesis.name in uses:
            ground.suppose(hypothesis.formula)
    ground.suppose(neg(condition.goal))
    return ground
