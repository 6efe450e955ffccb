"""Forced steps end as the reference evaluator says, and what is said to keep a run from its goal does."""

from __future__ import annotations

from itertools import islice

import pytest
from whatif_samples import WRONG, found_by

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Action, System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace.blocked import Blocked, blocked
from kvproto.trace.forced import attempt

MODELS = ["blocks.metadata_rows", "blocks.timers", "blocks.ranks", "kv_transfer"]
STATES = 60
LASSOS = [name for name in WRONG if WRONG[name].about_runs]


def some_states(system: System) -> list[State]:
    """The first states of a breadth-first search."""
    machine = Machine(system)
    found = dict.fromkeys(islice(machine.initial(), STATES))
    queue = list(found)
    while queue and len(found) < STATES:
        state = queue.pop(0)
        for action in system.actions:
            for args in choices(action.params):
                after = taken(machine, action, args, state)
                if isinstance(after, tuple) and after not in found:
                    found[after] = None
                    queue.append(after)
    return list(found)


def taken(machine: Machine, action: Action, args: Args, state: State) -> State | str:
    """The next state, or how the step ends."""
    try:
        after = machine.step(action.params, action.body, state, args)
    except Fault as fault:
        return "fails" if fault.claim else "idle"
    if after is None:
        return "refused"
    return "idle" if after == state else after


@pytest.mark.parametrize("target", MODELS)
def test_it_ends_as_the_step_does(target: str) -> None:
    """What refuses it is false there; and unless it is cut, the forced state is that of a step that is possible."""
    model = find(target).model
    system = build(model, choose(model))
    machine, ends = Machine(system), set[str]()
    for state in some_states(system):
        for action in system.actions:
            for args in choices(action.params):
                tried = attempt(system, action, args, state)
                after = taken(machine, action, args, state)
                ends.add(tried.end)
                assert tried.end == ("possible" if isinstance(after, tuple) else after)
                assert bool(tried.unmet) == (tried.end in ("refused", "fails"))
                assert not any(machine.holds(unmet.expr, unmet.state, unmet.env) for unmet in tried.unmet)
                if isinstance(after, tuple):
                    assert (after, False) == (tried.after, tried.cut)
    assert {"refused", "possible"} <= ends


def found_blocked(name: str) -> tuple[System, tuple[State, ...], Blocked]:
    """What keeps the run of a wrong preset from its goal."""
    subject = found_by(name)
    return subject.system, subject.states, blocked(subject.system, subject.run())


@pytest.mark.parametrize("name", LASSOS)
def test_every_hurdle_is_one(name: str) -> None:
    """In the state that is named the step cannot happen, and it would have written what is said."""
    system, states, found = found_blocked(name)
    machine = Machine(system)

    assert found.hurdles
    for hurdle in found.hurdles:
        tried = hurdle.tried
        end = taken(machine, tried.action, tried.args, states[hurdle.state])
        assert end == tried.end or (tried.end == "possible" and not hurdle.fair)
        assert hurdle.paths
        assert (hurdle.unmet is None) == (tried.end == "possible")
    for hurdle, behind in zip(found.hurdles, found.hurdles[1:], strict=False):
        assert hurdle.unmet is not None
        assert set(behind.paths) <= set(hurdle.unmet.reads)


@pytest.mark.parametrize("name", LASSOS)
def test_what_nothing_changes_stays(name: str) -> None:
    """In no state of the cycle a step leads to another value."""
    system, states, found = found_blocked(name)
    machine, loop = Machine(system), found_by(name).trace.loop

    for state in states[loop:]:
        for action in system.actions:
            for args in choices(action.params):
                after = taken(machine, action, args, state)
                if isinstance(after, tuple):
                    assert all(after[machine.slot[path]] == state[machine.slot[path]] for path in found.final)
