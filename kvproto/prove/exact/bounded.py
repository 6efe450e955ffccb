"""Bounded search with symbolic integers: the shortest run of a theory over few elements that breaks a claim.

Elements are counted out, integers are not: parameters, amounts of steps and what initial states leave open are unknowns
of one formula, and Z3 finds values or says that there are none.  Where it finds none, that is so for runs of that
length over that many elements, and nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from kvproto.prove.exact.run import Move, Schedule
from kvproto.prove.exact.world import Cell, Place, World, cells, shown
from kvproto.prove.logic.formula import (
    BOOL,
    INT,
    TRUE,
    And,
    Apply,
    Atom,
    Choose,
    Compare,
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
from kvproto.prove.logic.theory import Theory, Transition
from kvproto.prove.solver import z3_module

RESOURCES = 40_000_000
"""Z3's own measure of work, for one length of run."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that breaks a claim: its schedule, values of parameters, and the amounts of each step."""

    claim: str
    schedule: Schedule
    parameters: Mapping[str, int]
    amounts: tuple[Mapping[str, int], ...]


@dataclass(frozen=True, slots=True)
class Bounded:
    """What a search up to `steps` found: a run, or none; `unknown` says why it ended early, if it did.

    Without a run the claims hold with strength `bounded`: for runs of at most so many steps over so many elements.
    """

    sizes: Mapping[str, int]
    steps: int
    run: Run | None
    unknown: str = ""


def search(
    theory: Theory,
    sizes: Mapping[str, int],
    steps: int,
    *,
    claim: str = "",
    parameters: Formula = TRUE,
    resources: int = RESOURCES,
) -> Bounded:
    """The shortest run over `sizes` of at most so many steps that breaks the claim (or any), by ever longer runs.

    `parameters` restricts rigid integers further than the axioms do.
    """
    claims = [each for each in theory.claims if not claim or each.name == claim]
    unrolled = _Unrolled(theory, sizes, resources)
    unrolled.begin(parameters)
    for length in range(steps + 1):
        if length:
            unrolled.extend()
        for each in claims:
            broken = neg(unrolled.worlds[-1].truth(each.formula, {}))
            answer, model = unrolled.ask(broken)
            if answer == "unknown":
                return Bounded(sizes, length, None, f"Z3 gave up on runs of {length} steps")
            if model is not None:
                return Bounded(sizes, length, unrolled.run(each.name, model))
    return Bounded(sizes, steps, None)


@dataclass(frozen=True, slots=True)
class _Way:
    """A step with its elements; `taken` is true if it is the one that happens."""

    action: Transition
    env: Mapping[Var, int | Term]
    taken: Atom


class _Unrolled:
    """A run of unknown steps: a world for every state, with unknowns for whatever it may be."""

    def __init__(self, theory: Theory, sizes: Mapping[str, int], resources: int) -> None:
        self.theory, self.sizes = theory, sizes
        self.worlds: list[World] = []
        self.steps: list[list[_Way]] = []
        self._native = _Native()
        self._solver = self._native.solver(resources)
        self._rigid = set(theory.rigid)

    def begin(self, parameters: Formula) -> None:
        """The initial state."""
        world = self._world(0)
        self.worlds.append(world)
        self._tell(conj(world.truth(axiom.formula, {}) for axiom in self.theory.axioms))
        self._tell(world.truth(parameters, {}))
        self._tell(world.truth(self.theory.init, {}))

    def extend(self) -> None:
        """One step more: exactly one way is taken, and the next state is what it makes."""
        before, number = self.worlds[-1], len(self.worlds)
        following = self._world(number)
        ways = list(self._ways(number))
        self._tell(disj(way.taken for way in ways))
        for one, other in product(ways, ways):
            if one.taken.symbol.name < other.taken.symbol.name:
                self._tell(disj((neg(one.taken), neg(other.taken))))
        before.chosen = {
            (symbol.name, cell): self._unknown(f"{shown(symbol.name, cell)} chosen in {number}")
            for action in self.theory.transitions
            for symbol in action.chosen
            for cell in cells(self.sizes, symbol.args)
        }
        for way in ways:
            made = before.after(way.action, way.env)
            agrees = [_equivalent(following.relations[place], made.relations[place]) for place in made.relations]
            agrees += [Compare("==", following.integers[place], made.integers[place]) for place in made.integers]
            self._tell(disj((neg(way.taken), conj((before.truth(way.action.guard, way.env), *agrees)))))
        self.steps.append(ways)
        self.worlds.append(following)

    def ask(self, formula: Formula) -> tuple[str, Any]:
        """Whether the run so far can end in a state where the formula is true, and the model if so."""
        self._solver.push()
        self._tell(formula)
        answer = str(self._solver.check())
        model = self._solver.model() if answer == "sat" else None
        self._solver.pop()
        return answer, model

    def run(self, claim: str, model: Any) -> Run:
        """What a model says happens."""
        moves, amounts = [], []
        for number, ways in enumerate(self.steps, 1):
            way = next(way for way in ways if self._native.true(model, way.taken))
            elements = {v.name: e for v, e in way.env.items() if v.sort != INT and isinstance(e, int)}
            before = self.worlds[number - 1]
            chosen = {
                symbol.name: frozenset(
                    cell
                    for cell in cells(self.sizes, symbol.args)
                    if self._native.true(model, before.chosen[symbol.name, cell])
                )
                for symbol in way.action.chosen
            }
            moves.append(Move(way.action.name, elements, chosen))
            terms = {v.name: t for v, t in way.env.items() if v.sort == INT and not isinstance(t, int)}
            amounts.append({name: self._native.value(model, term) for name, term in terms.items()})
        start = self.worlds[0]
        relations: dict[str, set[Cell]] = {}
        for (name, cell), formula in start.relations.items():
            relations.setdefault(name, set())
            if self._native.true(model, formula):
                relations[name].add(cell)
        found = {name: frozenset(true) for name, true in relations.items()}
        parameters = {
            symbol.spelled or symbol.name: self._native.value(model, Apply(symbol))
            for symbol in self.theory.rigid
            if symbol.result == INT and not symbol.args
        }
        return Run(claim, Schedule(dict(self.sizes), found, tuple(moves)), parameters, tuple(amounts))

    def _ways(self, number: int) -> Iterator[_Way]:
        for action in self.theory.transitions:
            elements = [param for param in action.params if param.sort != INT]
            amounts = {p: Var(f"{p.name} of {action.name} in {number}", INT) for p in action.params if p.sort == INT}
            for picked in product(*(range(self.sizes[param.sort]) for param in elements)):
                name = f"{shown(action.name, picked)} is step {number}"
                yield _Way(action, {**amounts, **dict(zip(elements, picked, strict=True))}, self._unknown(name))

    def _world(self, number: int) -> World:
        relations: dict[Place, Formula] = {}
        integers: dict[Place, Term] = {}
        for symbol in (*self.theory.state, *self.theory.rigid):
            at = "" if symbol in self._rigid else f" after {number}"
            for cell in cells(self.sizes, symbol.args):
                if symbol.result == BOOL:
                    relations[symbol.name, cell] = self._unknown(f"{shown(symbol.name, cell)}{at}")
                elif not cell and symbol in self._rigid:
                    integers[symbol.name, cell] = Apply(symbol)
                else:
                    integers[symbol.name, cell] = Var(f"{shown(symbol.name, cell)}{at}", INT)
        return World(self.sizes, relations, integers)

    def _unknown(self, name: str) -> Atom:
        return Atom(Symbol(name))

    def _tell(self, formula: Formula) -> None:
        self._solver.add(self._native.formula(formula))


def _equivalent(one: Formula, other: Formula) -> Formula:
    if one == other:
        return TRUE
    return conj((disj((neg(one), other)), disj((neg(other), one))))


class _Native:
    """Formulas without quantifiers as Z3 has them; what is unknown is a constant."""

    def __init__(self) -> None:
        self._z3 = z3_module()
        self._context = self._z3.Context()

    def solver(self, resources: int) -> Any:
        """A solver that gives up after so much work."""
        made = self._z3.SolverFor("QF_LIA", self._context)
        made.set("rlimit", resources)
        made.set("random_seed", 0)
        return made

    def true(self, model: Any, formula: Formula) -> bool:
        """Whether the model makes it true."""
        return bool(self._z3.is_true(model.eval(self.formula(formula), model_completion=True)))

    def value(self, model: Any, term: Term) -> int:
        """The integer in the model."""
        return int(model.eval(self.term(term), model_completion=True).as_long())

    def formula(self, formula: Formula) -> Any:
        """A formula over unknowns."""
        match formula:
            case Truth(value):
                return self._z3.BoolVal(value, self._context)
            case Atom(symbol):
                return self._z3.Bool(symbol.name, self._context)
            case Not(body):
                return self._z3.Not(self.formula(body))
            case And(parts):
                return self._z3.And(*map(self.formula, parts), self._context)
            case Or(parts):
                return self._z3.Or(*map(self.formula, parts), self._context)
            case Compare(op, left, right):
                one, other = self.term(left), self.term(right)
                return one <= other if op == "<=" else one < other if op == "<" else one == other
            case Same() | _:
                raise AssertionError("elements and quantifiers are gone")

    def term(self, term: Term) -> Any:
        """An integer over unknowns."""
        match term:
            case Num(value):
                return self._z3.IntVal(value, self._context)
            case Var(name):
                return self._z3.Int(name, self._context)
            case Apply(symbol):
                return self._z3.Int(symbol.name, self._context)
            case Plus(left, right):
                return self.term(left) + self.term(right)
            case Times(factor, inner):
                return factor * self.term(inner)
            case Choose(test, then, other):
                return self._z3.If(self.formula(test), self.term(then), self.term(other), self._context)


def describe(found: Bounded) -> Sequence[str]:
    """What a search says, in a line or several."""
    world = ", ".join(f"{size} {sort}" for sort, size in found.sizes.items())
    if found.run is None:
        why = f"; {found.unknown}" if found.unknown else ""
        return (f"no run of at most {found.steps} steps with {world} breaks a claim, for any integers (bounded){why}",)
    values = ", ".join(f"{name} = {value}" for name, value in found.run.parameters.items())
    return (f"{found.run.claim} is broken in {found.steps} steps with {world}: {values}",)
