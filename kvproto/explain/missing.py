"""Telling which guard was missing, from the analysis of a trace: the last sentence of an explanation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvproto.explain.words import LONGEST, call, joined
from kvproto.trace.analysis import Analysis, Guard
from kvproto.trace.printable import cut, printable, shown
from kvproto.trace.trace import Trace

OTHERS = 3
"""Further measures named."""


def missing(trace: Trace) -> list[str]:
    """One sentence, or two on one line; nothing for a trace without an analysis."""
    if trace.analysis is None:
        return []
    guard = trace.analysis.guard()
    if guard is None:
        return ["No single measure of the model keeps these steps from breaking the claim."]
    if guard.kind == "environment":
        return [_needed([g for g in trace.analysis.guards if g.kind == "environment"])]
    told = f"{_with(guard)}, {_effect(trace, guard)}."
    return [told + _in_scope(guard, trace.analysis, LONGEST - len(told))]


def setting(guard: Guard) -> str:
    """`token_count_check on`, `limit = LONG`, `the measures of 0.5.21`, `no worker_crash`."""
    name = printable(guard.name)
    if guard.kind == "preset":
        return f"the measures of {name}"
    if guard.kind == "environment":
        return f"no {name}"
    if isinstance(guard.value, bool):
        return f"{name} {'on' if guard.value else 'off'}"
    return f"{name} = {shown(guard.value)}"


def _with(guard: Guard) -> str:
    return f"With {setting(guard)}"


def at(trace: Trace, number: int) -> str:
    """`step 7, abort(r=A),`."""
    return f"step {number}, {call(trace.steps[number - 1])}," if number else "the beginning"


def _effect(trace: Trace, guard: Guard) -> str:
    difference = cut(printable(guard.difference), 90)
    if guard.effect == "harmless":
        return "the same steps break nothing"
    if guard.effect == "diverted":
        return f"{at(trace, guard.step)} would have led to {difference}, and the claim would have held to the end"
    refused = f"{at(trace, guard.step)} would have been refused{because(guard)}"
    if guard.since == guard.step:
        return refused
    return f"{at(trace, guard.since)} would have led to {difference}; then {refused}"


def because(guard: Guard) -> str:
    """What the step would have needed; nothing if that is the switch itself."""
    names = set(re.findall(r"[A-Za-z_]\w*", guard.condition)) - {"not", "cfg", "config"}
    if not guard.condition or names == {guard.name}:
        return ""
    return f", for want of {cut(printable(guard.condition), 80)}"


def _in_scope(guard: Guard, analysis: Analysis, room: int) -> str:
    """What a search has shown, if there was one."""
    if guard.verdict == "violated":
        return f" That stops this run only: another one, of {guard.other} steps, breaks the claim all the same."
    if guard.verdict != "holds":
        return ""
    names = [g.name for g in analysis.guards if g.kind == "switch" and g.verdict == "holds" and g != guard]
    short = " In this scope the claim holds then."
    if not names:
        return short
    some = [printable(name) for name in names[:OTHERS]]
    more = [f"{len(names) - OTHERS} more"] if len(names) > OTHERS else []
    long = f" In this scope the claim holds then; as it does with {joined([*some, *more], 'or')} instead."
    return long if len(long) <= max(room, 120) else short


def _needed(freedoms: Sequence[Guard]) -> str:
    """No measure helps; what the run needs of the world."""
    names = joined([printable(guard.name) for guard in freedoms])
    first = freedoms[0]
    where = f" (step {first.step})" if first.step else ""
    return f"No single measure of the model keeps these steps from breaking the claim; the run needs {names}{where}."
