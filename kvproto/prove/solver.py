"""Conditions decided by Z3 over uninterpreted sorts: valid for every size, or false in a finite structure.

Z3 is a guest: it is loaded when it is needed, its seed is fixed, and its work is bounded by its own count of resources
and not by seconds, so that the same question has the same answer everywhere.  A model that it reports is evaluated by
definition before anything is said about it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.evaluate import after, holds
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
    Symbol,
    Term,
    Times,
    Truth,
    Var,
    neg,
)
from kvproto.prove.logic.theory import Clause, Structure, Theory
from kvproto.prove.proof import Deadline, Induction

RESOURCES = 20_000_000
"""Bound on Z3's work for one condition; most need less than a thousandth of it."""

_TRACKED = "hypothesis "
"""Before the names of hypotheses: a clause may have the name of a symbol, and would be that symbol to Z3."""


@dataclass(frozen=True, slots=True)
class Valid:
    """The condition holds for every size; `core` names hypotheses that suffice."""

    core: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A finite structure, with values of the free variables, in which hypotheses hold and the goal does not."""

    structure: Structure
    choice: Mapping[Var, int]

    def induction(self, condition: Condition, broken: Clause) -> Induction:
        """The same as a step that breaks a clause."""
        action = condition.transition
        if action is None:
            return Induction(broken, self.structure, None, self.choice, self.structure)
        return Induction(broken, self.structure, action, self.choice, after(self.structure, action, self.choice))


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither: the work was used up, or the condition is outside of what can be decided."""

    reason: str


Answer = Valid | Counterexample | Unknown


def z3_module() -> Any:
    """Z3, or an error that says how to get it."""
    try:
        return importlib.import_module("z3")
    except ImportError as missing:
        raise KvError(
            "KV038",
            "proofs need z3-solver, which is not installed",
            reason="the prover is an extra, so that everything else does without it",
            cure="pip install 'kvproto[prove]'",
        ) from missing


@dataclass
class Solver:
    """Decides conditions of one theory; what it has translated once is kept."""

    theory: Theory
    resources: int = RESOURCES
    deadline: Deadline = field(default_factory=Deadline)
    checks: int = 0
    _z3: Any = field(default_factory=z3_module)
    _context: Any = None  # of its own: what Z3 answers depends on all that its context has been asked before
    _sorts: dict[str, Any] = field(default_factory=dict)
    _known: dict[Formula, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._context = self._z3.Context()

    def decide(self, condition: Condition, *, smallest: bool = False) -> Answer:
        """Whether the condition is valid; `smallest` asks for a counterexample with few elements."""
        solver = self._solver()
        for hypothesis in condition.hypotheses:
            solver.assert_and_track(self._formula(hypothesis.formula), f"{_TRACKED}{hypothesis.name}")
        solver.add(self._formula(neg(condition.goal)))
        result = self._check(solver)
        if result == self._z3.unsat:
            used = {literal.decl().name().removeprefix(_TRACKED) for literal in solver.unsat_core()}
            return Valid(tuple(each.name for each in condition.hypotheses if each.name in used))
        if result == self._z3.sat and not smallest:
            return self._confirmed(solver.model(), condition)
        reason = solver.reason_unknown() if result == self._z3.unknown else ""
        return self._small(condition) or (
            self._confirmed(solver.model(), condition) if result == self._z3.sat else Unknown(reason)
        )

    def valid(self, condition: Condition) -> bool:
        """Whether it is valid, for those who need no reason."""
        return isinstance(self.decide(condition), Valid)

    # ------------------------------------------------------------------------------------------------ small models

    def _small(self, condition: Condition, most: int = 8) -> Counterexample | None:
        """A counterexample of few elements in all, found by trying sizes in order of their sum."""
        sorts = self.theory.sorts
        for extra in range(most + 1):
            for sizes in _sums(len(sorts), extra):
                solver = self._solver()
                solver.add(*(self._formula(each.formula) for each in condition.hypotheses))
                solver.add(self._formula(neg(condition.goal)))
                solver.add(*(self._at_most(sort, size + 1) for sort, size in zip(sorts, sizes, strict=True)))
                if self._check(solver) == self._z3.sat:
                    found = self._confirmed(solver.model(), condition)
                    return found if isinstance(found, Counterexample) else None
        return None

    def _at_most(self, sort: str, size: int) -> Any:
        elements = [self._z3.Const(f"e!{sort}!{n}", self._sort(sort)) for n in range(size)]
        bound = self._z3.Const("x!", self._sort(sort))
        return self._z3.ForAll([bound], self._z3.Or(*(bound == element for element in elements), self._context))

    def _confirmed(self, model: Any, condition: Condition) -> Counterexample | Unknown:
        """The model as a structure, if the definition agrees that it is a counterexample."""
        found = self._read(model, condition)
        try:
            agreed = holds(condition.negation, found.structure, found.choice)
        except ValueError as undecidable:
            return Unknown(f"a model that cannot be evaluated: {undecidable}")
        return found if agreed else Unknown("a model that is none by the definition")

    def _read(self, model: Any, condition: Condition) -> Counterexample:
        elements = {sort: self._elements(model, sort) for sort in self.theory.sorts}
        chosen = condition.transition.chosen if condition.transition else ()
        relations: dict[str, frozenset[tuple[int, ...]]] = {}
        integers: dict[str, dict[tuple[int, ...], int]] = {}
        for symbol in dict.fromkeys((*self.theory.state, *self.theory.rigid, *chosen)):
            cells = list(product(*(range(len(elements[sort])) for sort in symbol.args)))
            terms = {
                cell: self._applied(symbol, [elements[sort][n] for sort, n in zip(symbol.args, cell, strict=True)])
                for cell in cells
            }
            values = {cell: model.eval(term, model_completion=True) for cell, term in terms.items()}
            if symbol.result == BOOL:
                relations[symbol.name] = frozenset(cell for cell in cells if self._z3.is_true(values[cell]))
            else:
                integers[symbol.name] = {cell: values[cell].as_long() for cell in cells}
        choice: dict[Var, int] = {}
        for var in condition.transition.params if condition.transition else ():
            value = model.eval(self._variable(var), model_completion=True)
            choice[var] = value.as_long() if var.sort == INT else _place(value, elements[var.sort])
        sizes = {sort: len(elements[sort]) for sort in self.theory.sorts}
        return Counterexample(Structure(sizes, relations, integers), choice)

    def _elements(self, model: Any, sort: str) -> list[Any]:
        universe = model.get_universe(self._sort(sort))
        if universe is None or not len(universe):
            return [model.eval(self._z3.Const(f"e!{sort}!0", self._sort(sort)), model_completion=True)]
        return sorted(universe, key=str)

    # ------------------------------------------------------------------------------------------------ translation

    def _solver(self) -> Any:
        solver = self._z3.Solver(ctx=self._context)
        solver.set("random_seed", 0, "smt.core.minimize", True, "rlimit", self.resources)
        return solver

    def _check(self, solver: Any) -> Any:
        self.deadline.look()
        self.checks += 1
        return solver.check()

    def _sort(self, name: str) -> Any:
        if name == INT:
            return self._z3.IntSort(self._context)
        if name == BOOL:
            return self._z3.BoolSort(self._context)
        if name not in self._sorts:
            self._sorts[name] = self._z3.DeclareSort(name, self._context)
        return self._sorts[name]

    def _applied(self, symbol: Symbol, args: Iterable[Any]) -> Any:
        signature = [self._sort(sort) for sort in (*symbol.args, symbol.result)]
        return self._z3.Function(symbol.name, *signature)(*args)

    def _variable(self, var: Var) -> Any:
        return self._z3.Const(f"?{var.name}", self._sort(var.sort))

    def _formula(self, formula: Formula) -> Any:
        if formula not in self._known:
            self._known[formula] = self._translated(formula)
        return self._known[formula]

    def _translated(self, formula: Formula) -> Any:
        z3 = self._z3
        match formula:
            case Truth():
                return z3.BoolVal(formula.value, self._context)
            case Atom():
                return self._applied(formula.symbol, map(self._variable, formula.args))
            case Same():
                return self._variable(formula.left) == self._variable(formula.right)
            case Compare():
                left, right = self._term(formula.left), self._term(formula.right)
                return left <= right if formula.op == "<=" else left < right if formula.op == "<" else left == right
            case Not():
                return z3.Not(self._formula(formula.body))
            case And():
                return z3.And(*map(self._formula, formula.parts), self._context)
            case Or():
                return z3.Or(*map(self._formula, formula.parts), self._context)
            case ForAll():
                return z3.ForAll(list(map(self._variable, formula.vars)), self._formula(formula.body))
            case Exists():
                return z3.Exists(list(map(self._variable, formula.vars)), self._formula(formula.body))

    def _term(self, term: Term) -> Any:
        match term:
            case Var():
                return self._variable(term)
            case Num():
                return self._z3.IntVal(term.value, self._context)
            case Apply():
                return self._applied(term.symbol, map(self._variable, term.args))
            case Plus():
                return self._term(term.left) + self._term(term.right)
            case Times():
                return self._z3.IntVal(term.factor, self._context) * self._term(term.term)
            case Choose():
                return self._z3.If(self._formula(term.test), self._term(term.then), self._term(term.other))


def _place(value: Any, elements: list[Any]) -> int:
    return next((n for n, element in enumerate(elements) if value.eq(element)), 0)


def _sums(places: int, total: int) -> Iterable[tuple[int, ...]]:
    """Ways to write the total as a sum of so many numbers, zero among them."""
    if places <= 1:
        return [(total,)] if places == 1 or total == 0 else []
    return [(first, *rest) for first in range(total, -1, -1) for rest in _sums(places - 1, total - first)]
