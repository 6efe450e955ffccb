"""How runs begin: init functions on the reference evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.engine.evaluate import Args, Fault, Machine, NotEnabled, Run, State, choices
from kvproto.ir.nodes import Action, Init, Param, System
from kvproto.ir.types import label


class InitFault(Exception):
    """An init function goes wrong; `state` is what it had made by then."""

    def __init__(self, fault: Fault, state: State) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.state = state


def starts(system: System) -> Iterator[tuple[Init, Args]]:
    """Every choice of an init function and its arguments."""
    for init in system.inits:
        for args in choices(init.params):
            yield init, args


def run_init(machine: Machine, init: Init, args: Args) -> State | None:
    """The initial state that an init function makes, None if it refuses; raises InitFault."""
    run = Run(machine, machine.zero(), dict(zip((p.name for p in init.params), args, strict=True)))
    try:
        run.block(init.body)
    except NotEnabled:
        return None
    except Fault as fault:
        raise InitFault(fault, tuple(run.state)) from None
    return tuple(run.state)


def call(action: Action, args: Args) -> str:
    """An action instance as text: `land(A, 2)`."""
    return called(action.name, action.params, args)


def called(name: str, params: Sequence[Param], args: Args) -> str:
    """A call as text, arguments as people write them."""
    return f"{name}({', '.join(str(label(arg, param.type)) for param, arg in zip(params, args, strict=True))})"
