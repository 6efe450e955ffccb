"""Why a trace ends as it does, in three to six sentences.

The sentences are made from the slice, the domain edges and the actions' own docstrings.  There is a way of
telling for each kind of event that the domain knows (a read of content that is not the reader's, a write that
lands late, a page freed under a write) and a general one, from cause to cause, for everything else; there is
none for any property.  What would have been comes last, if somebody has found it out (`missing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvproto.engine.outcome import Counterexample
from kvproto.explain.chain import chain
from kvproto.explain.facts import Facts
from kvproto.explain.missing import missing
from kvproto.explain.read_story import wrong_read
from kvproto.explain.write_story import freed_under_write, late_landing, still_flying, wrong_source
from kvproto.ir.nodes import System
from kvproto.trace.build import about, fair_words
from kvproto.trace.trace import Trace

MOST = 6
"""Sentences of an explanation at most; the general way fills up to `LEAST`."""

LEAST = 3


def why(trace: Trace, *, first: Sequence[str] = (), fair: Sequence[str] = ()) -> tuple[str, ...]:
    """The explanation of a trace: steps are counted from 1, pages are named by their labels.

    `first` and `fair` are sentences of somebody who knows the model: what the claim is about, and why fairness does not
    exclude the run.  They count.
    """
    last = [*fair, *missing(trace)]
    most = MOST - len(first) - len(last)
    facts = Facts(trace)
    sentences = wrong_read(facts) or late_landing(facts) or wrong_source(facts) or freed_under_write(facts)
    if not sentences:
        sentences, paths = still_flying(facts)
        sentences += chain(facts, most - len(sentences) - (trace.loop is not None), without=paths)
    elif len(sentences) < LEAST:
        sentences = sentences + chain(facts, LEAST - len(sentences))
    if trace.loop is not None:
        sentences = [*sentences[: most - 1], _for_ever(facts.end, trace.loop)]
    return (*first, *sentences[:most], *last)


def with_why(system: System, found: Counterexample, trace: Trace) -> Trace:
    """The trace of a run that a search has found, with its explanation."""
    return replace(trace, why=why(trace, first=about(found), fair=fair_words(system, found)))


def _for_ever(end: int, loop: int) -> str:
    if loop < end:
        return f"After step {end} the run goes on with step {loop + 1} again, for ever."
    return f"After step {end} nothing happens any more." if end else "Nothing happens at all."
