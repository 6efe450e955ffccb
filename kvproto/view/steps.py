"""The numbered list of steps: who did what, where it is written, and what changed."""

from __future__ import annotations

from kvproto.explain import backward_slice
from kvproto.report.changes import changes
from kvproto.report.containers import Containers
from kvproto.trace.printable import cells, fold, pad, printable, shown
from kvproto.trace.trace import Step, Trace
from kvproto.view.lanes import NARROWEST


def render_steps(trace: Trace, *, width: int = 80) -> str:
    """Every step with its text and its delta; `*` marks the steps that the verdict rests on."""
    width = max(width, NARROWEST)
    guilty = backward_slice(trace).steps if partly_guilty(trace) else frozenset()
    lanes = max((cells(printable(step.lane)) for step in trace.steps), default=0)
    digits = len(str(len(trace.steps)))
    containers = Containers(trace)
    rows: list[str] = []
    for number, (step, before) in enumerate(zip(trace.steps, trace.states(), strict=False), 1):
        star = "*" if number in guilty else " "
        changed = [f"{c.path}: {c.old} -> {c.new}" for c in changes(step.delta, before, containers)]
        rows += _step(step, changed, f"{star}{str(number).rjust(digits)}  ", lanes, width)
        if trace.loop is not None and number == len(trace.steps):
            rows.append(f"{' ' * (digits + 3)}{what_follows(trace.loop, len(trace.steps))}")
    return "\n".join(row.rstrip() for row in rows) + "\n" if rows else "  (none)\n"


def what_follows(loop: int, steps: int) -> str:
    """How a run without end goes on after its last step."""
    return f"then step {loop + 1} again, for ever" if loop < steps else "then nothing happens any more"


def partly_guilty(trace: Trace) -> bool:
    """Whether the verdict rests on some steps and not on others, so that a mark says something."""
    guilty = backward_slice(trace).steps
    return 0 < sum(number in guilty for number in range(1, len(trace.steps) + 1)) < len(trace.steps)


def _step(step: Step, changed: list[str], head: str, lanes: int, width: int) -> list[str]:
    indent = " " * len(head)
    args = ", ".join(f"{printable(name)}={shown(value)}" for name, value in step.args.items())
    title = f"{pad(printable(step.lane), min(lanes, width // 4))}  {printable(step.action)}({args})"
    loc = printable(step.loc)
    room = width - len(head)
    if cells(title) + 2 + cells(loc) <= room:
        lines = [head + pad(title, room - cells(loc)) + loc]
    else:
        parts = fold(title, room) + fold(loc, room)
        lines = [head + parts[0], *(indent + part for part in parts[1:])]
    lines += [indent + line for line in fold(printable(" ".join(step.text.split())), room)]
    for change in changed:
        first, *rest = fold(change, room - 4)
        lines += [f"{indent}  {first}", *(f"{indent}    {line}" for line in rest)]
    return lines
