"""Compares single steps from any states, reachable or not: the lowering with the reference evaluator."""

from __future__ import annotations

import random
from typing import Any

from searching import tiers

from kvproto.diagnostics import Loc
from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.evaluate import Fault, Machine, State, choices
from kvproto.engine.lower import Lowered
from kvproto.engine.tier0 import PythonExplorer, print_program
from kvproto.ir.nodes import System
from kvproto.ir.types import LeafT, OptT, SetT, Value, values_of

Outcome = State | bool | tuple[str, str, Loc] | None
"""A successor, the value of a condition, a fault (claim, code, place), or None for a false guard."""


def any_states(system: System, count: int, seed: int) -> list[State]:
    """States of the right types; some are near the zero state, where guards are likelier to hold."""
    chance = random.Random(seed)
    machine = Machine(system)
    zero = machine.zero()
    return [
        tuple(
            old if chance.random() < keep else any_value(kind, chance)
            for old, (_, kind) in zip(zero, machine.leaves, strict=True)
        )
        for keep in (at % 4 / 4 for at in range(count))
    ]


def any_value(kind: LeafT, chance: random.Random) -> Value:
    """A value of a leaf."""
    match kind:
        case OptT(inner):
            return chance.choice([None, *values_of(inner)])
        case SetT(element):
            return frozenset(v for v in values_of(element) if chance.random() < 0.5)
        case _:
            return chance.choice(values_of(kind))


def same_outcomes(system: System, lowered: Lowered, states: list[State]) -> None:
    """Assert that every action and claim does in every one of the states what the reference evaluator says."""
    names: dict[str, Any] = {}
    exec(compile(print_program(lowered.program), "<program>", "exec"), names)
    machine = Machine(system)
    numbers = {(action.name, args): at for at, (action, args) in enumerate(lowered.instances)}
    for state in states:
        packed = lowered.layout.pack(state)
        said = dict(names["expand"](packed))
        for action in system.actions:
            for args in choices(action.params):
                number = numbers.get((action.name, args))
                got = None if number is None or number not in said else outcome(lowered, said[number])
                meant = by_reference(machine, action.params, action.body, state, args)
                assert got == meant, f"{action.name}{args} from {state}: {got} instead of {meant}"
        for claim, holds in zip(lowered.invariants, names["questions"], strict=False):
            same_condition(machine, lowered, claim.name, state, holds(packed))
        if lowered.deadlock is not None and lowered.deadlock.cond is not None:
            terminal = names["questions"][len(lowered.invariants)]
            same_condition(machine, lowered, lowered.deadlock.name, state, terminal(packed))


def same_condition(machine: Machine, lowered: Lowered, name: str, state: State, got: int) -> None:
    """Assert that a condition has the value that the reference evaluator gives it."""
    cond = machine.system.claim(name).cond
    assert cond is not None
    meant: Outcome
    try:
        meant = machine.holds(cond, state)
    except Fault as fault:
        meant = (fault.claim, fault.code, fault.node.loc)
    said = bool(got) if got >= 0 else outcome(lowered, got)
    assert said == meant, f"{name} in {state}: {said} instead of {meant}"


def outcome(lowered: Lowered, answer: int) -> Outcome:
    """The meaning of what a printed action answers."""
    if answer >= 0:
        return lowered.layout.unpack(answer)
    info = lowered.faults[-2 - answer]
    return info.claim, info.code, info.loc


def by_reference(machine: Machine, params: Any, body: Any, state: State, args: Any) -> Outcome:
    """The same from the reference evaluator."""
    try:
        return machine.step(params, body, state, args)
    except Fault as fault:
        return fault.claim, fault.code, fault.node.loc


def same_level(lowered: Lowered, states: list[State]) -> None:
    """Assert that the tiers agree on one step from all of the states at once."""
    seen = []
    for tier in tiers():
        explorer: PythonExplorer | CExplorer = tier(lowered.program)
        explorer.start(lowered.layout.pack(state) for state in states)
        explorer.advance(explorer.states())
        found = [explorer.packed(at) for at in range(explorer.states())]
        verdicts = [explorer.violation(at) for at in range(len(lowered.invariants))]
        seen.append((found, verdicts, explorer.faults(), explorer.fired(), explorer.deadlock(), explorer.transitions()))
    assert all(one == seen[0] for one in seen)
