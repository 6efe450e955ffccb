"""Red dots: which single changes of the schedule's steps the violation rests on.

For every step and every variable that it changed the old value is put back after the step, and the rest of the schedule
is taken from there.  If a later step cannot happen then, or the claim holds at the end, the change is a red dot.  That
says what this schedule needs, not what every violation needs; and the state with the old value in it need not be
one that the model can reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.ir.types import label, leaves, show_path
from kvproto.trace.analysis import Dot
from kvproto.trace.trace import Value
from kvproto.whatif.schedule import Outcome, Put
from kvproto.whatif.subject import Replayed
from kvproto.whatif.words import refusing


def dots(run: Replayed) -> tuple[Dot, ...]:
    """The red dots of a trace, by step and then in the order of declaration."""
    return tuple(_found(run))


def _found(run: Replayed) -> Iterator[Dot]:
    root = run.system.state
    kinds = list(leaves(root))
    for step in range(1, len(run.states)):
        before, after = run.states[step - 1], run.states[step]
        for slot, (path, kind) in enumerate(kinds):
            if before[slot] == after[slot]:
                continue
            put = Put(step, slot, before[slot])
            changed = (*after[:slot], before[slot], *after[slot + 1 :])
            outcome = run.course.take([*run.states[:step], changed], put)
            if outcome.end in ("holds", "refused"):
                values = label(after[slot], kind), label(before[slot], kind)
                yield _dot(run, outcome, step, show_path(path, root), *values)


def _dot(run: Replayed, outcome: Outcome, step: int, path: str, value: Value, instead: Value) -> Dot:
    if outcome.end == "holds":
        return Dot(step, path, value, instead, "harmless", len(run.calls))
    condition = refusing(run.system, run.calls, outcome).condition
    return Dot(step, path, value, instead, "refused", outcome.step, condition)
