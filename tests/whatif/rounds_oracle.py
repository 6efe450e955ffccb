"""Runs without end by definition: a schedule unrolled for many rounds, fairness and claims looked at state by state."""

from __future__ import annotations

from itertools import pairwise

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Claim, Fairness, System
from kvproto.ir.types import Value

ROUNDS = 40
"""More than the small models need until a state comes again."""

Calls = tuple[tuple[str, Args], ...]


def ending(
    system: System,
    claim: Claim,
    args: Args,
    init: State,
    calls: Calls,
    loop: int,
    put: tuple[int, int, Value] | None = None,
) -> str:
    """ "refused", "violated" or "holds"."""
    machine, actions = Machine(system), {action.name: action for action in system.actions}
    order = list(range(1, len(calls) + 1)) + [*range(loop + 1, len(calls) + 1)] * ROUNDS
    states, boundaries = [init], [0] if loop == 0 else []
    for done, number in enumerate(order, 1):
        name, given = calls[number - 1]
        after = machine.step(actions[name].params, actions[name].body, states[-1], given)
        if after is None:
            return "refused"
        if put is not None and put[0] == number:
            after = tuple(put[2] if at == put[1] else value for at, value in enumerate(after))
        states.append(after)
        if (done >= len(calls) and number == len(calls)) or done == loop:
            boundaries.append(done)
    if loop == len(calls):
        start, end = len(calls), len(calls)
    else:
        start, end = next((i, j) for j in boundaries for i in boundaries if i < j and states[i] == states[j])
    cycle = states[start : end + 1]
    taken = {calls[order[at] - 1] for at in range(start, end)}
    fair = all(is_fair(machine, fairness, cycle, taken, put, calls) for fairness in system.fairness)
    return "violated" if fair and breaks(machine, claim, args, states[: end + 1], start) else "holds"


def is_fair(
    machine: Machine,
    fairness: Fairness,
    cycle: list[State],
    taken: set[tuple[str, Args]],
    put: tuple[int, int, Value] | None,
    calls: Calls,
) -> bool:
    """Whether every group of instances is treated fairly on the cycle."""
    groups: dict[Args, list[tuple[str, Args]]] = {}
    for action in machine.system.actions:
        if action.name in fairness.actions:
            at = [i for name in fairness.per for i, p in enumerate(action.params) if p.name == name]
            for args in choices(action.params):
                groups.setdefault(tuple(args[i] for i in at), []).append((action.name, args))
    for group in groups.values():
        if any(step(machine, call, one) == other != one for one, other in pairwise(cycle) for call in group):
            continue
        if put is not None and calls[put[0] - 1] in taken and calls[put[0] - 1] in group:
            continue
        enabled = [any(step(machine, call, state) not in (None, state) for call in group) for state in cycle]
        if any(enabled) if fairness.kind == "strong" else all(enabled):
            return False
    return True


def step(machine: Machine, call: tuple[str, Args], state: State) -> State | None:
    """The state after a step."""
    action = next(action for action in machine.system.actions if action.name == call[0])
    try:
        return machine.step(action.params, action.body, state, call[1])
    except Fault:
        return None


def breaks(machine: Machine, claim: Claim, args: Args, states: list[State], start: int) -> bool:
    """Whether the run, from `states[start]` on for ever, breaks the claim."""
    env = dict(zip((param.name for param in claim.params), args, strict=True))
    assert claim.cond is not None
    goal = [machine.holds(claim.cond, state, env) for state in states]
    if claim.kind == "eventually":
        return not any(goal)
    if claim.kind == "always_eventually":
        return not any(goal[start:])
    if claim.kind == "eventually_always":
        return not all(goal[start:])
    assert claim.trigger is not None
    trigger = [machine.holds(claim.trigger, state, env) for state in states]
    # What is triggered inside of the cycle is triggered again in every round.
    return any(trigger[at] and not any(goal[min(at, start) :]) for at in range(len(states)))
