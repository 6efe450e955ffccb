"""What was found out about a trace, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from kvproto.explain.missing import because, breaking, setting
from kvproto.explain.words import call, count
from kvproto.trace.analysis import Analysis, Dot, Guard
from kvproto.trace.printable import fold, pad, printable, shown
from kvproto.trace.trace import Trace
from kvproto.whatif.analyse import Analysed

WIDTH = 80


def describe(trace: Trace, found: Analysed) -> list[str]:
    """Everything: the why, guards, point of no return, red dots."""
    lines = [*_heading(trace), "", "Why"]
    for number, sentence in enumerate(trace.why, 1):
        lines += _hanging(f"  {number}. ", printable(sentence))
    lines += ["", *_guards(trace, found.analysis)]
    lines += ["", *_no_return(trace, found)]
    lines += ["", *_dots(trace, found.analysis)]
    return [line.rstrip() for line in lines]


def _heading(trace: Trace) -> list[str]:
    target = printable(trace.model) + (f"@{printable(trace.preset)}" if trace.preset else "")
    scope = f", scope {printable(trace.scope)}" if trace.scope else ""
    first = f"{printable(trace.verdict).upper()}  {printable(trace.property)}"
    return [first, *_hanging("  ", f"{target}{scope}, {count(len(trace.steps), 'step')}; {printable(trace.claim)}")]


def _hanging(start: str, text: str) -> list[str]:
    first, *rest = fold(text, WIDTH - len(start))
    return [f"{start}{first}", *(" " * len(start) + line for line in rest)]


# --- guards --------------------------------------------------------------------------------------------------


def _guards(trace: Trace, analysis: Analysis) -> Iterator[str]:
    measures = [guard for guard in analysis.guards if guard.kind != "environment"]
    freedoms = [guard for guard in analysis.guards if guard.kind == "environment"]
    if not measures:
        yield "Guards"
        yield "  No single measure of the model keeps these steps from breaking the claim."
    else:
        yield "Guards: under these the same steps do not break the claim"
        width = max(len(setting(guard)) for guard in measures)
        for guard in measures:
            yield from _guard(trace, guard, width)
    if freedoms:
        yield from _hanging("  ", f"The run needs {', '.join(_freedom(guard) for guard in freedoms)}.")


def _freedom(guard: Guard) -> str:
    needed = setting(replace(guard, value=not guard.value))
    return f"{needed} (step {guard.step})" if guard.step else needed


def _guard(trace: Trace, guard: Guard, width: int) -> Iterator[str]:
    scope = {
        "": "",
        "holds": "holds in this scope",
        "violated": f"another run of {count(guard.other, 'step')} breaks it",
        "inconclusive": "scope too large to say",
    }[guard.verdict]
    scope += f", but then {breaking(guard)}" if guard.breaks else ""
    # What does not suffice, or breaks something else, is not what a release is told for.
    cure = guard.kind == "switch" and guard.verdict != "violated" and not guard.breaks
    release = f"  [{printable(guard.release)}]" if guard.release and cure else ""
    yield f"  {pad(setting(guard), min(width, 40))}  {scope}{release}"
    if guard.kind == "switch" and guard.about:
        yield from _hanging("      ", f"({printable(' '.join(guard.about.split()))})")
    yield from _hanging("      ", _outcome(trace, guard))


def _outcome(trace: Trace, guard: Guard) -> str:
    difference = printable(guard.difference)
    led = f"step {guard.since} {_named(trace, guard.since)}: {difference}" if guard.since else f"start: {difference}"
    match guard.effect:
        case "harmless":
            return "every step happens as before, and the claim holds"
        case "diverted":
            return f"{led}; the claim holds to the end"
        case "refused":
            refused = f"step {guard.step} {_named(trace, guard.step)} is refused{because(guard)}"
            return refused if guard.since == guard.step else f"{led}; then {refused}"


def _named(trace: Trace, number: int) -> str:
    return call(trace.steps[number - 1]) if 0 < number <= len(trace.steps) else ""


# --- no return -----------------------------------------------------------------------------------------------


def _no_return(trace: Trace, found: Analysed) -> Iterator[str]:
    yield "Point of no return"
    lost = found.analysis.no_return
    if lost is None:
        yield from _hanging("  ", f"Not known: {found.unknown or 'nobody looked'}.")
        return
    if lost.step == 0:
        text = "From the start on, the violation can be reached whatever happens."
    elif lost.step is None:
        text = "Until the last step some continuation avoids the violation."
    else:
        step = f"step {lost.step}, {_named(trace, lost.step)}"
        text = f"{step}: before it something can still rule the violation out; after it nothing can."
        text = text[:1].upper() + text[1:]
    if lost.forced is not None and 0 < lost.forced < len(trace.steps):
        text += f" After step {lost.forced} every continuation ends in the violation."
    yield from _hanging("  ", f"{text} ({count(lost.states, 'state')} looked at)")


# --- dots ----------------------------------------------------------------------------------------------------


def _dots(trace: Trace, analysis: Analysis) -> Iterator[str]:
    yield "Red dots: had a step left this as it was, the violation were gone"
    harmless = [dot for dot in analysis.dots if dot.effect == "harmless"]
    refused = [dot for dot in analysis.dots if dot.effect == "refused"]
    if not analysis.dots:
        yield "  None: no single change decides."
    if harmless:
        yield "  and every step would still have happened:"
    for dot in harmless:
        value = f"{printable(dot.path)}: {shown(dot.instead)} -> {shown(dot.value)}"
        yield from _hanging("  ", f"{dot.step:3}  {_named(trace, dot.step)}  {value}")
    if refused:
        yield "  because a later step could not have happened:"
    for step, some in groupby(refused, key=lambda dot: dot.step):
        yield from _hanging(f"  {step:3}  ", f"{_named(trace, step)}  {_refused(list(some))}")


def _refused(dots: Sequence[Dot]) -> str:
    """`req[A].decode (then not 5), x, y (then not 7)`."""
    by_step: dict[int, list[str]] = {}
    for dot in dots:
        by_step.setdefault(dot.at, []).append(printable(dot.path))
    return "; ".join(f"{', '.join(paths)} (then not step {at})" for at, paths in by_step.items())
