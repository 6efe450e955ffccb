"""A trace that was kept, taken again on the model as it is now: by names of actions and labels of arguments.

The model may have changed since: variables may have come and gone, guards may be others.  What counts is whether the
same steps can still happen and still break the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Fault, Machine, State
from kvproto.engine.outcome import Counterexample
from kvproto.ir.nodes import LIVENESS, System
from kvproto.ir.types import label, leaves, show_path
from kvproto.lang.bind import choose, sorts_of
from kvproto.lang.frontend.build import build
from kvproto.lang.load import Target
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace
from kvproto.trace.trace import Value as Shown
from kvproto.whatif.runs import NoSuchRunError, Steps, steps_of
from kvproto.whatif.schedule import Course
from kvproto.whatif.words import refusing

End = Literal["violated", "refused", "holds", "gone"]


@dataclass(frozen=True, slots=True)
class Again:
    """What has become of a kept trace.

    "violated": the same steps still break the claim; "refused": step `step` cannot happen any more, because `reason`;
    "holds": all steps happen and the claim holds; "gone": the model has no such action, argument or property any more,
    says `reason`.  `run` is the run as far as it went wrong.
    """

    trace: Trace
    end: End
    step: int
    reason: str = ""
    run: Counterexample | None = None


def again(trace: Trace, target: Target) -> Again:
    """The trace on the model of `target`, under the trace's preset, scope and parameters as far as there are such.

    A preset of the target replaces the trace's.
    """
    try:
        system = _system(trace, target)
    except KvError as problem:
        return Again(trace, "gone", 0, problem.diagnostic.message)
    return again_in(system, trace)


def again_in(system: System, trace: Trace) -> Again:
    """The trace in that very system, whatever settings it was found under."""
    try:
        calls = steps_of(system, trace)
        system.claim(trace.property)
        init = _start(system, trace)
    except NoSuchRunError as problem:
        return Again(trace, "gone", 0, str(problem))
    except StopIteration:
        return Again(trace, "gone", 0, f"there is no property {printable(trace.property)}")
    except Fault as problem:
        return Again(trace, "gone", 0, f"an init function goes wrong: {problem.message}")
    named = tuple((action.name, args) for action, args in calls)
    course = Course(system, trace.property, named, trace.loop)
    if course.claim.kind in LIVENESS:
        # Where it is true for every choice, the last one stands for all: how the steps end does not depend on it.
        course.arguments([init])
    outcome = course.take([init])
    if outcome.end == "refused":
        return Again(trace, "refused", outcome.step, refusing(system, named, outcome).condition)
    if outcome.end != "violated":
        return Again(trace, "holds", len(named))
    claim, kept = system.claim(trace.property), min(outcome.step, len(calls))
    if trace.loop is None or trace.loop == len(calls):
        run = Counterexample(claim, init, calls[:kept], trace.loop, course.args)
    else:
        steps, loop = _rounds(calls, trace.loop, outcome.states)
        run = Counterexample(claim, init, steps, loop, course.args)
    return Again(trace, "violated", kept, run=run)


def _rounds(calls: Steps, loop: int, states: Sequence[State]) -> tuple[Steps, int]:
    """All steps until a state came again at the beginning of a round, and which one that was.

    In the model of today that may take more rounds than one.
    """
    length, taken = len(calls) - loop, len(states) - 1
    steps = tuple(calls[at if at < loop else loop + (at - loop) % length] for at in range(taken))
    return steps, next(at for at in range(loop, taken, length) if states[at] == states[-1])


def _system(trace: Trace, target: Target) -> System:
    """The model with the trace's settings; those that it does not have any more are left out."""
    model = target.model
    known = {*(model.params.parameters() if model.params else {}), *sorts_of(model)}
    presets = [preset.name for preset in model.presets]
    scopes = [scope.name for scope in model.scopes]
    preset = target.preset or (trace.preset if trace.preset in presets else None)
    scope = trace.scope if trace.scope in scopes else None
    own = choose(model, preset=preset, scope=scope).binding
    # With another preset the switches are its own; sizes are the trace's.
    wanted = {n: v for n, v in trace.parameters.items() if n in known and (n in own.sizes or not target.preset)}
    return build(model, choose(model, preset=preset, scope=scope, sets=wanted))


def _start(system: System, trace: Trace) -> State:
    """The initial state of the model that says the same as the trace's, as far as both have a variable."""
    told = trace.init
    for state in Machine(system).initial():
        shown = _shown(system, state)
        if all(told.get(path, value) == value for path, value in shown.items()):
            return state
    raise NoSuchRunError(f"{system.model} does not start as the trace does")


def _shown(system: System, state: State) -> dict[str, Shown]:
    paths = leaves(system.state)
    return {show_path(path, system.state): label(v, kind) for v, (path, kind) in zip(state, paths, strict=True)}
