"""Steps a model as plain Python and compares with the meaning of its IR."""

from __future__ import annotations

from types import ModuleType

from lang_values import arguments, flat, parameter_kinds, record_of

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Action, System
from kvproto.lang import step
from kvproto.lang.bind import choose
from kvproto.lang.binding import use

SAMPLE = 12
"""States from which every action is tried."""


def sampled(states: list[State]) -> list[State]:
    """Some states, evenly spread."""
    return states[:: max(1, len(states) // SAMPLE)]


def same_steps(module: ModuleType, system: System, states: list[State]) -> None:
    """Assert that plain Python does what the reference does, from any of the states."""
    machine = Machine(system)
    with use(choose(module.model).binding):
        for any_state in states:
            # Slots of a queue that nobody stands in are zero in every state that there can be.
            state = tuple(flat(system.state, record_of(system.state, module.State, any_state)))
            for action in system.actions:
                for args in choices(action.params):
                    meant = by_reference(machine, action, state, args)
                    said = by_python(module, system, action, state, args)
                    assert same(said, meant), f"{action.name}{args} from {state}: Python {said}, reference {meant}"


def by_reference(machine: Machine, action: Action, state: State, args: Args) -> State | str:
    """The successor, or what is in its way."""
    try:
        after = machine.step(action.params, action.body, state, args)
    except Fault as fault:
        return "assert" if fault.claim else "fault"
    return "not enabled" if after is None else after


def by_python(module: ModuleType, system: System, action: Action, state: State, args: Args) -> State | str:
    """The same by running the model's own functions."""
    native = record_of(system.state, module.State, state)
    fn = getattr(module, action.name)
    try:
        after = step(fn, native, *arguments(action.params, args, parameter_kinds(fn)))
    except AssertionError:
        return "assert"
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        return f"fault: {problem}"
    return "not enabled" if after is None else tuple(flat(system.state, after))


def same(said: State | str, meant: State | str) -> bool:
    """Alike, whatever Python calls its exceptions."""
    return meant == "fault" if isinstance(said, str) and said.startswith("fault") else said == meant
