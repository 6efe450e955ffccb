"""What a system can do, as a graph of states: for telling two systems apart by more than their verdicts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from kvproto.engine.evaluate import Fault, Machine, State, choices
from kvproto.ir.nodes import System

Steps = dict[State, set[State]]
"""Every reachable state, with the states that one step leads to.  A step that changes nothing is no step."""

Likeness = Literal["same", "shortcuts", "more"]
"""The same steps; steps that only do at once what can be done in several; or states that were not reachable before."""


def steps_of(system: System) -> Steps:
    """The reachable graph, by the reference evaluator; steps that fail are left out."""
    machine = Machine(system)
    instances = [(action, args) for action in system.actions for args in choices(action.params)]

    def after(state: State) -> Iterator[State]:
        if system.constraint is not None and not machine.holds(system.constraint, state):
            return
        for action, args in instances:
            try:
                found = machine.step(action.params, action.body, state, args)
            except Fault:
                continue
            if found is not None and found != state:
                yield found

    graph: Steps = {}
    waiting = deque(machine.initial())
    while waiting:
        state = waiting.popleft()
        if state not in graph:
            graph[state] = set(after(state))
            waiting.extend(graph[state])
    return graph


def likeness(steps: Steps, more: Steps) -> Likeness:
    """How `more`, which has all `steps` and perhaps others, differs from them."""
    if steps == more:
        return "same"
    if steps.keys() != more.keys():
        return "more"
    new = {state: after - steps[state] for state, after in more.items()}
    return "shortcuts" if all(after <= _reached(steps, state) for state, after in new.items() if after) else "more"


def _reached(steps: Steps, state: State) -> set[State]:
    seen: set[State] = set()
    waiting = [state]
    while waiting:
        for after in steps[waiting.pop()] - seen:
            seen.add(after)
            waiting.append(after)
    return seen
