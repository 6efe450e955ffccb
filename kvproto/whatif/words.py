"""Why a step cannot happen, in the words of the model."""

from __future__ import annotations

from kvproto.engine.blame import conjunct, refusal
from kvproto.engine.evaluate import Machine
from kvproto.engine.written import opposite, written
from kvproto.ir.nodes import System
from kvproto.whatif.schedule import Calls, Outcome


def refusing(system: System, calls: Calls, outcome: Outcome) -> tuple[str, str]:
    """The part of a guard that refuses, as it is written in the model, and where.

    From the system as it is written, in which switches are still there: they may be what refuses.
    """
    action = next(action for action in system.actions if action.name == calls[outcome.step - 1][0])
    machine = Machine(system)
    refused = refusal(machine, action, calls[outcome.step - 1][1], outcome.states[-1])
    assert refused is not None, "folding changes no meaning"
    part, wanted = conjunct(machine, refused)
    text = written(part, system.sources)
    return (text if wanted else opposite(text)), str(part.loc)
