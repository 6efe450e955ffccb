"""Why a trace ends as it does, in three to six sentences.

The sentences are made from the slice, the domain edges and the actions' own docstrings.  There is a way of
telling for each kind of event that the domain knows (a read of content that is not the reader's, a write that
lands late, a page freed under a write) and a general one, from cause to cause, for everything else; there is
none for any property.
"""

from __future__ import annotations

from kvproto.explain.chain import chain
from kvproto.explain.facts import Facts
from kvproto.explain.read_story import wrong_read
from kvproto.explain.write_story import freed_under_write, late_landing, still_flying, wrong_source
from kvproto.trace.trace import Trace

MOST = 6
"""Sentences of an explanation at most; the general way fills up to `LEAST`."""

LEAST = 3


def why(trace: Trace) -> tuple[str, ...]:
    """The explanation of a trace: steps are counted from 1, pages are named by their labels."""
    facts = Facts(trace)
    told = wrong_read(facts) or late_landing(facts) or wrong_source(facts) or freed_under_write(facts)
    if not told:
        told, paths = still_flying(facts)
        told += chain(facts, MOST - len(told) - (trace.loop is not None), without=paths)
    elif len(told) < LEAST:
        told = told + chain(facts, LEAST - len(told))
    if trace.loop is not None:
        told = [*told[: MOST - 1], _for_ever(facts.end, trace.loop)]
    return tuple(told[:MOST])


def _for_ever(end: int, loop: int) -> str:
    if loop < end:
        return f"After step {end} the run goes on with step {loop + 1} again, for ever."
    return f"After step {end} nothing happens any more." if end else "Nothing happens at all."
