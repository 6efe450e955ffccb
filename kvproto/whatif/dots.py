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
from kvproto.whatif.subject import Subject
from kvproto.whatif.words import refusing


def dots(subject: Subject) -> tuple[Dot, ...]:
    """The red dots of a trace, by step and then in the order of declaration."""
    return tuple(_found(subject))


def _found(subject: Subject) -> Iterator[Dot]:
    root = subject.system.state
    kinds = list(leaves(root))
    for step in range(1, len(subject.states)):
        before, after = subject.states[step - 1], subject.states[step]
        for slot, (path, kind) in enumerate(kinds):
            if before[slot] == after[slot]:
                continue
            put = Put(step, slot, before[slot])
            changed = (*after[:slot], before[slot], *after[slot + 1 :])
            outcome = subject.course.take([*subject.states[:step], changed], put)
            if outcome.end in ("holds", "refused"):
                values = label(after[slot], kind), label(before[slot], kind)
                yield _dot(subject, outcome, step, show_path(path, root), *values)


def _dot(subject: Subject, outcome: Outcome, step: int, path: str, value: Value, instead: Value) -> Dot:
    if outcome.end == "holds":
        return Dot(step, path, value, instead, "harmless", len(subject.calls))
    condition = refusing(subject.system, subject.calls, outcome).condition
    return Dot(step, path, value, instead, "refused", outcome.step, condition)
