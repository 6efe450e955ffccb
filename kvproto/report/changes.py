"""What a step changes, as people read it: neighbours of an array in one line, containers as a whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.report.containers import Containers
from kvproto.report.report import Change
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import State, Value

_INDEXED = re.compile(r"(.*\[)(\d+)(\][^\[\]]*)", re.DOTALL)


@dataclass
class _Run:
    """Changes of neighbouring elements of an array: `d_owner[0]`, `d_owner[1]`, ..."""

    head: str
    first: int
    last: int
    tail: str
    changes: list[tuple[Value, Value]]


def changes(delta: Mapping[str, tuple[Value, Value]], before: State, containers: Containers) -> list[Change]:
    """Every change of a step that began in `before`; containers first, then variables in order."""
    held, rest = containers.changes(delta, before)
    runs: list[_Run | Change] = []
    for path, (old, new) in rest.items():
        match = _INDEXED.fullmatch(path)
        # An index of thousands of digits is a name, not a number.
        if match is None or len(match[2]) > 9 or str(int(match[2])) != match[2]:
            runs.append(Change(printable(path), shown(old), shown(new)))
            continue
        head, at, tail = match[1], int(match[2]), match[3]
        last = runs[-1] if runs else None
        if isinstance(last, _Run) and (last.head, last.tail, last.last + 1) == (head, tail, at):
            last.last = at
            last.changes.append((old, new))
        else:
            runs.append(_Run(head, at, at, tail, [(old, new)]))
    return [*held, *(run if isinstance(run, Change) else _joined(run) for run in runs)]


def _joined(run: _Run) -> Change:
    span = str(run.first) if run.first == run.last else f"{run.first}-{run.last}"
    sides = []
    for side in (0, 1):
        values = [shown(change[side]) for change in run.changes]
        sides.append(values[0] if len(set(values)) == 1 else ", ".join(values))
    return Change(f"{printable(run.head)}{span}{printable(run.tail)}", *sides)
