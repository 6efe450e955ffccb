"""Why a trace ends as it does, in three to six sentences.

The sentences are made from the slice, the domain edges and the actions' own docstrings.  There is a way of
telling for each kind of event that the domain knows (a read of content that is not the reader's, a write that
lands late, a page freed under a write) and a general one, from cause to cause, for everything else; there is
none for any property.  What would have been comes last, if somebody has found it out (`missing`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from kvproto.engine.outcome import Counterexample
from kvproto.explain.branches import conditions as conditions_of
from kvproto.explain.chain import chain
from kvproto.explain.facts import Facts
from kvproto.explain.missing import missing
from kvproto.explain.read_story import wrong_read
from kvproto.explain.waiting import waiting
from kvproto.explain.write_story import freed_under_write, late_landing, still_flying, wrong_source
from kvproto.ir.nodes import System
from kvproto.trace.blocked import blocked
from kvproto.trace.build import about, fair_words
from kvproto.trace.trace import Trace

MOST = 6
"""Sentences of an explanation at most; the general way fills up to `LEAST`."""

LEAST = 3


def why(
    trace: Trace,
    *,
    first: Sequence[str] = (),
    fair: Sequence[str] = (),
    waits: Waits | None = None,
    conditions: Mapping[int, Collection[str]] | None = None,
) -> tuple[str, ...]:
    """The explanation of a trace: steps are counted from 1, pages are named by their labels.

    `first`, `fair` and `waits` are from somebody who knows the model: what the claim is about, why fairness does not
    exclude the run, and what keeps it from its goal.  They count.  `conditions` is what steps had looked at before they
    did what the verdict rests on.
    """
    facts, last = Facts(trace, conditions or {}), missing(trace)
    most = MOST - len(first) - len(last)
    if trace.loop is not None:
        end = " ".join([_for_ever(facts.end, trace.loop), *fair])
        return (*first, *_without_end(facts, most - 1, waits), end, *last)
    sentences = wrong_read(facts) or late_landing(facts) or wrong_source(facts) or freed_under_write(facts)
    if not sentences:
        sentences, paths = still_flying(facts)
        sentences += chain(facts, most - len(sentences), without=paths)
    elif len(sentences) < LEAST:
        sentences = sentences + chain(facts, LEAST - len(sentences))
    return (*first, *sentences[:most], *last)


Waits = Callable[[Facts, int], list[str]]
"""At most so many sentences about what keeps a run from its goal."""


def _without_end(facts: Facts, room: int, waits: Waits | None) -> list[str]:
    """What the goal found, then what keeps the run from it; without that, what led there."""
    goal = {path for ground in facts.trace.grounds for path in ground.reads}
    behind = {path for path in facts.trace.blame if path not in goal} if goal else set[str]()
    told = waits(facts, room - 1) if waits else []
    sentences, paths = still_flying(facts)
    sentences += chain(facts, room - len(sentences), without=paths, behind=behind, rest=not told)
    return [*sentences[: room - len(told)], *told]


def with_why(system: System, found: Counterexample, trace: Trace) -> Trace:
    """The trace of a run that a search has found, with its explanation."""
    stuck = blocked(system, found)
    waits: Waits = lambda facts, room: waiting(facts, system, stuck, room)  # noqa: E731 (the system is known here)
    told = why(
        trace,
        first=about(found),
        fair=fair_words(system, found),
        waits=waits,
        conditions=conditions_of(system, found, trace),
    )
    return replace(trace, why=told)


def _for_ever(end: int, loop: int) -> str:
    if loop < end:
        return f"After step {end} the run goes on with step {loop + 1} again, for ever."
    return f"After step {end} nothing happens any more." if end else "Nothing happens at all."
