"""Which instances of hypotheses contradict the negation of a goal.

A model of what is known so far is looked through for instances that are false in it; they are added until there is no
model.  Then those without which there is none either are taken out again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from kvproto.prove.certificates.ground import Base, Clause, Ground, Known, Linear
from kvproto.prove.certificates.ground_steps import Element, Instance, Open, Step, take
from kvproto.prove.certificates.refutation import NotRefuted
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.evaluate import holds, value
from kvproto.prove.logic.formula import (
    BOOL,
    INT,
    And,
    Apply,
    Atom,
    Exists,
    ForAll,
    Formula,
    Num,
    Or,
    Plus,
    Same,
    Symbol,
    Term,
    Truth,
    Var,
    free_variables,
    neg,
    walk,
)
from kvproto.prove.logic.theory import Structure
from kvproto.prove.solver import z3_module

Z3 = Any
"""What belongs to the solver, which has no types."""

ROUNDS = 400
"""Models that are looked through before a condition is given up."""

Values = dict[Var, int]
"""What constants denote in a model: numbers of elements, and integers."""


class Instances:
    """Steps after which Z3 finds the clauses contradictory."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        formulas = [*(hypothesis.formula for hypothesis in condition.hypotheses), condition.goal]
        free = frozenset[Var]().union(*map(free_variables, formulas))
        self.symbols = list(dict.fromkeys(_symbols(formulas)))
        bound = [variable.sort for formula in formulas for variable in _bound(formula) if variable.sort != INT]
        self.sorts = list(dict.fromkeys([*(sort for symbol in self.symbols for sort in symbol.args), *bound]))
        self.ground = Ground(sorted(free, key=lambda v: v.name))
        self.taken: list[Step | str] = []
        """Steps, and names of hypotheses."""
        self.guards: list[Z3] = []
        self.done: set[tuple[int, tuple[Term, ...]]] = set()
        self.opened: set[int] = set()
        self._told = 0
        self._z3 = z3_module()
        # What else has been asked of Z3 in this process must not change the answer.
        self._context = self._z3.Context()
        self._shown = _Shown(self._z3, self._context)
        self._solver = self._z3.SolverFor("QF_UFLIA", self._context)
        self._solver.set("random_seed", 0)

    def run(self) -> None:
        """Take steps until the clauses contradict each other; raises `NotRefuted`."""
        self._suppose()
        for _ in range(ROUNDS):
            found = self._solver.check(*self.guards)
            if found == self._z3.unsat:
                return
            if found != self._z3.sat:
                raise NotRefuted(f"{self.condition.name}: the solver answers {self._solver.reason_unknown()}")
            steps = list(self._missing(self._solver.model()))
            if not steps:
                raise NotRefuted(f"{self.condition.name}: it is not valid")
            for step in steps:
                take(self.ground, step)
                self._tell(step)
        raise NotRefuted(f"{self.condition.name}: {len(self.taken)} instances do not refute it")

    def needed(self) -> tuple[list[str], list[Step]]:
        """Names of hypotheses and steps that contradict the goal's negation; none of them can be left out."""
        kept = self._core(list(range(len(self.guards))))
        # The last ones first: they follow from the others more often.
        for at in reversed(list(kept)):
            rest = [other for other in kept if other != at]
            if at in kept and self._solver.check(*(self.guards[other] for other in rest)) == self._z3.unsat:
                kept = self._core(rest)
        chosen = [self.taken[at] for at in kept]
        names = [step for step in chosen if isinstance(step, str)]
        return names, [step for step in chosen if not isinstance(step, str)]

    def _core(self, among: list[int]) -> list[int]:
        assert self._solver.check(*(self.guards[at] for at in among)) == self._z3.unsat
        core = {str(guard) for guard in self._solver.unsat_core()}
        return [at for at in among if str(self.guards[at]) in core]

    def _suppose(self) -> None:
        self.ground.suppose(neg(self.condition.goal))
        self._tell(None)
        for hypothesis in self.condition.hypotheses:
            self.ground.suppose(hypothesis.formula)
            self._tell(hypothesis.name)
        for sort in self.sorts:
            if all(known.sort != sort for known in self.ground.constants.values()):
                step = Element(f"{sort.lower()}#{len(self.ground.constants) + 1}", sort)
                take(self.ground, step)
                self._tell(step)

    def _tell(self, step: Step | str | None) -> None:
        """Give new clauses to the solver, under a guard if there may be a refutation without the step."""
        guard = None
        if step is not None:
            guard = self._z3.Bool(f"guard {len(self.taken)}", self._context)
            self.taken.append(step)
            self.guards.append(guard)
        for clause in self.ground.clauses[self._told :]:
            shown = [self._literal(literal) for literal in clause]
            # What a compound means is no assumption, and other steps may refer to it.
            if guard is not None and not self._meaning(clause):
                shown.append(self._z3.Not(guard))
            self._solver.add(self._z3.Or(*shown, self._context))
        self._told = len(self.ground.clauses)

    def _meaning(self, clause: Clause) -> bool:
        return bool(clause) and clause[0] < 0 and isinstance(self.ground.atom(-clause[0]), And | Or)

    def _literal(self, literal: int) -> Z3:
        shown = self._shown.atom(abs(literal), self.ground.atom(abs(literal)))
        return shown if literal > 0 else self._z3.Not(shown)

    def _missing(self, model: Z3) -> Iterator[Step]:
        """Of every quantified formula that is taken as true one instance, or the witnesses, that the model lacks."""
        structure, values = self._structure(model)
        terms = self._terms(structure, values)
        named = len(self.ground.constants)
        for number, atom in enumerate(list(self.ground.atoms), 1):
            if not isinstance(atom, ForAll | Exists) or not self._z3.is_true(model.eval(self._literal(number))):
                continue
            if isinstance(atom, Exists):
                if number not in self.opened and _choice(atom, structure, values, terms, wanted=True) is None:
                    self.opened.add(number)
                    names = tuple(f"{v.name}#{named + at}" for at, v in enumerate(atom.vars, 1))
                    named += len(names)
                    yield Open(number, names)
            elif (chosen := _choice(atom, structure, values, terms, wanted=False)) is not None:
                if (number, chosen) not in self.done:
                    self.done.add((number, chosen))
                    yield Instance(number, chosen)

    def _structure(self, model: Z3) -> tuple[Structure, Values]:
        """The model with what has a name as its elements."""
        values: Values = {}
        first: dict[str, dict[int, Var]] = {}
        alive = []  # the solver gives the numbers of values that nobody holds to others
        for constant in self.ground.constants.values():
            found = model.eval(self._shown.element(constant), model_completion=True)
            alive.append(found)
            if constant.sort == INT:
                values[constant] = found.as_long()
            else:
                elements = first.setdefault(constant.sort, {})
                elements.setdefault(found.get_id(), constant)
                values[constant] = list(elements).index(found.get_id())
        named = {sort: list(elements.values()) for sort, elements in first.items()}
        relations: dict[str, frozenset[tuple[int, ...]]] = {}
        integers: dict[str, dict[tuple[int, ...], int]] = {}
        for symbol in self.symbols:
            cells = {}
            for cell in product(*(range(len(named[sort])) for sort in symbol.args)):
                args = tuple(named[sort][at] for sort, at in zip(symbol.args, cell, strict=True))
                cells[cell] = model.eval(self._shown.applied(symbol, args), model_completion=True)
            if symbol.result == BOOL:
                relations[symbol.name] = frozenset(cell for cell, found in cells.items() if self._z3.is_true(found))
            else:
                integers[symbol.name] = {cell: found.as_long() for cell, found in cells.items()}
        return Structure({sort: len(elements) for sort, elements in named.items()}, relations, integers), values

    def _terms(self, structure: Structure, values: Values) -> dict[str, list[Term]]:
        """Terms to try: one constant for every element, and one term for every integer that has a name."""
        found: dict[str, dict[int, Term]] = {INT: {0: Num(0)}}
        for constant, denoted in values.items():
            found.setdefault(constant.sort, {}).setdefault(denoted, constant)
        for atom in self.ground.atoms:
            for base, _ in atom.parts if isinstance(atom, Linear) else ():
                found[INT].setdefault(value(base, structure, values), base)
        # Of integers there is always one more, and one less.
        for denoted, term in list(found[INT].items()):
            for step in (1, -1):
                found[INT].setdefault(denoted + step, Plus(term, Num(step)))
        return {sort: list(terms.values()) for sort, terms in found.items()}


class _Shown:
    """Atoms as the solver knows them; a quantified formula and a compound are just names there."""

    def __init__(self, z3: Z3, context: Z3) -> None:
        self._z3, self._context = z3, context
        self._atoms: dict[int, Z3] = {}
        self._symbols: dict[Symbol, Z3] = {}
        self._elements: dict[Var, Z3] = {}
        self._applied: dict[tuple[Symbol, tuple[Var, ...]], Z3] = {}

    def atom(self, number: int, atom: Known) -> Z3:
        """The atom under its number."""
        if number not in self._atoms:
            self._atoms[number] = self._made(number, atom)
        return self._atoms[number]

    def _made(self, number: int, atom: Known) -> Z3:
        match atom:
            case Truth(known):
                return self._z3.BoolVal(known, self._context)
            case Atom(symbol, args):
                return self.applied(symbol, args)
            case Same(left, right):
                return self.element(left) == self.element(right)
            case Linear(parts, bound):
                return self._z3.Sum([factor * self._base(base) for base, factor in parts]) <= bound
            case _:
                return self._z3.Bool(f"atom {number}", self._context)

    def _base(self, base: Base) -> Z3:
        return self.element(base) if isinstance(base, Var) else self.applied(base.symbol, base.args)

    def element(self, constant: Var) -> Z3:
        """A constant."""
        if constant not in self._elements:
            self._elements[constant] = self._z3.Const(constant.name, self._sort(constant.sort))
        return self._elements[constant]

    def applied(self, symbol: Symbol, args: tuple[Var, ...]) -> Z3:
        """A symbol of constants."""
        if (symbol, args) not in self._applied:
            if symbol not in self._symbols:
                sorts = [self._sort(sort) for sort in (*symbol.args, symbol.result)]
                self._symbols[symbol] = self._z3.Function(f"{symbol.name} of", *sorts)
            self._applied[symbol, args] = self._symbols[symbol](*map(self.element, args))
        return self._applied[symbol, args]

    def _sort(self, name: str) -> Z3:
        if name == INT:
            return self._z3.IntSort(self._context)
        return self._z3.BoolSort(self._context) if name == BOOL else self._z3.DeclareSort(name, self._context)


def _choice(
    atom: ForAll | Exists, structure: Structure, values: Values, terms: dict[str, list[Term]], *, wanted: bool
) -> tuple[Term, ...] | None:
    """The first terms for which the body is true, or false, in the model."""
    for chosen in product(*(terms.get(variable.sort, []) for variable in atom.vars)):
        env = dict(values)
        for variable, term in zip(atom.vars, chosen, strict=True):
            env[variable] = value(term, structure, values)
        if _true(atom.body, structure, env) == wanted:
            return chosen
    return None


def _true(formula: Formula, structure: Structure, env: Values) -> bool:
    """Truth in the model; a quantifier over integers inside cannot be tried out and counts as false."""
    try:
        return holds(formula, structure, env)
    except ValueError:
        return False


def _symbols(formulas: list[Formula]) -> Iterator[Symbol]:
    for formula in formulas:
        for node in walk(formula):
            if isinstance(node, Atom | Apply):
                yield node.symbol


def _bound(formula: Formula) -> Iterator[Var]:
    for node in walk(formula):
        if isinstance(node, ForAll | Exists):
            yield from node.vars
