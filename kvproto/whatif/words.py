"""Why a step cannot happen, in the words of the model."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.engine.blame import blame, conjuncts, refusal
from kvproto.engine.evaluate import Machine
from kvproto.engine.wording import shortest
from kvproto.ir.nodes import System
from kvproto.ir.types import show_path
from kvproto.whatif.schedule import Calls, Outcome


@dataclass(frozen=True, slots=True)
class Refused:
    """The part of a guard that had to be true and was not, as it is written in the model, and what it read."""

    condition: str
    loc: str
    reads: tuple[str, ...]


def refusing(system: System, calls: Calls, outcome: Outcome) -> Refused:
    """Why the step at which the schedule ended could not happen.

    From the system as it is written, in which switches are still there: they may be what refuses.
    """
    action = next(action for action in system.actions if action.name == calls[outcome.step - 1][0])
    machine = Machine(system)
    refused = refusal(machine, action, calls[outcome.step - 1][1], outcome.states[-1])
    assert refused is not None, "folding changes no meaning"
    text, part = shortest(conjuncts(machine, refused), system.sources)
    paths = blame(machine, refused.guard, refused.state, refused.env)
    reads = tuple(show_path(path, system.state) for path in paths)
    return Refused(text, str(part.loc), reads)
