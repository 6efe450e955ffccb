"""Schedules taken again by the shortest code that does it: one pass from the start, on the system as it is written."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Claim, System
from kvproto.ir.types import Value


@dataclass(frozen=True)
class Ending:
    """How a schedule ends: "violated", "holds", "refused" or "wrong", at which step, through which states."""

    end: str
    step: int
    states: tuple[State, ...]


def taken(
    system: System,
    claim: Claim,
    init: State,
    calls: tuple[tuple[str, Args], ...],
    put: tuple[int, int, Value] | None = None,
    *,
    leave_out: bool = False,
) -> Ending:
    """Take the steps; with `put` (step, slot, value) a value is put into the state after that step.

    With `leave_out` steps that cannot happen are passed over.
    """
    machine, actions = Machine(system), {action.name: action for action in system.actions}
    state, states = init, [init]
    for number, (name, args) in enumerate(calls, 1):
        try:
            if broken(machine, claim, state):
                return Ending("violated", number - 1, tuple(states))
            if system.constraint is not None and not machine.holds(system.constraint, state):
                return Ending("wrong", number, tuple(states))
            after = machine.step(actions[name].params, actions[name].body, state, args)
        except Fault as fault:
            failed = claim.kind == "assert" and fault.claim == claim.name
            return Ending("violated" if failed else "wrong", number, tuple(states))
        if after is None and leave_out:
            continue
        if after is None:
            return Ending("refused", number, tuple(states))
        if put is not None and put[0] == number:
            after = tuple(put[2] if at == put[1] else value for at, value in enumerate(after))
        state = after
        states.append(state)
    try:
        end = "violated" if broken(machine, claim, state) else "holds"
    except Fault:
        end = "wrong"
    return Ending(end, len(calls), tuple(states))


def broken(machine: Machine, claim: Claim, state: State) -> bool:
    """Whether a state breaks an invariant, or is a deadlock."""
    if claim.kind == "invariant":
        assert claim.cond is not None
        return not machine.holds(claim.cond, state)
    if claim.kind != "deadlock" or (claim.cond is not None and machine.holds(claim.cond, state)):
        return False
    constraint = machine.system.constraint
    if constraint is not None and not machine.holds(constraint, state):
        return False
    for action in machine.system.actions:
        for args in choices(action.params):
            try:
                if machine.step(action.params, action.body, state, args) is not None:
                    return False
            except Fault:
                return False
    return True
