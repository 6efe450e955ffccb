"""Replay: the same steps on the implementation, and the same state after every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvproto.diagnostics import did_you_mean
from kvproto.reference.refusal import Refused
from kvproto.replay import adapters
from kvproto.replay.misfit import misfit, shown
from kvproto.replay.result import Blocked, Divergence, PageTexts, ReplayResult
from kvproto.trace.trace import State, Step, Trace, Value
from kvproto.transports import Transport

Overrides = Mapping[str, bool | int]

UNCHANGED: Overrides = {}


def replay(
    trace: Trace,
    *,
    overrides: Overrides = UNCHANGED,
    xp: Any = "numpy",
    mover: Transport | None = None,
    what_if: str = "",
) -> ReplayResult:
    """Perform a trace on the reference implementation of its model.

    Without `overrides` the implementation's state is compared with the model's at the start and after every step; the
    first difference, or the first step that the implementation refuses, ends the replay as a divergence.  With sizes
    or switches overridden the same schedule is tried as a what-if: refused steps are recorded and skipped, and
    nothing is compared; `what_if` asks for that too, and says in words what is different.

    A counterexample ends where the property breaks; afterwards decode comes to the end of what it is generating, so
    that the answers are there (`settled`).  `xp` is the array namespace: a name, or `Arrays` on a device.  `mover`
    moves the pages and stays open.  A trace that is none of the model's raises `KvError`.
    """
    changed = _changed(trace, overrides)
    arrays = adapters.arrays_of(xp)
    run = adapters.start(trace.model, {**trace.parameters, **changed}, arrays, mover)
    for step in trace.steps:
        run.check(step)
    pages = [run.texts()]
    blocked: list[Blocked] = []
    divergence: Divergence | None = None
    if changed or what_if:
        blocked = _try(run, trace, pages)
    else:
        _check_variables(trace, run.state(pages[0]))
        divergence = _follow(run, trace, pages)
    settled = [] if divergence is not None else run.settle()
    refused = len(blocked) + (divergence is not None and divergence.refused)
    return ReplayResult(
        model=trace.model,
        overrides=changed,
        performed=len(pages) - 1 - refused,
        answers=run.answers(),
        divergence=divergence,
        blocked=tuple(blocked),
        canaries=run.canaries(),
        pages=tuple(pages),
        settled=tuple(settled),
        what_if=what_if,
        backend=arrays.backend,
        device=arrays.device,
    )


def check(trace: Trace) -> None:
    """Raise `KvError` unless parameters, steps and variables are those of the trace's model; performs nothing."""
    run = adapters.start(trace.model, trace.parameters, adapters.arrays_of("numpy"))
    for step in trace.steps:
        run.check(step)
    _check_variables(trace, run.state(run.texts()))


def _follow(run: adapters.Run, trace: Trace, pages: list[PageTexts]) -> Divergence | None:
    """Perform and compare; stop at the first divergence.  Adds to `pages` what they hold after each step."""
    states = trace.states()
    divergence = _compare(0, "", next(states), run.state(pages[0]))
    for number, (step, state) in enumerate(zip(trace.steps, states, strict=True), 1):
        if divergence is not None:
            break
        refusal = _perform(run, step, pages)
        if refusal is not None:
            return Divergence(number, _call(step), reason=refusal)
        divergence = _compare(number, _call(step), state, run.state(pages[-1]))
    return divergence


def _try(run: adapters.Run, trace: Trace, pages: list[PageTexts]) -> list[Blocked]:
    """Perform what can be performed.  Adds to `pages` what they hold after each step."""
    blocked = []
    for number, step in enumerate(trace.steps, 1):
        refusal = _perform(run, step, pages)
        if refusal is not None:
            blocked.append(Blocked(number, _call(step), refusal))
    return blocked


def _perform(run: adapters.Run, step: Step, pages: list[PageTexts]) -> str | None:
    """Perform a step, or say why the implementation refuses it."""
    try:
        run.perform(step)
        refusal = None
    except Refused as refused:
        refusal = str(refused)
    now = run.texts()
    # Most steps change no page; sharing the entry keeps long replays small.
    pages.append(pages[-1] if now == pages[-1] else now)
    return refusal


def _changed(trace: Trace, overrides: Overrides) -> dict[str, bool | int]:
    """The overrides that differ from the trace's own parameters."""
    for name in overrides:
        if name not in trace.parameters:
            misfit(
                f"override {shown(name)}",
                reason=f"it is none of the trace's parameters{did_you_mean(name, trace.parameters)}",
                cure="name a size or a switch of the model (kvproto list)",
            )
    return {name: value for name, value in overrides.items() if not _same(value, trace.parameters.get(name))}


def _check_variables(trace: Trace, state: State) -> None:
    """Refuse a trace that has other variables than the model."""
    for path in state:
        if path not in trace.init:
            misfit(f"variable {path} is missing", reason="the initial state of a trace names every variable")
    for path in (*trace.init, *(path for step in trace.steps for path in step.delta)):
        if path not in state:
            misfit(f"variable {shown(path)}", reason="the model has no such variable in a run of these sizes")


def _compare(number: int, action: str, model: State, implementation: State) -> Divergence | None:
    """The first difference of two states, in the model's order of variables."""
    differ = [path for path, value in implementation.items() if not _same(model[path], value)]
    if not differ:
        return None
    path = differ[0]
    return Divergence(number, action, path, model[path], implementation[path], more=len(differ) - 1)


def _same(one: Value, other: Value) -> bool:
    """Equality of values of a trace; unlike in Python, `true` is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _call(step: Step) -> str:
    """A step as one writes it: `land(A, 2)`."""
    values = [str(v).lower() if isinstance(v, bool) else str(v) for v in step.args.values()]
    return f"{step.action}({', '.join(values)})"
