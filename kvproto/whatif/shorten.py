"""A run that is not a shortest one made shorter: steps are left out as long as the rest is a run that breaks the claim.

Delta debugging: first half of the steps, then ever smaller pieces, until no single step can be left out any more.
"""

from __future__ import annotations

from kvproto.engine.evaluate import State
from kvproto.whatif.runs import Steps, Walk, Walker


def shorten(walker: Walker, init: State, steps: Steps) -> Walk | None:
    """The run up to its first violation, without the steps that it can do without; None if it violates nothing.

    What is left cannot do without any single step.  It need not be a shortest run.
    """
    found = walker.walk(init, steps)
    if found is None:
        return None
    size = max(1, len(found.steps) // 2)
    while True:
        shorter = _without_one_piece(walker, found, size)
        if shorter is not None:
            found, size = shorter, max(1, min(size, len(shorter.steps) // 2))
        elif size == 1:
            return found
        else:
            size = size // 2


def _without_one_piece(walker: Walker, found: Walk, size: int) -> Walk | None:
    """The run without one piece of that size, the latest that it can do without."""
    for begin in range(len(found.steps) - size, -size, -size):
        rest = found.steps[: max(begin, 0)] + found.steps[begin + size :]
        shorter = walker.walk(found.states[0], rest)
        if shorter is not None:
            return shorter
    return None
