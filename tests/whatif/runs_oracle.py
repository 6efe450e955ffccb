"""All shortest runs that break a claim, one after the other, from the graph of the reference checker."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.reference import Explored
from kvproto.engine.starting import call
from kvproto.ir.nodes import Action, Claim, System

Steps = tuple[tuple[Action, Args], ...]


def key(steps: Steps) -> tuple[int, tuple[str, ...]]:
    """Changes of machine, and the text."""
    changed = sum(one.machine != other.machine for (one, _), (other, _) in pairwise(steps))
    return changed, tuple(call(action, args) for action, args in steps)


def least(system: System, claim: Claim, found: Explored, most: int) -> tuple[State, Steps] | None:
    """The least of all shortest runs; None if there are more than `most`."""
    runs = []
    for run in shortest_runs(system, claim, found):
        runs.append(run)
        if len(runs) > most:
            return None
    number = {state: at for at, state in enumerate(found.order)}
    return min(runs, key=lambda run: (key(run[1]), number[run[0]]))


def shortest_runs(system: System, claim: Claim, found: Explored) -> Iterator[tuple[State, Steps]]:
    """Every run with as many steps as the first counterexample of the reference checker."""
    state, last = found.violated[claim.name]
    length = len(found.path(state)) + (last is not None)
    machine = Machine(system)
    starts = [state for state, link in found.parent.items() if link is None]
    for start in starts:
        for steps in _onward(machine, claim, start, length):
            yield start, steps


def _onward(machine: Machine, claim: Claim, state: State, left: int) -> Iterator[Steps]:
    if left == 0:
        if _broken(machine, claim, state):
            yield ()
        return
    constraint = machine.system.constraint
    if constraint is not None and not machine.holds(constraint, state):
        return
    for action in machine.system.actions:
        for args in choices(action.params):
            try:
                after = machine.step(action.params, action.body, state, args)
            except Fault as fault:
                if claim.kind == "assert" and fault.claim == claim.name and left == 1:
                    yield ((action, args),)
                continue
            if after is not None:
                for rest in _onward(machine, claim, after, left - 1):
                    yield ((action, args), *rest)


def _broken(machine: Machine, claim: Claim, state: State) -> bool:
    if claim.kind == "invariant":
        return claim.cond is not None and not machine.holds(claim.cond, state)
    constraint = machine.system.constraint
    if claim.kind == "assert" or (constraint is not None and not machine.holds(constraint, state)):
        return False
    if any(_moves(machine, action, args, state) for action, args in _all(machine.system)):
        return False
    return claim.cond is None or not machine.holds(claim.cond, state)


def _all(system: System) -> Iterator[tuple[Action, Args]]:
    return ((action, args) for action in system.actions for args in choices(action.params))


def _moves(machine: Machine, action: Action, args: Args, state: State) -> bool:
    try:
        return machine.step(action.params, action.body, state, args) is not None
    except Fault:
        return True
