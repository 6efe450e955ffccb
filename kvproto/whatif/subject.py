"""The model that a trace comes from, found again, and the trace as a run of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.engine.evaluate import Args, State
from kvproto.engine.outcome import Counterexample
from kvproto.ir.digest import digest
from kvproto.ir.nodes import LIVENESS, System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.variants import Variants
from kvproto.lang.load import every_model, find
from kvproto.lang.model import Model
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace
from kvproto.whatif.runs import NoSuchRunError, state_of, steps_of
from kvproto.whatif.schedule import Calls, Course


@dataclass(frozen=True, slots=True)
class Replayed:
    """A trace as a run of its system: `calls` are its steps, `states` what the reference evaluator makes of them.

    `args` is the choice of the parameters of a claim about runs that the run breaks.
    """

    trace: Trace
    system: System
    calls: Calls
    states: tuple[State, ...]
    args: Args
    course: Course

    @property
    def finite(self) -> bool:
        """Whether the claim is about states and steps, so that other actions do not matter."""
        return self.course.claim.kind in ("invariant", "assert")

    def run(self) -> Counterexample:
        """The trace as a search finds it."""
        actions = {action.name: action for action in self.system.actions}
        steps = tuple((actions[name], args) for name, args in self.calls)
        claim = self.system.claim(self.trace.property)
        return Counterexample(claim, self.states[0], steps, self.trace.loop, self.args)


@dataclass(frozen=True, slots=True)
class Subject(Replayed):
    """A trace with its model: `variants` makes systems under other switches than `chosen`."""

    model: Model
    variants: Variants
    chosen: Chosen


def subject(trace: Trace, target: str | None = None) -> Subject:
    """The trace on its model: the one that `target` names, the shipped one of that name, or that of its file here.

    Raises KV027 if the model is unknown, KV028 if it is not the one that the trace tells of, KV029 if the trace
    violates nothing, and what `find` raises.
    """
    if trace.verdict != "violated":
        raise KvError(
            "KV029",
            f"the trace violates nothing: it shows that {printable(trace.property)} can happen",
            reason="what would have prevented a run can be said of one that breaks a claim",
            cure="look at it with  kvproto show TRACE",
        )
    if target is None and trace.model not in (known := every_model()):
        target = _beside(trace)
    if target is None and trace.model not in known:
        raise KvError(
            "KV027",
            f"the trace is of model {_quoted(trace.model)}, which is not shipped{did_you_mean(trace.model, known)}",
            reason="what would have been can be said with the model at hand only",
            cure="name the model's file:  --model FILE.py",
        )
    model = find(target or trace.model).model
    variants = Variants(model)
    chosen = _chosen(model, trace)
    system = variants.system(chosen)
    if digest(system) != trace.digest:
        raise _changed(
            trace,
            f"its digest is {printable(trace.digest)}, that of {model.name} under the same parameters is"
            f" {digest(system)}",
        )
    run = replayed(trace, system)
    return Subject(trace, system, run.calls, run.states, run.args, run.course, model, variants, chosen)


def _beside(trace: Trace) -> str | None:
    """The file that the steps of the trace are written in, if it is here and holds the model.

    Where steps come from several files it is the only one of them of which that is so.  Files outside of the current
    folder are not opened: a trace may come from anywhere.
    """
    files = dict.fromkeys(step.loc.rpartition(":")[0] for step in trace.steps)
    found = [file for file in files if _is_here(file) and _holds(file, trace)]
    return found[0] if len(found) == 1 else None


def _is_here(file: str) -> bool:
    path = Path(file)
    try:
        inside = not path.is_absolute() and path.resolve().is_relative_to(Path.cwd())
        return inside and path.suffix == ".py" and path.is_file()
    except (OSError, ValueError):  # no path at all
        return False


def _holds(file: str, trace: Trace) -> bool:
    """Whether a file has a model of that name; that it is the very same is seen to by the digest."""
    try:
        return find(file).model.name == trace.model
    except KvError:  # a file of parts, or of something else
        return False


def replayed(trace: Trace, system: System) -> Replayed:
    """The trace on its system.

    Raises KV028 if the schedule is not possible there or breaks nothing, KV029 if an assertion fails before any step.
    """
    try:
        init, steps = state_of(system, trace), steps_of(system, trace)
    except NoSuchRunError as problem:
        raise _changed(trace, str(problem)) from None
    kind = next((claim.kind for claim in system.claims if claim.name == trace.property), None)
    if kind is None:
        raise _changed(trace, f"{system.model} has no property {printable(trace.property)}")
    if (trace.loop is not None) != (kind in LIVENESS):
        raise _changed(trace, f"{printable(trace.property)} is {'' if kind in LIVENESS else 'not '}about whole runs")
    calls = tuple((action.name, args) for action, args in steps)
    course = Course(system, trace.property, calls, trace.loop)
    args = course.arguments([init]) if course.claim.kind in LIVENESS else ()
    outcome = course.take([init])
    if course.claim.kind == "assert" and not calls:
        raise KvError(
            "KV029",
            f"{course.claim.name} fails before the first step",
            reason="what would have prevented a run is said of its steps, and there are none",
            cure="look at the init function that fails with  kvproto show TRACE",
        )
    if args is None or outcome.end != "violated":
        where = f"step {outcome.step} is refused" if outcome.end == "refused" else "the claim is not violated"
        raise _changed(trace, f"{where} in {system.model}")
    if outcome.step != len(calls):
        raise _changed(trace, f"the claim is violated after step {outcome.step} in {system.model}")
    return Replayed(trace, system, calls, outcome.states[: len(calls) + 1], args, course)


def _chosen(model: Model, trace: Trace) -> Chosen:
    """The binding of the trace."""
    presets = [preset.name for preset in model.presets]
    scopes = [scope.name for scope in model.scopes]
    if trace.preset not in ("", *presets) or trace.scope not in ("", *scopes):
        raise _changed(trace, f"{model.name} has no such preset or scope")
    try:
        return choose(model, preset=trace.preset or None, scope=trace.scope or None, sets=trace.parameters)
    except KvError as problem:
        raise _changed(trace, problem.diagnostic.message) from None


def _changed(trace: Trace, why: str) -> KvError:
    at = f"@{trace.preset}" if trace.preset else ""
    return KvError(
        "KV028",
        f"the trace is not of the model {printable(trace.model)} as it is now: {why}",
        reason="what would have been in another model says nothing about this trace",
        cure=f"record it again with  kvproto check {_quoted(trace.model + at)} --property {_quoted(trace.property)}"
        "  and its --scope and --set",
    )


def _quoted(word: str) -> str:
    return printable(shlex.quote(word))
