"""All that can be found out about a trace on its model, as it is stored in the trace."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvproto.explain.why import with_why
from kvproto.trace.analysis import Analysis, NoReturn
from kvproto.trace.trace import Trace
from kvproto.whatif.budget import Budget
from kvproto.whatif.dots import dots
from kvproto.whatif.guards import guards
from kvproto.whatif.noreturn import point_of_no_return
from kvproto.whatif.searches import STATES
from kvproto.whatif.subject import Subject, subject

LOOKING_ON = Budget(states=1_000_000)
"""What the continuations of one state may cost; without a limit of time, so that the result is the same everywhere."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """An analysis, and why there is no point of no return in it ("" if there is one, or nobody asked)."""

    analysis: Analysis
    unknown: str = ""


def analyse(trace: Trace, target: str | None = None, *, states: int | None = STATES) -> Analysed:
    """Guards, red dots and point of no return of a trace; `target` names its model if that is not shipped.

    Without `states` nothing is searched: no verdicts on guards, and no point of no return.  Raises KV027, KV028.
    """
    return analysed(subject(trace, target), states=states)


def analysed(found: Subject, *, states: int | None = STATES) -> Analysed:
    """The same for a trace whose model has been found."""
    known = found.trace.analysis.minimised if found.trace.analysis is not None else ()
    analysis = Analysis(guards(found, states), dots(found), minimised=known)
    if states is None:
        return Analysed(analysis)
    lost = point_of_no_return(found.system, found.trace, LOOKING_ON)
    if isinstance(lost, NoReturn):
        return Analysed(replace(analysis, no_return=lost))
    return Analysed(analysis, lost.reason)


def explained(found: Subject, analysis: Analysis) -> Trace:
    """The trace with the analysis, and told with it."""
    return with_why(found.system, found.run(), replace(found.trace, analysis=analysis))
