"""Page maps: who owns a page against who wrote it last.

`B` is a page of B with B's content; `B<A` is a page of B with A's content, `B<.` one that is empty;
`.<A` is free and still holds A's content; `.` is free and empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.report.report import Cell, Pool, Report
from kvproto.trace.printable import cells, cut, pad, printable
from kvproto.view.choice import Choice, plan
from kvproto.view.lanes import NARROWEST, legend

LEGEND = {
    "B": "B: B's page with B's content",
    "B<A": "B<A: B's page, written last by A",
    "B<.": "B<.: B's page, empty",
    ".<A": ".<A: free, still holds A's content",
    ".": ".: free and empty",
}
"""What cells look like; the kinds that occur are explained below the tables."""

WRONG = "!: read in this step though not the reader's own content"
SLICES = "B<A/.: B's page, one slice of it written last by A, the next one empty"
"""Explained where pages have several slices that differ."""

_LABEL = 22


def page_text(owner: str | None, *contents: str | None) -> str:
    """The text of one page, with all its slices if they differ."""
    who = _name(owner)
    if all(content == owner for content in contents):
        return who
    first, *rest = contents
    what = [first] if all(content == first for content in rest) else contents
    return f"{who}<{'/'.join(map(_name, what))}"


def _name(value: str | None) -> str:
    return "." if value is None else printable(value)


def render_page_map(report: Report, *, after: int | None = None, width: int = 80) -> str:
    """All pools after a step (0: at the start; by default after the last one)."""
    width = max(width, NARROWEST)
    after = len(report.rows) if after is None else min(max(after, 0), len(report.rows))
    rows: list[str] = []
    for pool in report.pools:
        when = f"after step {after}" if after else "at the start"
        rows += _table(pool, list(pool.pages), [("", when, _row(pool, list(pool.pages), after))], width)
    return _text(report, rows, width)


def render_page_changes(report: Report, *, width: int = 80, choice: Choice | None = None) -> str:
    """One table a pool: a row for every step that changed a page or read what its request had not written."""
    width = max(width, NARROWEST)
    choice = choice or Choice()
    shown = {part for part in plan(report, choice) if isinstance(part, int)}
    rows: list[str] = []
    for pool in report.pools:
        pages = [page for page in pool.pages if choice.shows(pool.name, page)]
        changed = [(str(number), call, line) for number, call, line in _changes(report, pool, pages, shown)]
        rows += _table(pool, pages, changed, width)
    return _text(report, rows, width)


def _row(pool: Pool, pages: Sequence[str], state: int) -> list[str]:
    return [_text_of(pool.at(page, state)) for page in pages]


def _text_of(cell: Cell) -> str:
    return page_text(cell.owner, *cell.contents)


def _changes(report: Report, pool: Pool, pages: Sequence[str], shown: set[int]) -> Iterator[tuple[int, str, list[str]]]:
    """Number, action and cells of the rows of a pool's table."""
    place = {page: at for at, page in enumerate(pages)}
    before = _row(pool, pages, 0)
    yield 0, "(start)", before
    wrong = wrong_pages(report, pool.name)
    turns = {cell.since for page in pages for cell in pool.cells[pool.pages.index(page)]}
    for number in sorted((turns | set(wrong)) & shown):
        now = _row(pool, pages, number)
        read = wrong.get(number, set()) & place.keys()
        if now != before or read:
            marked = [text + "!" * (page in read) for text, page in zip(now, pages, strict=True)]
            yield number, report.row(number).call, marked
        before = now


def wrong_pages(report: Report, pool: str) -> dict[int, set[str]]:
    """By step, the pages of a pool that were read though their content was not the reader's own."""
    found: dict[int, set[str]] = {}
    for read in report.reads:
        if not read.own and read.step <= len(report.rows) and read.page.pool == pool:
            found.setdefault(read.step, set()).add(read.page.label)
    return found


def _table(pool: Pool, pages: Sequence[str], rows: Sequence[tuple[str, str, list[str]]], width: int) -> list[str]:
    """A pool's rows under its page labels, in blocks of as many pages as fit."""
    if not pages:
        return []
    names = [printable(page) for page in pages]
    digits = max(len(number) for number, _, _ in rows)
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
            lines.append(f"{number.rjust(digits)}  {shown}  {_cells(line[some], size)}")
        lines.append("")
    return lines


def _cells(texts: Sequence[str], size: int) -> str:
    return "".join(pad(cut(text, max(size - 1, 1)), size) for text in texts)


def _text(report: Report, rows: list[str], width: int) -> str:
    if not rows:
        return "  (the model has no page pools)\n"
    cells = [cell for pool in report.pools for history in pool.cells for cell in history]
    entries = [text for kind, text in LEGEND.items() if kind in {_kind(cell) for cell in cells}]
    if any("!" in row for row in rows):
        entries.append(WRONG)
    if any(len(set(cell.contents)) > 1 for cell in cells):
        entries.append(SLICES)
    return "\n".join(row.rstrip() for row in [*rows, *legend(entries, width)]) + "\n"


def _kind(cell: Cell) -> str:
    """The key of the legend that explains a cell."""
    content = next((content for content in cell.contents if content != cell.owner), cell.owner)
    if cell.owner is None:
        return "." if content is None else ".<A"
    return "B" if content == cell.owner else "B<." if content is None else "B<A"
