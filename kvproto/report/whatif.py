"""The analysis of a trace in sentences, and what of it belongs to a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvproto.explain.missing import breaking, guard_sentence, setting
from kvproto.explain.words import call, count, joined
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
    measures = [guard for guard in analysis.guards if guard.kind != "environment"]
    freedoms = [guard for guard in analysis.guards if guard.kind == "environment"]
    sentences = [guard_words(trace, guard) for guard in measures[:MOST]]
    if len(measures) > MOST:
        others = joined([setting(guard) for guard in measures[MOST:]], "or")
        sentences.append(f"The same steps do not break the claim with {others} either.")
    if freedoms:
        needed = joined([setting(replace(guard, value=not guard.value)) for guard in freedoms])
        sentences.append(f"The run needs {needed}.")
    if analysis.no_return is not None:
        sentences += no_return_words(trace, analysis.no_return)
    return tuple(sentences)


def guard_words(trace: Trace, guard: Guard) -> str:
    """`With token_count_check on, step 16, commit(r=A), would have been refused: ...`, and what a search has shown."""
    shown = {
        "": "",
        "holds": f" In this scope the claim holds then{f', but {breaking(guard)}' if guard.breaks else ''}.",
        "violated": f" But another run, of {count(guard.other, 'step')}, breaks the claim all the same.",
        "inconclusive": " Whether the claim holds then is not known: the scope is too large.",
    }[guard.verdict]
    return guard_sentence(trace, guard) + shown


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
