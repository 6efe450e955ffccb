"""The analysis of a trace in sentences, and what of it belongs to a step."""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.explain.words import call, count
from kvproto.report.report import Note
from kvproto.trace.analysis import Guard, NoReturn
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

MOST = 3
"""Guards that are told; the others are counted."""


def told(trace: Trace) -> tuple[str, ...]:
    """What would have been: guards that were missing, the point of no return, how many red dots there are."""
    analysis = trace.analysis
    if analysis is None:
        return ()
    sentences = [guard_words(trace, guard) for guard in analysis.guards[:MOST]]
    if len(analysis.guards) > MOST:
        names = ", ".join(printable(guard.name) for guard in analysis.guards[MOST:])
        sentences.append(f"So would {names}.")
    if analysis.no_return is not None:
        sentences += no_return_words(trace, analysis.no_return)
    sentences += analysis.minimised
    return tuple(sentences)


def guard_words(trace: Trace, guard: Guard) -> str:
    """`With token_count_check on, step 16, commit(r=A), would have been refused: ...`."""
    setting = ("on" if guard.value else "off") if isinstance(guard.value, bool) else f"= {guard.value}"
    under = f"With {guard.name} {setting}" if guard.kind == "switch" else f"In {trace.model}@{guard.name}"
    at = f"step {guard.step}, {call(trace.steps[guard.step - 1])}," if 0 < guard.step <= len(trace.steps) else ""
    match guard.effect:
        case "refused":
            because = f": it needs {guard.condition}" if guard.condition else ""
            return printable(f"{under} {at} would have been refused{because}.")
        case "harmless":
            return printable(f"{under} the same steps break no claim.")
        case "diverted":
            return printable(f"{under} the same steps have another effect from {at} on, and the claim holds.")


def no_return_words(trace: Trace, found: NoReturn) -> Iterator[str]:
    """One sentence for each of the two points, as far as they are known."""
    if not found.complete and found.step is None and found.forced is None:
        looked = count(found.states, "state")
        yield f"The point of no return is not known: the scope is too large ({looked} looked at)."
        return
    if found.step == 0:
        yield "From the start on every continuation in this scope can still reach the violation."
    elif found.step is not None:
        at = call(trace.steps[found.step - 1])
        yield printable(
            f"Point of no return: step {found.step}, {at}. Until then some continuation in this scope "
            "rules the violation out; after it, every one can still reach it."
        )
    if found.forced is not None and 0 < found.forced < len(trace.steps):
        yield f"After step {found.forced} every continuation in this scope ends in the violation."


def turns(trace: Trace) -> dict[int, Note]:
    """The note on the step that is the point of no return."""
    found = trace.analysis.no_return if trace.analysis is not None else None
    if found is None or not found.step:
        return {}
    return {found.step: Note("turn", "POINT OF NO RETURN")}
