"""The point of no return: the first step of a counterexample after which the violation cannot be avoided for sure.

The states of the run are looked at from the last one backwards.  What can follow a late state is little, and what can
follow an earlier one contains it: so the answer for one state is that of the later ones as well, and the first state
(from the end) where the violation can be avoided settles the question for all before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.engine.evaluate import State
from kvproto.ir.nodes import LIVENESS, System
from kvproto.trace.analysis import NoReturn
from kvproto.trace.trace import Trace
from kvproto.whatif.budget import Budget, NotKnownError
from kvproto.whatif.future import Futures
from kvproto.whatif.runs import NoSuchRunError, walk_of

__all__ = ["Budget", "NotKnown", "point_of_no_return"]


@dataclass(frozen=True, slots=True)
class NotKnown:
    """There is no answer; `reason` is a sentence without its full stop."""

    reason: str


def point_of_no_return(system: System, trace: Trace, budget: Budget | None = None) -> NoReturn | NotKnown:
    """From which step of the trace on every continuation can still reach the violation, and from which on it must.

    Exact in the scope of the system, or not known: nothing is guessed.
    """
    if trace.loop is not None or any(c.name == trace.property and c.kind in LIVENESS for c in system.claims):
        return NotKnown("the claim is about whole runs, and no single step of a run breaks it")
    if trace.verdict != "violated":
        return NotKnown("the run shows what is possible, and violates nothing")
    try:
        walk = walk_of(system, trace)
    except NoSuchRunError as problem:
        return NotKnown(f"the trace does not fit the model: {problem}")
    futures = Futures(system, system.claim(trace.property), budget)
    return _backwards(futures, walk.states, len(trace.steps))


def _backwards(futures: Futures, states: tuple[State, ...], steps: int) -> NoReturn | NotKnown:
    """The answer for a run whose last state is the first violation; `steps` may go on after it."""
    lost = forced = len(states) - 1
    looked = 0
    while lost > 0:
        try:
            found = futures.of(states[lost - 1])
        except NotKnownError as problem:
            known = f"; after step {lost} the violation cannot be avoided" if lost < len(states) - 1 else ""
            return NotKnown(f"looking on from state {lost - 1}: {problem}{known}")
        looked = max(looked, found.states)
        if found.avoidable:
            break
        lost -= 1
        forced = lost if found.forced else forced
    avoidable = tuple(number < lost for number in range(steps + 1))
    return NoReturn(lost, forced, avoidable, looked, complete=True)
