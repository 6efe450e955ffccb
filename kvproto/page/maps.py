"""The page map: a cell a page, filled by its last writer and framed by its owner.

Fill and frame carry the request's colour, the fill also its hatch, the frame its dashes, and the words say both.  Where
the two differ the frame is thick.  A dot is a write that can still land.  A page in slices is filled in stripes.

A script paints a cell anew by putting the same elements into it: `inside` depends on the `Cell` and on the places of
requests in `Report.requests` alone, and all colours are classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kvproto.explain import Page
from kvproto.page.style import look
from kvproto.page.svg import NAMESPACE, Drawing, Shape, group, moved, room, tag, text, title, words
from kvproto.report.report import Cell, Pool, Report
from kvproto.trace.printable import cut, printable

WIDTH, HEIGHT, STEP_X, STEP_Y = 66, 54, 74, 62
_INSET, _FILL = 3, 6
_BIG, _SMALL = 3, 6
"""Names of at most so many characters are written large; longer ones are cut to the second length."""

_ROWS = ((8, 8), (24, 12), (1 << 40, 16))
"""So many pages stand in rows of so many."""

_DOTS = 4

_MISREAD = (
    '<g class="wrong" transform="translate(56,44)"><circle r="8"/><path d="M-3.5 -3.5L3.5 3.5M3.5 -3.5L-3.5 3.5"/></g>'
)
"""The mark of a page that the step reads for a request that had not written it."""


def misread(report: Report) -> dict[Page, list[int]]:
    """The steps at which each page was read for a request that had not written it; a landing only copies."""
    copied = {(flight.landed, flight.source) for flight in report.flights}
    found: dict[Page, list[int]] = {}
    for read in report.reads:
        real = read.step <= len(report.rows) and read.reader is not None and (read.step, read.page) not in copied
        if real and not read.own and read.step not in found.get(read.page, []):
            found.setdefault(read.page, []).append(read.step)
    return found


def page_maps(report: Report, *, state: int | None = None) -> str:
    """A figure for every pool, in the state after the last step or in another one."""
    at = len(report.rows) if state is None else state
    return "".join(_figure(report, pool, at) for pool in report.pools if pool.pages) + _key(report)


def _figure(report: Report, pool: Pool, state: int) -> str:
    when = f"after step {state}" if state else "at the start"
    caption = tag("figcaption", {}, words(f"pages of {pool.name}"), tag("span", {"class": "when"}, words(f", {when}")))
    picture = pool_map(report, pool, state).svg(
        {
            "xmlns": NAMESPACE,
            "class": "kv map",
            "role": "group",
            "aria-label": f"pages of {pool.name}",
        }
    )
    return tag("figure", {"class": "pool", "data-pool": pool.name}, caption, picture)


def per_row(pages: int) -> int:
    """How many cells stand in a row."""
    return min(next(wide for most, wide in _ROWS if pages <= most), max(pages, 1))


def pool_map(report: Report, pool: Pool, state: int) -> Drawing:
    """All pages of a pool in a state."""
    wide, wrong = per_row(len(pool.pages)), misread(report)
    cells = [
        _cell(report, pool, page, state, moved(at % wide * STEP_X + 4, at // wide * STEP_Y + 4), wrong)
        for at, page in enumerate(pool.pages)
    ]
    rows = -(-len(pool.pages) // wide)
    return Drawing(wide * STEP_X, rows * STEP_Y, "".join(cells))


def _cell(report: Report, pool: Pool, page: str, state: int, place: str, wrong: Mapping[Page, list[int]]) -> str:
    cell, steps = pool.at(page, state), wrong.get(Page(pool.name, page), [])
    return tag(
        "g",
        {
            "class": kind(cell) + " misread" * (state in steps),
            "role": "img",
            "data-pool": pool.name,
            "data-page": page,
            "aria-label": cell.words,
            "data-misread": " ".join(map(str, steps)) or None,
            "transform": place,
        },
        title(cell.words),
        inside(report.requests, page, cell),
        _MISREAD if steps else "",
    )


def kind(cell: Cell) -> str:
    """The classes of a cell: `stale` where owner and content differ, `blank` if empty, `free` if nobody owns it."""
    if cell.owner is None:
        return "cell free" if any(content is not None for content in cell.contents) else "cell free empty"
    if not cell.stale:
        return "cell"
    return "cell stale" if any(content is not None for content in cell.contents) else "cell stale blank"


def inside(requests: Sequence[str], page: str, cell: Cell) -> str:
    """What is drawn in a cell: fill, hatch and frame, the page's label, whose it is, writes to come."""
    return "".join(
        (
            *_fills(requests, cell),
            _edge(requests, cell),
            text(9, 16, cut(printable(page), 5), "page"),
            *_whose(cell),
            *_coming(requests, cell),
        )
    )


def _fills(requests: Sequence[str], cell: Cell) -> Iterator[str]:
    """A stripe a slice, from left to right."""
    wide = (WIDTH - 2 * _FILL) / max(len(cell.contents), 1)
    for at, content in enumerate(cell.contents):
        shape: Shape = {
            "x": _FILL + at * wide,
            "y": _FILL,
            "width": wide,
            "height": HEIGHT - 2 * _FILL,
        }
        who = _look(requests, content)
        yield tag("rect", {"class": f"fill {who}", **shape})
        yield tag("rect", {"class": f"hatch {who}", **shape})


def _look(requests: Sequence[str], name: str | None) -> str:
    return "none" if name is None or name not in requests else look(requests.index(name))


def _edge(requests: Sequence[str], cell: Cell) -> str:
    size: Shape = {
        "x": _INSET,
        "y": _INSET,
        "width": WIDTH - 2 * _INSET,
        "height": HEIGHT - 2 * _INSET,
        "rx": 3,
    }
    return tag("rect", {"class": f"edge {_look(requests, cell.owner)}", **size})


def whose(cell: Cell) -> tuple[str, ...]:
    """The words in a cell: one name where owner and content agree, else one line for each."""
    contents = list(dict.fromkeys(cell.contents))
    if contents in ([cell.owner], []):
        return (_name(cell.owner, "·"),)
    first = "free" if cell.owner is None else f"own {_name(cell.owner, '')}"
    if contents == [None]:
        return first, "empty"
    return first, f"wr {'/'.join(_name(content, '-') for content in cell.contents)}"


def _name(name: str | None, nobody: str) -> str:
    return nobody if name is None else cut(printable(name), _SMALL)


def _whose(cell: Cell) -> Iterator[str]:
    lines = whose(cell)
    if len(lines) == 1:
        size = "who big" if len(lines[0]) <= _BIG else "who"
        yield text(WIDTH / 2, 32, lines[0], size, anchor="middle")
        return
    for at, line in enumerate(lines):
        yield text(WIDTH / 2, 27 + 12 * at, cut(line, 10), "who", anchor="middle")


def _coming(requests: Sequence[str], cell: Cell) -> Iterator[str]:
    """A dot a write that is under way, with the first letter of its request; their number where there are many."""
    shown = cell.coming if len(cell.coming) <= _DOTS else cell.coming[: _DOTS - 1]
    for at, request in enumerate(shown):
        x = WIDTH - 11 - 13 * at
        yield tag("circle", {"class": f"coming {_look(requests, request)}", "cx": x, "cy": 10, "r": 6})
        yield text(x, 13, printable(request)[:1], "letter", anchor="middle")
    if len(shown) < len(cell.coming):
        yield text(WIDTH - 11 - 13 * len(shown), 13, f"+{len(cell.coming) - len(shown)}", "letter", anchor="middle")


def _key(report: Report) -> str:
    """What the marks mean, those that occur in some state."""
    if not any(pool.pages for pool in report.pools):
        return ""
    drawing = key(report)
    return drawing.svg({"xmlns": NAMESPACE, "class": "kv key", "role": "img", "aria-label": "how to read a page"})


def key(report: Report, *, width: float = 640) -> Drawing:
    """The legend of the maps: samples with words."""
    x, y, parts = 4.0, 4.0, []
    for cell, more, told in _samples(report):
        wide = WIDTH * 0.62 + 10 + room(told, 10.5) * 1.05 + 20
        if x + wide > width and x > 4:
            x, y = 4.0, y + 42
        small = {"class": f"{kind(cell)} {more}".strip(), "transform": f"{moved(x, y)} scale(.62)"}
        parts.append(
            group(small, inside(report.requests, "", cell), _MISREAD if more else "")
            + text(x + WIDTH * 0.62 + 8, y + 21, told, "small")
        )
        x += wide
    return Drawing(width, y + 42, "".join(parts))


def _samples(report: Report) -> Iterator[tuple[Cell, str, str]]:
    """A cell of each kind that occurs, as it first occurs, with its meaning."""
    meanings = {
        "own": "owned and written by the same",
        "stale": "owned by one, last written by another",
        "blank": "owned, never written",
        "free": "free, still holds content",
        "coming": "a dot: a write that can still land",
    }
    found: dict[str, Cell] = {}
    for cell in (cell for pool in report.pools for history in pool.cells for cell in history):
        bare = replace(cell, coming=())
        found.setdefault(_meaning(cell), bare)
        if cell.coming:
            found.setdefault("coming", cell)
    for name, meaning in meanings.items():
        if name in found:
            yield found[name], "", meaning
    for page, steps in list(misread(report).items())[:1]:
        pool = next(pool for pool in report.pools if pool.name == page.pool)
        yield (
            replace(pool.at(page.label, steps[0]), coming=()),
            "misread",
            "read in this step for one who had not written it",
        )


def _meaning(cell: Cell) -> str:
    if cell.owner is None:
        return "free" if any(cell.contents) else "nothing"
    if not cell.stale:
        return "own"
    return "blank" if not any(cell.contents) else "stale"
