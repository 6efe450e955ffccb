"""The steps of the space-time diagram: dot, call, remarks, and what happens to pages in the same row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.page.layout import ASIDE, CALL, EVENT, LINE, Layout, PoolLane, note_room, short
from kvproto.page.remarks import MOST, red_dots
from kvproto.page.space import Box
from kvproto.page.svg import group, moved, number, room, tag, text, title
from kvproto.report.report import Row
from kvproto.trace.analysis import Dot
from kvproto.trace.printable import shown

BAD = ("wrong", "fault")

_HEAD = 9
"""The length of an arrow head."""


def rows(layout: Layout, *, slices: bool) -> str:
    """All steps; `slices` says that the verdict rests on some of them only, so that the others are dimmed."""
    red = red_dots(layout.report)
    return "".join(
        _row(layout, row, red.get(row.number, ()), lit=row.guilty or not slices) for row in layout.report.rows
    )


def tracks(layout: Layout) -> str:
    """What lies below lines: a row's ground, and the thread from its number to its dot and on to a landing."""
    return "".join(_track(layout, row) for row in layout.report.rows)


def _track(layout: Layout, row: Row) -> str:
    x, half = layout.lane(row.lane).x, layout.pitch / 2
    landings = [pool.x for pool in layout.pools for event in pool.column.events.get(row.number, []) if event.landing]
    return group(
        {"class": "track", "data-step": str(row.number), "transform": moved(0, layout.y(row.number))},
        tag("rect", {"class": "hit", "x": 0, "y": -half, "width": layout.width, "height": layout.pitch}),
        tag("path", {"class": "guide", "d": f"M{number(layout.left + 4)} 0H{number(x)}"}),
        *(tag("path", {"class": "tie", "d": f"M{number(x)} 0H{number(stop - 12)}"}) for stop in landings),
    )


def _row(layout: Layout, row: Row, red: Sequence[Dot], *, lit: bool) -> str:
    x = layout.lane(row.lane).x
    layout.space.take(Box(x - 9, layout.y(row.number) - 9, x + 9, layout.y(row.number) + 9))
    kinds = [note.kind for note in row.notes]
    classes = ["row", *(["guilty"] if lit else []), *dict.fromkeys("no-return" if k == "turn" else k for k in kinds)]
    bad = any(kind in BAD for kind in kinds)
    y = layout.y(row.number)
    return group(
        {
            "class": " ".join([*classes, *(["bad"] if bad else [])]),
            "data-step": str(row.number),
            "data-lane": row.lane,
            "data-requests": " ".join(row.requests) or None,
            "data-pages": " ".join(f"{page.pool}/{page.label}" for page in row.pages) or None,
            "transform": moved(0, y),
        },
        title(f"step {row.number}, {row.lane}: {row.full}. {row.text}"),
        _dot(x, bad=bad, landing=bool({"late", "bytes"} & set(kinds))),
        _red(layout, red),
        text(layout.left, 4, str(row.number), "number", anchor="end"),
        *_call(layout, row, x, y),
        *(part for pool in layout.pools for part in _said(layout, pool, row.number)),
    )


def _dot(x: float, *, bad: bool, landing: bool) -> str:
    """A disc; a cross in it where the step goes wrong, a lozenge where a write lands that should not."""
    if bad:
        cross = tag(
            "path",
            {
                "class": "cross",
                "d": f"M{number(x - 3.5)} -3.5L{number(x + 3.5)} 3.5M{number(x + 3.5)} -3.5L{number(x - 3.5)} 3.5",
            },
        )
        return tag("circle", {"class": "dot", "cx": x, "cy": 0, "r": 8}) + cross
    if landing:
        return tag(
            "path",
            {
                "class": "dot lozenge",
                "d": f"M{number(x - 7.5)} 0L{number(x)} -7.5L{number(x + 7.5)} 0L{number(x)} 7.5Z",
            },
        )
    return tag("circle", {"class": "dot", "cx": x, "cy": 0, "r": 4.5})


def _red(layout: Layout, dots: Sequence[Dot]) -> str:
    """A dot beside the number of a step that is a cause: had it left something as it was, there were no violation."""
    told = [f"had it left {dot.path} at {shown(dot.instead)}, the violation were gone" for dot in dots]
    mark = tag("circle", {"cx": layout.left - 28, "cy": 0, "r": 4.5})
    return group({"class": "red"}, title("; ".join(told)), mark) if told else ""


def _call(layout: Layout, row: Row, x: float, y: float) -> Iterator[str]:
    """The call beside the dot, and remarks below it: to the right, or to the left where there is more room."""
    call, notes = short(row.call), layout.remarks.get(row.number, ())
    gap, shift = _evasion(layout, row.number)
    widths, aside = [note_room(note) for note in notes], layout.aside(row)
    # Where there is room on neither side they pass below the dot.
    across = any(not layout.fits_right(x, wide) and not layout.fits_left(x, wide) for wide in widths)
    first = -LINE / 2 * len(notes) if notes and not aside and not across else 0 if across else shift
    yield _placed(layout, call, room(call, CALL, mono=True), "call", x + gap, first, y)
    for at, (note, wide) in enumerate(zip(notes, widths, strict=True), 1):
        yield _placed(layout, note.text, wide, f"note {note.kind}", x, 0 if aside else first + at * LINE, y)


def _evasion(layout: Layout, step: int) -> tuple[float, float]:
    """How a call makes room for lines that leave its dot to the right, or arrive from there: aside and up or down."""
    leaves, arrives = layout.right_of(step)
    if arrives:
        return _HEAD, 0 if leaves else 6
    return 0, -6 if leaves else 0


def _placed(layout: Layout, content: str, wide: float, kind: str, x: float, below: float, y: float) -> str:
    anchor, left = None, x + ASIDE
    if not layout.fits_right(x, wide):
        if layout.fits_left(x, wide):
            anchor, left = "end", x - ASIDE - wide
        else:
            left = max(layout.edge - wide, layout.left + 4)
    layout.space.take(Box(left - 3, y + below - 9, left + wide + 3, y + below + 6))
    return text(left + wide if anchor else left, below + 4, content, kind, anchor=anchor)


def _said(layout: Layout, pool: PoolLane, step: int) -> Iterator[str]:
    """What the step does to pages, in the lane of their pool."""
    found = pool.column.events.get(step, [])
    y = layout.y(step)
    if found:
        yield tag("rect", {"class": "tick", "x": pool.x - 3.5, "y": -3.5, "width": 7, "height": 7})
    for at, event in enumerate(found[:MOST]):
        more = f" (and {len(found) - MOST} more)" if at == MOST - 1 and len(found) > MOST else ""
        kind = "event alarm" if event.alarm else "event"
        below = (at - (min(len(found), MOST) - 1) / 2) * LINE
        wide = room(event.text + more, EVENT, mono=True)
        layout.space.take(Box(pool.words - 3, y + below - 8, pool.words + wide + 3, y + below + 6))
        yield text(pool.words, below + 3.5, event.text + more, kind)
