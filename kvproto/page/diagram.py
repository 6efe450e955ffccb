"""The space-time diagram of a trace: machines from left to right, steps from top to bottom.

Messages and writes are sloped lines, so that the time between sending and taking is seen; a write is also a strip
beside the pool for as long as it can still land.  Everything below the words is drawn first: lines pass behind them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.page.labels import on_line
from kvproto.page.layout import LONGEST, Layout, heading, layout, pool_title
from kvproto.page.legend import legend
from kvproto.page.messages import causes, messages
from kvproto.page.messages import lines as sent
from kvproto.page.remarks import turn
from kvproto.page.rows import rows, tracks
from kvproto.page.space import Point
from kvproto.page.svg import NAMESPACE, Drawing, Shape, group, moved, number, tag, text, title
from kvproto.page.writes import lines as posted
from kvproto.page.writes import writes
from kvproto.report.report import Report
from kvproto.trace.printable import cut, printable


def diagram(report: Report) -> str:
    """The diagram as an `svg` element; the page around it brings `style.stylesheet` and `style.definitions` once."""
    places = layout(report)
    return drawing(places).svg(
        {
            "xmlns": NAMESPACE,
            "class": "kv diagram",
            "role": "img",
            "aria-label": spoken(report),
            "data-top": places.top,
            "data-pitch": places.pitch,
        }
    )


def spoken(report: Report) -> str:
    """The diagram in a sentence, for those who hear it: the list of steps says the rest."""
    late = sum(flight.late and flight.landed is not None for flight in report.flights)
    parts = [f"{len(report.rows)} steps on {len(report.lanes)} machines", f"{len(report.messages)} messages"]
    parts += [f"{len(report.flights)} writes, {late} of them late"] if report.flights else []
    return f"Space-time diagram: {', '.join(parts)}. The list of steps says the same in words."


def drawing(places: Layout) -> Drawing:
    """The diagram with its legend."""
    slices = 0 < sum(row.guilty for row in places.report.rows) < len(places.report.rows)
    # Words take their places first; what is drawn below them is put before them.
    steps = rows(places, slices=slices)
    turning = turn(places.report)
    across = [_rule_line(places, turning[0])] if turning is not None else []
    for line in (*sent(places), *posted(places), *across):
        places.space.draw(*line)
    rule = _rule(places)
    dma, mail, edges = writes(places), messages(places), causes(places)
    below, height = legend(places, slices=slices)
    body = "".join(
        (
            _cursor(places),
            group({"class": "tracks"}, tracks(places)),
            *_lanes(places),
            *_loop(places),
            group({"class": "writes"}, dma),
            group({"class": "causes"}, edges),
            group({"class": "messages"}, mail),
            rule,
            group({"class": "rows"}, steps),
            below,
        )
    )
    return Drawing(places.width, height, body)


def _cursor(places: Layout) -> str:
    """The ground of the step that a script stands on; it is not seen without one."""
    shape: Shape = {"x": 0, "y": -places.pitch / 2, "width": places.width, "height": places.pitch}
    return tag("rect", {"class": "cursor", **shape, "transform": moved(0, places.y(places.steps))})


def _lanes(places: Layout) -> Iterator[str]:
    for lane in places.lanes:
        yield _lane(places, "lane", lane.name, lane.name, lane.x)
    for pool in places.pools:
        yield _lane(places, "lane pool", pool.name, pool_title(pool.name), pool.x)


def _lane(places: Layout, kind: str, name: str, shown: str, x: float) -> str:
    wide = heading(shown)
    label = cut(printable(shown), LONGEST)
    head: Shape = {"x": x - wide / 2, "y": 14, "width": wide, "height": 26}
    return group(
        {"class": kind, "data-lane": name, "data-x": x},
        title(name),
        tag("line", {"class": "life", "x1": x, "y1": places.header, "x2": x, "y2": places.bottom}),
        tag("rect", {"class": "head", **head, "rx": 2 if "pool" in kind else 13}),
        text(x, 31, label, "name", anchor="middle"),
    )


def _rule(places: Layout) -> str:
    """The point of no return, between the step that passes it and the next one."""
    found = turn(places.report)
    if found is None:
        return ""
    number, words = found
    start, stop = _rule_line(places, number)
    y, below = places.y(number), places.pitch / 2
    label = on_line(places.space, words, 11, start, stop, base=y)
    return group(
        {"class": "rule", "data-step": str(number), "transform": moved(0, y)},
        title("after this step the violation could still be reached, whatever happened"),
        tag("line", {"x1": start[0], "y1": below, "x2": stop[0], "y2": below}),
        label or text(start[0], below - 3, words, "label"),
    )


def _rule_line(places: Layout, step: int) -> tuple[Point, Point]:
    y = places.y(step) + places.pitch / 2
    return (places.left - 22, y), (places.width - 6, y)


def _loop(places: Layout) -> Iterator[str]:
    """At the left: from the last step back to the one that follows it, or that nothing happens any more."""
    loop, report = places.report.trace.loop, places.report
    if loop is None:
        return
    x = places.left - 34
    if loop >= places.steps:
        words = text(places.left - 20, places.bottom + 14, report.ending, "words")
        yield group({"class": "loop", "data-to": str(places.steps)}, words)
        return
    top, bottom = places.y(loop + 1), places.y(places.steps)
    path = f"M{number(x + 12)} {number(bottom)}H{number(x)}V{number(top)}H{number(x + 12)}"
    # The rotation is inside a group, so that what moves the group need not know of it.
    words = tag("text", {"class": "words", "text-anchor": "middle", "transform": "rotate(-90)"}, "repeats for ever")
    yield group(
        {"class": "loop", "data-from": str(loop + 1), "data-to": str(places.steps)},
        title(report.ending),
        tag("path", {"class": "line", "d": path}),
        tag("g", {"transform": moved(x - 8, (top + bottom) / 2)}, words),
    )
