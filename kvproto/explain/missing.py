"""Telling which guard was missing, from the analysis of a trace: the last sentences of an explanation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvproto.explain.words import call, joined
from kvproto.trace.analysis import Analysis, Guard
from kvproto.trace.printable import cut, printable, shown
from kvproto.trace.trace import Trace

OTHERS = 3
"""Further measures named."""

LONGEST = 400
"""Characters of it all, about: more is not read."""


def missing(trace: Trace) -> list[str]:
    """The missing guard, what it does to the run, and what is known of the scope, on one line.

    Nothing for a trace without an analysis.
    """
    if trace.analysis is None:
        return []
    guard = trace.analysis.guard()
    if guard is None or guard.kind == "environment":
        needs = [setting(replace(g, value=not g.value)) for g in trace.analysis.guards]
        needed = f"; the run needs {joined(needs)}" if needs else ""
        return [f"No single measure of the model keeps these steps from breaking the claim{needed}."]
    told = guard_sentence(trace, guard)
    return [told + _in_scope(guard, trace.analysis, LONGEST - len(told))]


def setting(guard: Guard) -> str:
    """`token_count_check on`, `limit = LONG`, `the measures of 0.5.21`, `client_disconnects off`."""
    name = printable(guard.name)
    if guard.kind == "preset":
        return f"the measures of {name}"
    if isinstance(guard.value, bool):
        return f"{name} {'on' if guard.value else 'off'}"
    return f"{name} = {shown(guard.value)}"


def guard_sentence(trace: Trace, guard: Guard) -> str:
    """`With token_count_check on, step 16, commit(r=A), would have been refused: it needs ...`."""
    return f"With {setting(guard)}{_meaning(guard)}, {_effect(trace, guard)}."


def _meaning(guard: Guard) -> str:
    """` (0.5.21: what the model says of the switch)`; what is switched off is not described by that."""
    if guard.kind != "switch":
        return ""
    about = cut(printable(" ".join(guard.about.split())), 100) if guard.value is not False else ""
    # What does not suffice, or breaks something else, is not what a release is told for.
    release = printable(guard.release) if guard.verdict != "violated" and not guard.breaks else ""
    words = ": ".join(filter(None, [release, about]))
    return f" ({words})" if words else ""


def _effect(trace: Trace, guard: Guard) -> str:
    first = printable(guard.difference.split("; ")[0].split(" and ")[0])
    led = f"would have led to {cut(first, 90)}" if first else "would have led elsewhere"
    if guard.effect == "harmless":
        return "the same steps break nothing"
    if guard.effect == "diverted":
        return f"{at(trace, guard.step)} {led}, and the claim would have held to the end"
    refused = f"{at(trace, guard.step)} would have been refused"
    if guard.since == guard.step:
        return refused + because(guard)
    return f"{at(trace, guard.since)} {led}; then {refused}"


def at(trace: Trace, number: int) -> str:
    """`step 7, abort(r=A),`: to stand inside a sentence."""
    return f"step {number}, {call(trace.steps[number - 1])}," if 0 < number <= len(trace.steps) else "the beginning"


def because(guard: Guard) -> str:
    """What the step would have needed; nothing if that is the switch itself."""
    if not guard.condition or re.search(rf"\.{re.escape(guard.name)}\b", guard.condition):
        return ""
    return f": it needs {cut(printable(guard.condition), 100)}"


def _in_scope(guard: Guard, analysis: Analysis, room: int) -> str:
    """What searches have shown, if there were any."""
    if guard.verdict == "violated":
        return f" But another run, of {guard.other} steps, breaks the claim all the same{_together(analysis)}."
    if guard.verdict != "holds":
        return ""
    if guard.breaks:
        return f" In this scope the claim holds then, but {breaking(guard)}{_together(analysis)}."
    short = " In this scope the claim holds then."
    sound = [g for g in analysis.guards if g.kind == "switch" and g.verdict == "holds" and not g.breaks]
    others = [g for g in sound if g.name != guard.name]
    if others:
        long = f" In this scope the claim holds then, and as well with {_some(others)} instead."
        return long if len(long) <= room else short
    return short + _only_this_run(guard, analysis)


def breaking(guard: Guard) -> str:
    """`takes_own breaks`: the other claims that a measure breaks."""
    names = [printable(name) for name in guard.breaks]
    more = [f"{len(names) - OTHERS} more"] if len(names) > OTHERS else []
    return f"{joined([*names[:OTHERS], *more])} {'breaks' if len(names) == 1 else 'break'}"


def _only_this_run(guard: Guard, analysis: Analysis) -> str:
    """What acts earlier in this run, if a later preset has it; it is not enough."""
    weaker = [g for g in analysis.guards if g.kind == "switch" and g.verdict == "violated" and g.release]
    weaker = [g for g in weaker if g.since < guard.since]
    if not weaker:
        return ""
    other = weaker[0]
    return (
        f" {setting(other)} ({printable(other.release)}) stops this run too,"
        f" but not another one of {other.other} steps."
    )


def _some(guards: Sequence[Guard]) -> str:
    names = [printable(guard.name) if guard.value is True else setting(guard) for guard in guards[:OTHERS]]
    more = [f"{len(guards) - OTHERS} more"] if len(guards) > OTHERS else []
    return joined([*names, *more], "or")


def _together(analysis: Analysis) -> str:
    """The preset that is enough, where no measure alone is."""
    enough = [g for g in analysis.guards if g.kind == "preset" and g.verdict == "holds" and not g.breaks]
    return f"; with {setting(enough[0])} it holds in this scope" if enough else ""
