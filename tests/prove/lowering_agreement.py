"""Compares the steps of a model with those of its theory, state by state: the evaluator against the formulas."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from kvproto.engine.evaluate import Fault, Machine, State, choices
from kvproto.ir.nodes import System
from kvproto.ir.types import IntT, OptT, values_of
from kvproto.prove.logic.evaluate import after, holds
from kvproto.prove.logic.formula import INT, Var
from kvproto.prove.logic.theory import Structure, Transition
from kvproto.prove.lowering.system import Lowered
from kvproto.prove.worlds.instances import Reader

Contents = tuple[object, ...]


@dataclass
class Compared:
    """How much was compared, so that no test passes for want of states."""

    states: int = 0
    successors: int = 0
    faults: int = 0
    doubts: int = 0
    """States and actions for which an obligation says that the step may go wrong."""


def agree(lowered: Lowered, system: System, states: Sequence[State], *, exact: bool = True) -> Compared:
    """Assert that model and theory take the same steps; where not `exact`, that the theory takes those of the model."""
    reader, machine, compared = Reader(lowered, system), Machine(system), Compared()
    for state in states:
        structure = reader.structure(state)
        compared.states += 1
        for action in system.actions:
            steps, faults = _model_steps(machine, reader, action.name, state)
            safe, doubtful, wrong = theory_steps(lowered, structure, action.name)
            assert steps <= safe | doubtful, f"{action.name} has a step that its formulas do not have"
            if exact:
                assert safe <= steps, f"the formulas of {action.name} have a step that it does not have"
            assert wrong or not faults, f"{action.name} goes wrong, and no obligation says so"
            compared.successors += len(steps)
            compared.faults += faults
            compared.doubts += wrong
        _claims_agree(lowered, machine, structure, state)
    return compared


def _claims_agree(lowered: Lowered, machine: Machine, structure: Structure, state: State) -> None:
    for clause in lowered.theory.claims:
        claim = machine.system.claim(clause.name)
        assert claim.cond is not None
        try:
            expected = machine.holds(claim.cond, state)
        except Fault:
            expected = False
        assert expected == holds(clause.formula, structure), clause.name
    for clause in lowered.theory.typing:
        assert holds(clause.formula, structure), clause.name


def _model_steps(machine: Machine, reader: Reader, name: str, state: State) -> tuple[set[Contents], int]:
    action = next(action for action in machine.system.actions if action.name == name)
    found: set[Contents] = set()
    faults = 0
    for args in choices(action.params):
        try:
            new = machine.step(action.params, action.body, state, args)
        except Fault:
            faults += 1
            continue
        if new is not None:
            found.add(contents(reader.structure(new)))
    return found, faults


def theory_steps(lowered: Lowered, structure: Structure, name: str) -> tuple[set[Contents], set[Contents], bool]:
    """Successors of a step that goes right, those of one that may go wrong, and whether one may."""
    steps = [t for t in lowered.theory.transitions if t.name.split("(")[0].split(",")[0] == name]
    moves = [(step, world, choice) for step in steps for world, choice in taken(step, structure)]
    wrong = {
        _choice(*move) for move in moves if any(not holds(duty.formula, *move[1:]) for duty in move[0].obligations)
    }
    safe: set[Contents] = set()
    doubtful: set[Contents] = set()
    for move in moves:
        step, world, choice = move
        if ", up to guard" not in step.name:
            new = contents(without(after(world, step, choice), step))
            (doubtful if _choice(*move) in wrong else safe).add(new)
    return safe, doubtful, bool(wrong)


def _choice(step: Transition, world: Structure, choice: dict[Var, int]) -> tuple[object, ...]:
    """What the step chooses, the same for the step and for those that only check what comes before a guard."""
    relations = tuple(world.relations[symbol.name] for symbol in step.chosen)
    return step.name.split(", up to guard")[0], tuple(choice[var] for var in step.params), relations


def taken(step: Transition, structure: Structure) -> Iterator[tuple[Structure, dict[Var, int]]]:
    """All choices with which the step is taken, with the structure that has its chosen relations."""
    ranges = [range(-1, 8) if var.sort == INT else range(structure.sizes[var.sort]) for var in step.params]
    for world in _with_chosen(step, structure):
        for values in product(*ranges):
            choice = dict(zip(step.params, values, strict=True))
            if holds(step.guard, world, choice):
                yield world, choice


def _with_chosen(step: Transition, structure: Structure) -> Iterator[Structure]:
    cells = [list(product(*(range(structure.sizes[sort]) for sort in symbol.args))) for symbol in step.chosen]
    for picked in product(*(range(1 << len(some)) for some in cells)):
        relations = {
            symbol.name: frozenset(cell for at, cell in enumerate(some) if mask >> at & 1)
            for symbol, some, mask in zip(step.chosen, cells, picked, strict=True)
        }
        yield replace(structure, relations={**structure.relations, **relations})


def without(structure: Structure, step: Transition) -> Structure:
    """The structure without the relations that the step chose."""
    names = {symbol.name for symbol in step.chosen}
    return replace(structure, relations={k: v for k, v in structure.relations.items() if k not in names})


def contents(structure: Structure) -> Contents:
    """What a structure holds, to be compared.

    A number that an optional does not have is any number.
    """
    relations = tuple(sorted((name, tuple(sorted(cells))) for name, cells in structure.relations.items()))
    integers = []
    for name, values in sorted(structure.integers.items()):
        there = structure.relations.get(f"{name}.some")
        known = values.items() if there is None else [(c, v) for c, v in values.items() if c in there]
        integers.append((name, tuple(sorted(known))))
    return relations, tuple(integers)


def random_states(system: System, seed: int, count: int) -> list[State]:
    """States that fit the types, reachable or not."""
    source, machine = random.Random(seed), Machine(system)
    return [tuple(source.choice(_values(kind)) for _, kind in machine.leaves) for _ in range(count)]


def _values(kind: object) -> tuple[object, ...]:
    inner = kind.inner if isinstance(kind, OptT) else kind
    if isinstance(inner, IntT):
        assert inner.lo is not None and inner.hi is not None
        some = tuple(range(inner.lo, min(inner.hi, inner.lo + 6) + 1))
        return (None, *some) if isinstance(kind, OptT) else some
    return values_of(kind)  # type: ignore[arg-type]
