"""The pages over time: a row for every state in which something about a page is new, a small cell a page.

It is the map as a strip of film: fill is the last writer, frame the owner, and the letters say both where they differ,
`B<A` for a page of B that A wrote last.  A row is left out where it would only repeat the one above.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kvproto.page.maps import kind, misread
from kvproto.page.style import look
from kvproto.page.svg import Drawing, Shape, group, room, tag, text, title
from kvproto.report.report import Cell, Pool, Report
from kvproto.trace.printable import cut, printable

MOST_ROWS, MOST_PAGES = 14, 16
"""Longer films show their end, wider pools their beginning."""

_WIDE, _HIGH, _STEP = 44.0, 22.0, 26.0
_NAME = 4


def film(report: Report, pool: Pool) -> Drawing | None:
    """The film of a pool; None where nothing ever happens."""
    states = moments(report, pool)
    if len(states) < 2:
        return None
    shown, pages = states[-MOST_ROWS:], pool.pages[:MOST_PAGES]
    labels = [_label(report, state) for state in shown]
    left = max(room(label, 11, mono=True) for label in labels) + 14
    parts = [
        text(left + at * (_WIDE + 4) + _WIDE / 2, 12, cut(printable(page), _NAME), "number", anchor="middle")
        for at, page in enumerate(pages)
    ]
    wrong = misread(report)
    for row, (state, label) in enumerate(zip(shown, labels, strict=True)):
        cells = [pool.at(page, state) for page in pages]
        read = {page.label for page, steps in wrong.items() if page.pool == pool.name and state in steps}
        drawn = [
            _cell(report, cell, left + at * (_WIDE + 4), page in read)
            for at, (page, cell) in enumerate(zip(pages, cells, strict=True))
        ]
        place: Shape = {"class": "frame", "data-step": str(state), "transform": f"translate(0,{20 + row * _STEP:g})"}
        parts.append(group(place, text(0, 15, label, "number"), *drawn))
    y = 20 + len(shown) * _STEP
    for note in _omitted(len(states) - len(shown), len(pool.pages) - len(pages)):
        parts.append(text(0, y + 12, note, "small"))
        y += 16
    return Drawing(left + len(pages) * (_WIDE + 4), y, "".join(parts))


def moments(report: Report, pool: Pool) -> list[int]:
    """The start, and the states in which the owner or a writer of a page, or who reads it wrongly, is new."""
    found = {0}
    for cells in pool.cells:
        known = [(cell.since, cell.owner, cell.contents) for cell in cells]
        found |= {now[0] for before, now in pairwise(known) if before[1:] != now[1:]}
    found |= {step for page, steps in misread(report).items() if page.pool == pool.name for step in steps}
    return sorted(found)


def _label(report: Report, state: int) -> str:
    return f"{state:>3}  {cut(report.row(state).call, 24)}" if state else "  0  (start)"


def _omitted(rows: int, pages: int) -> list[str]:
    notes = [f"{rows} earlier changes are left out"] if rows else []
    return [*notes, f"{pages} more pages are left out"] if pages else notes


def _cell(report: Report, cell: Cell, x: float, wrong: bool) -> str:
    shape: Shape = {"x": x + 2, "y": 2, "width": _WIDE - 4, "height": _HIGH - 4}
    wide = (_WIDE - 4) / max(len(cell.contents), 1)
    fills = []
    for at, content in enumerate(cell.contents):
        stripe: Shape = {**shape, "x": x + 2 + at * wide, "width": wide}
        who = _look(report, content)
        fills += [tag("rect", {"class": f"fill {who}", **stripe}), tag("rect", {"class": f"hatch {who}", **stripe})]
    return group(
        {"class": kind(cell) + " small-cell" + " misread" * wrong},
        title(cell.words),
        *fills,
        tag("rect", {"class": f"edge {_look(report, cell.owner)}", **shape, "rx": 2}),
        text(x + _WIDE / 2, 14.5, short(cell) + "!" * wrong, "who", anchor="middle"),
    )


def _look(report: Report, name: str | None) -> str:
    return "none" if name is None or name not in report.requests else look(report.requests.index(name))


def short(cell: Cell) -> str:
    """`A`, `B<A`, `B<.`: owner, and last writer where that is another; with several slices, each of them."""
    contents: Sequence[str | None] = tuple(dict.fromkeys(cell.contents))
    if contents in ((cell.owner,), ()):
        return _name(cell.owner)
    told = contents if len(contents) == 1 else cell.contents
    return f"{_name(cell.owner)}<{'/'.join(map(_name, told))}"


def _name(name: str | None) -> str:
    return "." if name is None else cut(printable(name), _NAME)
