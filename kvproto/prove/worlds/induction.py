"""A counterexample to induction as a run of one step in a small world, so that viewers can show it.

It does not begin where the model begins, and whoever shows it has to say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import Action, Claim
from kvproto.ir.types import IntT, LeafT, OptT, Value, fits
from kvproto.lang.bind import Chosen
from kvproto.prove.logic.theory import Structure
from kvproto.prove.lowering.state import Leaf
from kvproto.prove.lowering.system import Lowered
from kvproto.prove.proof import Induction
from kvproto.prove.worlds.instances import Instance, Reader, with_numbers

MOST_CHOICES = 100_000
"""Choices of arguments that are tried for the step."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The world, and the run: from the state before, with the step if there is one."""

    instance: Instance
    run: Counterexample


def shown(lowered: Lowered, chosen: Chosen, stuck: Induction) -> Shown | None:
    """The counterexample in the world of its size; None where it breaks no claim, or is no state of the model."""
    sizes = {sort: size for sort, size in stuck.before.sizes.items() if sort in lowered.theory.sorts}
    numbers = {symbol.spelled: stuck.before.integers[symbol.name][()] for symbol in lowered.source.numbers.values()}
    world = with_numbers(lowered, chosen, {**sizes, **numbers})
    claim = None if world is None else _claim(world, stuck.broken.name)
    if world is None or claim is None:
        return None
    reader, machine = Reader(lowered, world.system), Machine(world.system)
    state = state_of(reader, machine, stuck.before)
    if state is None:
        return None
    if stuck.action is None:
        return Shown(world, Counterexample(claim, state, ()))
    step = _step(machine, claim, state, stuck.action.name)
    return None if step is None else Shown(world, Counterexample(claim, state, (step,)))


def _claim(world: Instance, name: str) -> Claim | None:
    return next((c for c in world.system.claims if c.name == name and c.kind == "invariant"), None)


def _step(machine: Machine, claim: Claim, state: State, name: str) -> tuple[Action, Args] | None:
    """The step of that action that breaks the claim."""
    assert claim.cond is not None
    action = next((a for a in machine.system.actions if a.name == name.split("(")[0].split(",")[0]), None)
    if action is None:
        return None
    for count, args in enumerate(choices(action.params)):
        if count > MOST_CHOICES:
            return None
        try:
            after = machine.step(action.params, action.body, state, args)
            if after is not None and not machine.holds(claim.cond, after):
                return action, args
        except Fault:
            continue
    return None


def state_of(reader: Reader, machine: Machine, structure: Structure) -> State | None:
    """The state that a structure describes; None where it does not fit the types of the model."""
    values: list[Value] = []
    for (leaf, args), (_, kind) in zip(reader.cells, machine.leaves, strict=True):
        value = _value(leaf, args, kind, structure)
        if not fits(value, kind):
            return None
        values.append(value)
    return tuple(values)


def _value(leaf: Leaf, args: tuple[int, ...], kind: LeafT, structure: Structure) -> Value:
    relations: Mapping[str, frozenset[tuple[int, ...]]] = structure.relations
    match leaf.kind:
        case "bool":
            return args in relations[leaf.symbol.name]
        case "finite":
            return next((v for v, symbol in leaf.symbols.items() if args in relations[symbol.name]), None)
        case "members":
            found = [v for v, symbol in leaf.symbols.items() if args in relations[symbol.name]]
            return frozenset(v for v in found if v is not None and not isinstance(v, frozenset))
        case "sort":
            return next((cell[-1] for cell in sorted(relations[leaf.symbol.name]) if cell[:-1] == args), None)
        case "set":
            return frozenset(cell[-1] for cell in relations[leaf.symbol.name] if cell[:-1] == args)
        case "int":
            inner = kind.inner if isinstance(kind, OptT) else kind
            assert isinstance(inner, IntT)
            there = not leaf.optional or args in relations[leaf.symbols[None].name]
            return structure.integers[leaf.symbol.name][args] if there else None
