"""What happened before what: the order that machines could tell, as edges between steps and as vector clocks.

A step follows the one before it in its own lane, the sending of each message that it takes, the posting of each write
that it ends, and the last write of each variable that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvproto.explain.slice import written
from kvproto.report.report import Report

Clock = Mapping[str, int]
"""How many steps of each lane a step knows of, its own included; lanes that it knows nothing of are left out."""


def edges(report: Report) -> tuple[tuple[int, int], ...]:
    """Pairs of steps, the earlier one first, in order and each once."""
    found: dict[tuple[int, int], None] = {}
    last_of: dict[str, int] = {}
    writer: dict[str, int] = {}
    for number, step in enumerate(report.trace.steps, 1):
        sources = [last_of.get(step.lane), *(writer.get(path) for path in step.reads)]
        found.update(dict.fromkeys((source, number) for source in sources if source is not None))
        last_of[step.lane] = number
        writer |= dict.fromkeys(written(step), number)
    found.update(dict.fromkeys((m.sent, m.taken) for m in report.messages if m.taken is not None))
    # A write that was under way from the start was posted by no step.
    found.update(dict.fromkeys((f.posted, f.ended) for f in report.flights if f.ended is not None and f.posted))
    return tuple(sorted(found))


def clocks(report: Report) -> tuple[Clock, ...]:
    """The vector clock of every step: of two steps one precedes the other exactly if its clock is the smaller one."""
    sources: dict[int, list[int]] = {}
    for source, target in edges(report):
        sources.setdefault(target, []).append(source)
    found: list[dict[str, int]] = []
    for number, step in enumerate(report.trace.steps, 1):
        clock: dict[str, int] = {}
        for source in sources.get(number, ()):
            for lane, count in found[source - 1].items():
                clock[lane] = max(count, clock.get(lane, 0))
        # The step before it in its lane is among the sources, so that the count goes on from there.
        clock[step.lane] = clock.get(step.lane, 0) + 1
        found.append(clock)
    return tuple(found)
