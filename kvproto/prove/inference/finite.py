"""Conditions over a fixed number of elements: quick, and right about counterexamples.

What is found here is a counterexample over these sizes.  What is not found may still exist over more elements, so
nothing here proves anything: the last word is the solver's, over any number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.prove.inference.ground import (
    NO,
    YES,
    Cell,
    Choice,
    Lookup,
    Universe,
    all_of,
    any_of,
    different,
    named,
    negated,
)
from kvproto.prove.logic.evaluate import after
from kvproto.prove.logic.formula import BOOL, INT, ForAll, Formula, Symbol, Var
from kvproto.prove.logic.substitute import changes
from kvproto.prove.logic.theory import Clause, Structure, Theory, Transition
from kvproto.prove.proof import Deadline, Induction
from kvproto.prove.solver import z3_module

_NAME = re.compile(r"\|[^|]*\|")


@dataclass(frozen=True)
class Case:
    """An action with elements for its parameters; which elements they are matters only for which are equal."""

    number: int
    action: Transition
    choice: dict[Var, int | str]

    @property
    def used(self) -> dict[str, int]:
        """Elements of each sort that the parameters name: the first ones."""
        found: dict[str, int] = {}
        for var, element in self.choice.items():
            if isinstance(element, int):
                found[var.sort] = max(found.get(var.sort, 0), element + 1)
        return found


class Finite:
    """One solver for all conditions; hypotheses and questions are switched by assumptions."""

    def __init__(self, theory: Theory, sizes: Mapping[str, int], deadline: Deadline | None = None):
        self.theory, self.universe = theory, Universe(sizes)
        self.deadline = deadline or Deadline()
        self.z3 = z3_module()
        self.context = self.z3.Context()  # of its own, so that answers do not depend on other questions
        self.checks = 0
        self._clauses: dict[str, int] = {}
        self._questions: dict[tuple[int, str], str] = {}
        self._declared: dict[str, str] = {}
        self._told: set[str] = set()
        self._begun = ""
        self._breaks: dict[tuple[str, str], bool] = {}
        self._known: dict[Symbol, dict[Cell, Any]] = {}
        self._literals: dict[str, Any] = {}
        self._solver = self._new_solver()
        self._declare_symbols()
        self.cases = self._cases()
        self._after = [self._step(case) for case in self.cases]
        self._say(all_of(self._plain(axiom.formula) for axiom in theory.axioms))

    # ------------------------------------------------------------------------------------------------ questions

    def initially(self, clauses: Sequence[Clause]) -> Structure | None:
        """An initial state in which one of the clauses is false."""
        if not self._begun:
            self._begun = "|?init|"
            self._declare(self._begun, "Bool")
            self._say(any_of((negated(self._begun), self._plain(self.theory.init))))
        model = self._some([self._begun], [self._failing(None, clause) for clause in clauses])
        return None if model is None else self._structure(model, ())

    def broken(self, case: Case, hypotheses: Sequence[Clause], goals: Sequence[Clause]) -> Induction | None:
        """A state in which the hypotheses hold, and after the step some of the goals does not."""
        parts = [self._failing(case, goal) for goal in goals]
        model = self._some([*self._assumed(hypotheses), self._guard(case)], parts)
        return None if model is None else self._induction(model, case, goals[0])

    def _some(self, assumed: Sequence[str], parts: Sequence[str]) -> Any:
        """A model in which the assumptions hold, and one of the parts."""
        wanted = any_of(parts)
        if not wanted.startswith("(or "):
            return self._check([*assumed, wanted])
        question = f"|? {len(self._declared)}|"
        self._declare(question, "Bool")
        self._say(any_of((negated(question), wanted)))
        model = self._check([*assumed, question])
        self._say(negated(question))
        return model

    def core(self, case: Case | None, hypotheses: Sequence[Clause], goal: Formula, name: str) -> list[str] | None:
        """Names of hypotheses that suffice for the goal; none if they do not.

        With a case the goal is about the state before the step (its guard holds); about the state after is `kept`.
        """
        question = self._question(case, name, lambda: self._negated_goal(goal, case, named))
        return self._core(case, hypotheses, question)

    def kept(self, case: Case, hypotheses: Sequence[Clause], clause: Clause) -> list[str] | None:
        """Names of hypotheses with which the step keeps the clause; none if there is a counterexample."""
        return self._core(case, hypotheses, self._failing(case, clause))

    def unmet(self, case: Case | None, hypotheses: Sequence[Clause], goal: Formula, name: str) -> Induction | None:
        """A state in which hypotheses (and guard) hold and the goal does not."""
        question = self._question(case, name, lambda: self._negated_goal(goal, case, named))
        model = self._check([*self._assumed(hypotheses), *([self._guard(case)] if case else []), question])
        return None if model is None else self._induction(model, case, Clause(name, goal, name))

    # ------------------------------------------------------------------------------------------------ texts

    def _core(self, case: Case | None, hypotheses: Sequence[Clause], question: str) -> list[str] | None:
        if question == NO:
            return []
        names = dict(zip(self._assumed(hypotheses), (clause.name for clause in hypotheses), strict=True))
        if self._check([*names, *([self._guard(case)] if case else []), question]) is not None:
            return None
        used = {f"|{literal.decl().name()}|" for literal in self._solver.unsat_core()}
        return [name for literal, name in names.items() if literal in used]

    def _failing(self, case: Case | None, clause: Clause) -> str:
        """The proposition that the clause is false: after the step, or in this state."""
        lookup = named if case is None else self._after[case.number]
        if case is not None and not self._may_break(case, clause):
            return NO
        return self._question(case, clause.name, lambda: self._negated_goal(clause.formula, case, lookup), after=True)

    def _may_break(self, case: Case, clause: Clause) -> bool:
        key = (case.action.name, clause.name)
        if key not in self._breaks:
            self._breaks[key] = changes(clause.formula, case.action)
        return self._breaks[key]

    def _question(self, case: Case | None, name: str, text: Any, *, after: bool = False) -> str:
        key = (-1 if case is None else case.number, f"{'after' if after else 'before'} {name}")
        if key not in self._questions:
            found = text()
            if found not in (YES, NO):
                question = f"|?{key[0]} {len(self._questions)}|"
                self._declare(question, "Bool")
                self._say(any_of((negated(question), found)))
                found = question
            self._questions[key] = found
        return self._questions[key]

    def _negated_goal(self, goal: Formula, case: Case | None, lookup: Lookup) -> str:
        """Some choice of the goal's variables makes it false; one for each pattern of equal elements."""
        variables, body = (goal.vars, goal.body) if isinstance(goal, ForAll) else ((), goal)
        params: Choice = {} if case is None else case.choice
        used = {} if case is None else case.used
        fixed = {var: element for var, element in params.items() if var not in variables}
        return any_of(
            negated(self.universe.formula(body, {**fixed, **choice}, lookup))
            for choice in different(variables, self.universe, used)
        )

    def _plain(self, formula: Formula) -> str:
        return self.universe.formula(formula, {}, named)

    def _assumed(self, clauses: Iterable[Clause]) -> list[str]:
        """Propositions that switch the clauses on, which are written out when they are first used."""
        found, texts = [], []
        for clause in clauses:
            if clause.name not in self._clauses:
                self._clauses[clause.name] = len(self._clauses)
                switch = f"|+{self._clauses[clause.name]}|"
                self._declare(switch, "Bool")
                off = negated(switch)
                texts += [f"(assert {any_of((off, instance))})" for instance in self._instances(clause.formula)]
            found.append(f"|+{self._clauses[clause.name]}|")
        self._tell(texts)
        return found

    def _instances(self, formula: Formula) -> list[str]:
        """Ground instances of a universal formula, without those that are true."""
        if not isinstance(formula, ForAll):
            return [self._plain(formula)]
        texts = (
            self.universe.formula(formula.body, choice, named) for choice in self.universe.choices(formula.vars, {})
        )
        return [text for text in dict.fromkeys(texts) if text != YES]

    def _guard(self, case: Case) -> str:
        return f"|@{case.number}|"

    def _cases(self) -> list[Case]:
        found: list[Case] = []
        for action in self.theory.transitions:
            elements = [var for var in action.params if var.sort != INT]
            numbers: dict[Var, int | str] = {
                var: f"|{action.name}.{var.name}|" for var in action.params if var.sort == INT
            }
            for name in numbers.values():
                self._declare(str(name), "Int")
            for choice in different(elements, self.universe, {}):
                found.append(Case(len(found), action, {**choice, **numbers}))
        return found

    def _step(self, case: Case) -> Lookup:
        """States the guard and names all new values; what the step leaves alone keeps its name."""
        guard = self.universe.formula(case.action.guard, case.choice, named)
        self._declare(self._guard(case), "Bool")
        texts = [f"(assert {any_of((negated(self._guard(case)), guard))})"]
        new: dict[tuple[Symbol, Cell], str] = {}
        for update in case.action.updates:
            for cell in self.universe.cells(update.symbol):
                env: Choice = {**case.choice, **dict(zip(update.formals, cell, strict=True))}
                value = self._value(update.value, env, update.symbol)
                if value != named(update.symbol, cell):
                    new[(update.symbol, cell)] = self._named_value(case, update.symbol, cell, value, texts)
        self._tell(texts)
        return lambda symbol, cell: new.get((symbol, cell)) or named(symbol, cell)

    def _value(self, value: Any, env: Choice, symbol: Symbol) -> str:
        if symbol.result == BOOL:
            return self.universe.formula(value, env, named)
        return self.universe.term(value, env, named)

    def _named_value(self, case: Case, symbol: Symbol, cell: Cell, value: str, texts: list[str]) -> str:
        """A name for a long value, so that clauses stay short."""
        if not value.startswith("(") or (value.startswith("(not |") and symbol.result == BOOL):
            return value
        name = f"|{case.number}' {named(symbol, cell)[1:-1]}|"
        self._declare(name, symbol.result)
        texts.append(f"(assert (= {name} {value}))")
        return name

    # ------------------------------------------------------------------------------------------------ solver

    def _new_solver(self) -> Any:
        symbols = (*self.theory.state, *self.theory.rigid)
        chosen = (var.sort for action in self.theory.transitions for var in action.params)
        whole = INT in chosen or any(symbol.result == INT for symbol in symbols)
        solver = self.z3.Solver(ctx=self.context) if whole else self.z3.SolverFor("QF_FD", self.context)
        solver.set("random_seed", 0)
        return solver

    def _declare_symbols(self) -> None:
        chosen = [symbol for action in self.theory.transitions for symbol in action.chosen]
        for symbol in dict.fromkeys((*self.theory.state, *self.theory.rigid, *chosen)):
            for cell in self.universe.cells(symbol):
                self._declare(named(symbol, cell), symbol.result)

    def _declare(self, name: str, sort: str) -> None:
        self._declared[name] = f"(declare-fun {name} () {sort})"

    def _say(self, text: str) -> None:
        if text != YES:
            self._tell([f"(assert {text})"])

    def _tell(self, texts: Sequence[str]) -> None:
        if texts:
            body = "\n".join(texts)
            names = [name for name in dict.fromkeys(_NAME.findall(body)) if name not in self._told]
            self._told.update(names)
            self._solver.from_string("\n".join((*(self._declared[name] for name in names), body)))

    def _check(self, assumed: Sequence[str]) -> Any:
        """A model in which the assumptions hold, or none."""
        if NO in assumed:
            return None
        self.deadline.look()
        self.checks += 1
        result = self._solver.check(*(self._literal(name) for name in assumed if name != YES))
        if result == self.z3.unknown:
            raise ArithmeticError(self._solver.reason_unknown())
        return self._solver.model() if result == self.z3.sat else None

    def _literal(self, text: str) -> Any:
        """An assumption: a name, or its negation."""
        if text not in self._literals:
            name = negated(text) if text.startswith("(") else text
            constant = self.z3.Bool(name[1:-1], self.context)
            self._literals[text] = constant if name == text else self.z3.Not(constant)
        return self._literals[text]

    # ------------------------------------------------------------------------------------------------ models

    def _structure(self, model: Any, chosen: Iterable[Symbol]) -> Structure:
        relations: dict[str, frozenset[Cell]] = {}
        integers: dict[str, dict[Cell, int]] = {}
        for symbol in (*self.theory.state, *self.theory.rigid, *chosen):
            found = {cell: model[constant] for cell, constant in self._constants(symbol).items()}
            if symbol.result == BOOL:
                relations[symbol.name] = frozenset(cell for cell, value in found.items() if self.z3.is_true(value))
            else:
                integers[symbol.name] = {cell: 0 if value is None else value.as_long() for cell, value in found.items()}
        return Structure(dict(self.universe.sizes), relations, integers)

    def _constants(self, symbol: Symbol) -> dict[Cell, Any]:
        """Z3's constants for a symbol."""
        if symbol not in self._known:
            make = self.z3.Bool if symbol.result == BOOL else self.z3.Int
            cells = self.universe.cells(symbol)
            self._known[symbol] = {cell: make(named(symbol, cell)[1:-1], self.context) for cell in cells}
        return self._known[symbol]

    def _induction(self, model: Any, case: Case | None, broken: Clause) -> Induction:
        if case is None:
            state = self._structure(model, ())
            return Induction(broken, state, None, {}, state)
        before = self._structure(model, case.action.chosen)
        choice = {var: self._number(model, element) for var, element in case.choice.items()}
        return Induction(broken, before, case.action, choice, after(before, case.action, choice))

    def _number(self, model: Any, element: int | str) -> int:
        if isinstance(element, int):
            return element
        value = model[self.z3.Int(element[1:-1], self.context)]
        return 0 if value is None else int(value.as_long())
