"""What every step went by: the variables that it read, and which step had set each of them."""

from __future__ import annotations

from kvproto.explain.slice import written
from kvproto.trace.trace import Trace

Basis = tuple[list[tuple[int, int]], int]
"""Variables that a step had set, as (place in the initial state, step), and the number of those as at the start."""


def bases(trace: Trace) -> list[Basis]:
    """The basis of each step, in the order in which it read."""
    places = {path: place for place, path in enumerate(trace.init)}
    setter: dict[str, int] = {}
    found = []
    for number, step in enumerate(trace.steps, 1):
        reads = [path for path in dict.fromkeys(step.reads) if path in places]
        found.append(
            (
                [(places[path], setter[path]) for path in reads if path in setter],
                sum(path not in setter for path in reads),
            )
        )
        setter |= dict.fromkeys(written(step), number)
    return found
