"""Z3's reading of a theory takes the steps that the evaluator takes: the transition relation over fixed sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from lowering_agreement import Contents, contents

from kvproto.engine.evaluate import Machine, choices
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
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
)
from kvproto.prove.logic.theory import Structure, Theory, Transition
from kvproto.prove.lowering.system import lower
from kvproto.prove.worlds.instances import Reader, reachable

z3: Any = pytest.importorskip("z3", reason="z3-solver is not installed: pip install 'kvproto[prove]'")


class Encoder:
    """Formulas over sorts of fixed sizes as Z3 terms; quantifiers are Z3's own."""

    def __init__(self, theory: Theory, sizes: dict[str, int]) -> None:
        self.theory, self.sizes = theory, sizes
        self.context = z3.Context()
        self.elements: dict[str, list[Any]] = {}
        self.sorts: dict[str, Any] = {INT: z3.IntSort(self.context)}
        for name, size in sizes.items():
            names = [f"{name}!{at}" for at in range(size)]
            self.sorts[name], self.elements[name] = z3.EnumSort(name, names, ctx=self.context)

    def function(self, symbol: Symbol, prime: str = "") -> Any:
        """The symbol before the step, or after it."""
        result = z3.BoolSort(self.context) if symbol.result == BOOL else self.sorts[INT]
        return z3.Function(symbol.name + prime, *(self.sorts[sort] for sort in symbol.args), result)

    def var(self, var: Var) -> Any:
        """A variable as a constant, which quantifiers bind."""
        return z3.Const(f"{var.name}:{var.sort}", self.sorts[var.sort])

    def term(self, node: Formula | Term) -> Any:
        """A formula or a term."""
        match node:
            case Truth():
                return z3.BoolVal(node.value, ctx=self.context)
            case Var():
                return self.var(node)
            case Num():
                return z3.IntVal(node.value, ctx=self.context)
            case Atom() | Apply():
                return self.function(node.symbol)(*map(self.var, node.args))
            case Same():
                return self.var(node.left) == self.var(node.right)
            case Plus():
                return self.term(node.left) + self.term(node.right)
            case Times():
                return node.factor * self.term(node.term)
            case Choose():
                return z3.If(self.term(node.test), self.term(node.then), self.term(node.other))
            case Compare():
                left, right = self.term(node.left), self.term(node.right)
                return left < right if node.op == "<" else left <= right if node.op == "<=" else left == right
            case Not():
                return z3.Not(self.term(node.body))
            case And():
                return z3.And(*map(self.term, node.parts), self.true)
            case Or():
                return z3.Or(*map(self.term, node.parts), z3.Not(self.true))
            case ForAll() | Exists():
                bind = z3.ForAll if isinstance(node, ForAll) else z3.Exists
                return bind([self.var(var) for var in node.vars], self.term(node.body))

    @property
    def true(self) -> Any:
        """Truth, so that no conjunction is empty."""
        return z3.BoolVal(True, ctx=self.context)

    def cells(self, symbol: Symbol) -> Iterator[tuple[int, ...]]:
        """All arguments of a symbol."""
        return product(*(range(self.sizes[sort]) for sort in symbol.args))

    def at(self, symbol: Symbol, cell: tuple[int, ...], prime: str = "") -> Any:
        """The symbol at elements."""
        args = [self.elements[sort][at] for sort, at in zip(symbol.args, cell, strict=True)]
        return self.function(symbol, prime)(*args)

    def state(self, structure: Structure) -> Iterator[Any]:
        """The state before, and rigid symbols, as they are."""
        for symbol in (*self.theory.state, *self.theory.rigid):
            for cell in self.cells(symbol):
                if symbol.result == INT:
                    yield self.at(symbol, cell) == structure.integers[symbol.name][cell]
                else:
                    yield self.at(symbol, cell) == (cell in structure.relations[symbol.name])

    def step(self, step: Transition) -> Iterator[Any]:
        """The guard, and every symbol after the step."""
        yield self.term(step.guard)
        updates = {update.symbol: update for update in step.updates}
        for symbol in self.theory.state:
            update = updates.get(symbol)
            formals = update.formals if update else tuple(Var(f"a{at}", s) for at, s in enumerate(symbol.args))
            args = [self.var(formal) for formal in formals]
            new = self.term(update.value) if update else self.function(symbol)(*args)
            same = self.function(symbol, "'")(*args) == new
            yield z3.ForAll(args, same) if args else same

    def read(self, model: Any, structure: Structure) -> Structure:
        """The state after the step, as a model has it."""
        relations, integers = dict(structure.relations), dict(structure.integers)
        for symbol in self.theory.state:
            new = {cell: self.at(symbol, cell, "'") for cell in self.cells(symbol)}
            values = {cell: model.eval(term, model_completion=True) for cell, term in new.items()}
            if symbol.result == INT:
                integers[symbol.name] = {cell: value.as_long() for cell, value in values.items()}
            else:
                relations[symbol.name] = frozenset(cell for cell, value in values.items() if z3.is_true(value))
        return Structure(structure.sizes, relations, integers)


def successors(theory: Theory, structure: Structure, step: Transition) -> set[Contents]:
    """All states after the step that Z3 finds."""
    encoder = Encoder(theory, dict(structure.sizes))
    solver = z3.Solver(ctx=encoder.context)
    solver.add(*encoder.state(structure), *encoder.step(step))
    found: set[Contents] = set()
    while solver.check() == z3.sat:
        after = encoder.read(solver.model(), structure)
        assert contents(after) not in found
        found.add(contents(after))
        solver.add(z3.Or(*(z3.Not(fact) for fact in _facts(encoder, after))))
    return found


def _facts(encoder: Encoder, after: Structure) -> Iterator[Any]:
    for symbol in encoder.theory.state:
        for cell in encoder.cells(symbol):
            if symbol.result == INT:
                yield encoder.at(symbol, cell, "'") == after.integers[symbol.name][cell]
            else:
                yield encoder.at(symbol, cell, "'") == (cell in after.relations[symbol.name])


@pytest.mark.parametrize("name", ["proofs.late@copies-ignored", "proofs.incident@tokens", "proofs.timed@short"])
def test_z3_takes_the_steps_of_the_model(name: str) -> None:
    target = find(name)
    chosen = choose(target.model, preset=target.preset)
    lowered = lower(target.model, chosen)
    system = build(target.model, chosen)
    reader, machine = Reader(lowered, system), Machine(system)
    states = reachable(system, 300)
    compared = 0
    for state in states[:: max(1, len(states) // 4)]:
        structure = reader.structure(state)
        for action in system.actions:
            steps = [t for t in lowered.theory.transitions if t.name == action.name]
            new = [machine.step(action.params, action.body, state, args) for args in choices(action.params)]
            expected = {contents(reader.structure(one)) for one in new if one is not None}
            found = {one for step in steps for one in successors(lowered.theory, structure, step)}
            assert expected == found, action.name
            compared += len(found)

    assert compared > 5
