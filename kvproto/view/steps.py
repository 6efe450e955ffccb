"""The numbered list of steps: who did what, where it is written, and what changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.explain import backward_slice
from kvproto.trace.printable import cells, fold, pad, printable, shown
from kvproto.trace.trace import Step, Trace, Value
from kvproto.view.containers import Containers
from kvproto.view.lanes import NARROWEST

_INDEXED = re.compile(r"(.*\[)(\d+)(\][^\[\]]*)", re.DOTALL)


@dataclass
class _Run:
    """Changes of neighbouring elements of an array: `d_owner[0]`, `d_owner[1]`, ..."""

    head: str
    first: int
    last: int
    tail: str
    changes: list[tuple[Value, Value]]


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
        held, rest = containers.changes(step.delta, before)
        rows += _step(step, [*held, *changes(rest)], f"{star}{str(number).rjust(digits)}  ", lanes, width)
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


def changes(delta: Mapping[str, tuple[Value, Value]]) -> list[str]:
    """`path: old -> new` for every change, equal or counting changes of neighbours in one line."""
    runs: list[_Run | str] = []
    for path, (old, new) in delta.items():
        match = _INDEXED.fullmatch(path)
        # An index of thousands of digits is a name, not a number.
        if match is None or len(match[2]) > 9 or str(int(match[2])) != match[2]:
            runs.append(f"{printable(path)}: {shown(old)} -> {shown(new)}")
            continue
        head, at, tail = match[1], int(match[2]), match[3]
        last = runs[-1] if runs else None
        if isinstance(last, _Run) and (last.head, last.tail, last.last + 1) == (head, tail, at):
            last.last = at
            last.changes.append((old, new))
        else:
            runs.append(_Run(head, at, at, tail, [(old, new)]))
    return [run if isinstance(run, str) else _line(run) for run in runs]


def _line(run: _Run) -> str:
    span = str(run.first) if run.first == run.last else f"{run.first}-{run.last}"
    sides = []
    for side in (0, 1):
        values = [shown(change[side]) for change in run.changes]
        sides.append(values[0] if len(set(values)) == 1 else ", ".join(values))
    return f"{printable(run.head)}{span}{printable(run.tail)}: {sides[0]} -> {sides[1]}"
