"""Switches that are on and that a run does not need: the same steps break the claim with all of them off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Machine
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen
from kvproto.lang.binding import Binding, Flag
from kvproto.lang.frontend.variants import Variants
from kvproto.lang.model import Model
from kvproto.whatif.runs import Walker


def needless(variants: Variants, chosen: Chosen, found: Counterexample) -> tuple[str, ...]:
    """The switches, in order of declaration; each stays off while the next ones are tried."""
    off = list[str]()
    # What ends a run is up to all actions, what a run does only to its own.
    only = None if found.claim.kind == "deadlock" else {action.name for action, _ in found.steps}
    for name in _on(variants.model, chosen):
        values = {**chosen.binding.values, **dict.fromkeys([*off, name], False)}
        try:
            system = variants.system(replace(chosen, binding=Binding(chosen.binding.sizes, values)), only)
        except KvError:
            continue  # the model makes no sense without it
        if _same(system, found):
            off.append(name)
    return tuple(off)


def _on(model: Model, chosen: Chosen) -> Iterator[str]:
    parameters = model.params.parameters() if model.params else {}
    return (name for name, p in parameters.items() if isinstance(p, Flag) and chosen.binding.values[name])


def _same(system: System, found: Counterexample) -> bool:
    """Whether the steps of the run are possible in the system, from its beginning, and break the claim at their end."""
    actions = {action.name: action for action in system.actions}
    claim = next((claim for claim in system.claims if claim.name == found.claim.name), None)
    if claim is None or any(action.name not in actions for action, _ in found.steps):
        return False
    steps = tuple((actions[action.name], args) for action, args in found.steps)
    if any(len(action.params) != len(args) for action, args in steps) or found.init not in Machine(system).initial():
        return False
    walk = Walker(system, claim).walk(found.init, steps)
    return walk is not None and len(walk.steps) == len(steps)
