"""Page maps: who owns a page against who wrote it last.

`B` is a page of B with B's content; `B<A` is a page of B with A's content, `B<.` one that is empty;
`.<A` is free and still holds A's content; `.` is free and empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvproto.explain import PageRead, domain_edges
from kvproto.trace.printable import cells, cut, pad, printable
from kvproto.trace.trace import PoolView, State, Trace, Value
from kvproto.view.lanes import NARROWEST, legend, short_call

LEGEND = (
    "B: B's page with B's content",
    "B<A: B's page, written last by A",
    "B<.: B's page, empty",
    ".<A: free, still holds A's content",
    ".: free and empty",
    "!: read in this step though not the reader's own content",
)
_LABEL = 22


SLICES = "B<A/.: B's page, one slice of it written last by A, the next one empty"
"""Explained where pages have several slices that differ."""


def cell(owner: Value, *contents: Value) -> str:
    """The text of one page, with all its slices if they differ."""
    who = _name(owner)
    if all(content == owner for content in contents):
        return who
    first, *rest = contents
    what = [first] if all(content == first for content in rest) else contents
    return f"{who}<{'/'.join(map(_name, what))}"


def _name(value: Value) -> str:
    return "." if value is None else printable(str(value))


def render_page_map(trace: Trace, *, after: int | None = None, width: int = 80) -> str:
    """All pools after a step (0: at the start; by default after the last one)."""
    width = max(width, NARROWEST)
    after = len(trace.steps) if after is None else min(max(after, 0), len(trace.steps))
    state = _states(trace)[after]
    rows: list[str] = []
    for pool in trace.vocabulary.pools:
        rows += _table(pool, [(after, f"after step {after}" if after else "at the start", _row(pool, state))], width)
    return _text(rows, width)


def render_page_changes(trace: Trace, *, width: int = 80) -> str:
    """One table a pool: a row for every step that changed a page or read what its request had not written."""
    width = max(width, NARROWEST)
    states = _states(trace)
    wrong = [read for read in domain_edges(trace).reads if not read.own and read.step <= len(trace.steps)]
    rows: list[str] = []
    for pool in trace.vocabulary.pools:
        rows += _table(pool, list(_changes(trace, pool, states, wrong)), width)
    return _text(rows, width)


def _states(trace: Trace) -> list[State]:
    return list(trace.states())


def _row(pool: PoolView, state: State) -> list[str]:
    return [cell(state.get(pool.owned(p)), *map(state.get, pool.contents(p).values())) for p in pool.pages]


def _changes(
    trace: Trace, pool: PoolView, states: list[State], wrong: Sequence[PageRead]
) -> Iterable[tuple[int, str, list[str]]]:
    """Number, action and cells of the rows of a pool's table."""
    before = _row(pool, states[0])
    yield 0, "(start)", before
    for number, step in enumerate(trace.steps, 1):
        now = _row(pool, states[number])
        read = {r.page.label for r in wrong if r.step == number and r.page.pool == pool.name}
        if now != before or read:
            marked = [text + "!" * (page in read) for text, page in zip(now, pool.pages, strict=True)]
            yield number, short_call(step), marked
        before = now


def _table(pool: PoolView, rows: Sequence[tuple[int, str, list[str]]], width: int) -> list[str]:
    """A pool's rows under its page labels, in blocks of as many pages as fit."""
    if not pool.pages:
        return []
    names = [printable(page) for page in pool.pages]
    digits = max(len(str(number)) for number, _, _ in rows)
    label = min(_LABEL, max(cells(text) for text in [*(text for _, text, _ in rows), f"{printable(pool.name)} page"]))
    left = digits + 2 + label + 2
    size = max(cells(text) for text in [*names, *(text for _, _, line in rows for text in line)]) + 1
    size = min(size, width - left)
    block = max((width - left) // size, 1)
    lines: list[str] = []
    for start in range(0, len(names), block):
        some = slice(start, start + block)
        head = pad(cut(f"{printable(pool.name)} page", label), label)
        lines.append(" " * (digits + 2) + head + "  " + _cells(names[some], size))
        for number, text, line in rows:
            shown = pad(cut(text, label), label)
            lines.append(f"{str(number).rjust(digits)}  {shown}  {_cells(line[some], size)}")
        lines.append("")
    return lines


def _cells(texts: Sequence[str], size: int) -> str:
    return "".join(pad(cut(text, max(size - 1, 1)), size) for text in texts)


def _text(rows: list[str], width: int) -> str:
    if not rows:
        return "  (the model has no page pools)\n"
    several = any("<" in row and "/" in row for row in rows)
    entries = [*LEGEND, SLICES] if several else LEGEND
    return "\n".join(row.rstrip() for row in [*rows, *legend(entries, width)]) + "\n"
