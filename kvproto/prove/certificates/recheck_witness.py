"""Witnesses: runs of small instances that show that a proof is not about nothing, taken again step by step."""

from __future__ import annotations

from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.ir.nodes import Action, Param, System
from kvproto.ir.types import Value, label, show_path, values_of, zero_of
from kvproto.prove.certificates.codec import Json, text
from kvproto.prove.certificates.ground import Refused


def replay(system: System, witness: Json) -> str:
    """Take the run on the reference evaluator; the claim that it shows is returned.  Raises `Refused`."""
    name = text(witness["claim"])
    claim = next((c for c in system.claims if c.kind == "sometimes" and c.name == name), None)
    if claim is None or claim.cond is None:
        raise Refused(f"there is no `sometimes` {name}")
    machine = Machine(system)
    state = _start(machine, witness["start"], name)
    try:
        for number, (action, *labels) in enumerate(witness["steps"], 1):
            state = _step(machine, state, _action(system, text(action)), labels, f"step {number} of {name}")
        shown = machine.holds(claim.cond, state)
    except Fault as fault:
        raise Refused(f"the run to {name} goes wrong: {fault}") from None
    if not shown:
        raise Refused(f"the run to {name} does not get there")
    return name


def beginning(machine: Machine, state: State) -> dict[str, Json]:
    """An initial state: what is not zero in it, by path."""
    root = machine.system.state
    return {
        show_path(path, root): label(value, kind)
        for value, (path, kind) in zip(state, machine.leaves, strict=True)
        if value != zero_of(kind)
    }


def _start(machine: Machine, wanted: Json, name: str) -> State:
    for state in machine.initial():
        if beginning(machine, state) == wanted:
            return state
    raise Refused(f"the run to {name} does not begin in an initial state")


def _step(machine: Machine, state: State, action: Action, labels: list[Json], where: str) -> State:
    if len(labels) != len(action.params):
        raise Refused(f"{where}: {action.name} takes {len(action.params)} arguments")
    args = tuple(_argument(param, shown, where) for param, shown in zip(action.params, labels, strict=True))
    following = machine.step(action.params, action.body, state, args)
    if following is None:
        raise Refused(f"{where}: {action.name} cannot happen")
    return following


def _action(system: System, name: str) -> Action:
    found = next((action for action in system.actions if action.name == name), None)
    if found is None:
        raise Refused(f"there is no action {name}")
    return found


def _argument(param: Param, shown: Json, where: str) -> Value:
    for value in values_of(param.type):
        if (told := label(value, param.type)) == shown and type(told) is type(shown):
            return value
    raise Refused(f"{where}: {param.name} cannot be {shown!r}")
