"""Steps a model as plain Python and compares with the meaning of its IR."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.ir.nodes import Action, System
from kvproto.ir.types import ArrayT, EnumT, OptT, RecordT, SetT, Type
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
        for state in states:
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
    native = module.State()
    fill(native, system.state, iter(state), module)
    given = [value(arg, param.type, module) for arg, param in zip(args, action.params, strict=True)]
    try:
        after = step(getattr(module, action.name), native, *given)
    except AssertionError:
        return "assert"
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        return f"fault: {problem}"
    return "not enabled" if after is None else tuple(leaves_of(after, system.state, module))


def same(said: State | str, meant: State | str) -> bool:
    """Alike, whatever Python calls its exceptions."""
    return meant == "fault" if isinstance(said, str) and said.startswith("fault") else said == meant


def value(raw: Any, kind: Type, module: ModuleType) -> Any:
    """A value of the IR as one of plain Python."""
    match kind:
        case OptT(inner):
            return None if raw is None else value(raw, inner, module)
        case SetT(element):
            return {value(item, element, module) for item in raw}
        case EnumT():
            return getattr(module, kind.name)[raw]
        case _:
            return raw


def fill(native: Any, kind: RecordT, values: Any, module: ModuleType) -> None:
    """Set every leaf of a record."""
    for name, inner in kind.fields:
        if isinstance(inner, RecordT):
            fill(getattr(native, name), inner, values, module)
        elif isinstance(inner, ArrayT):
            fill_array(getattr(native, name), inner, values, module)
        else:
            setattr(native, name, value(next(values), inner, module))


def fill_array(native: Any, kind: ArrayT, values: Any, module: ModuleType) -> None:
    """Set every leaf of an array."""
    for key in native._keys:
        if isinstance(kind.element, RecordT):
            fill(native[key], kind.element, values, module)
        elif isinstance(kind.element, ArrayT):
            fill_array(native[key], kind.element, values, module)
        else:
            native[key] = value(next(values), kind.element, module)


def leaves_of(native: Any, kind: Type, module: ModuleType) -> list[Any]:
    """Values of the IR in order of leaves."""
    match kind:
        case RecordT():
            return [leaf for name, inner in kind.fields for leaf in leaves_of(getattr(native, name), inner, module)]
        case ArrayT():
            return [leaf for part in native for leaf in leaves_of(part, kind.element, module)]
        case SetT():
            return [frozenset(plain(item) for item in native)]
        case _:
            return [plain(native)]


def plain(native: Any) -> Any:
    """A value of plain Python as one of the IR."""
    from enum import Enum

    return native.name if isinstance(native, Enum) else native
