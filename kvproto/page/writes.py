"""Writes in the space-time diagram: a sloped line from posting to landing, and a strip beside the pool meanwhile.

A bundle of many writes has a line for the first and the last landing, and for the first and the last of those that
should not be; the strips show the others.  The line of a write that has not landed ends open, below the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.explain import Flight
from kvproto.page.bands import Bundle, Strip
from kvproto.page.labels import on_line
from kvproto.page.layout import EVENT, Layout, PoolLane
from kvproto.page.space import Point
from kvproto.page.style import look
from kvproto.page.svg import Shape, group, moved, tag, title

_LINES = 3
"""A bundle has at most so many lines of a kind."""


def writes(layout: Layout) -> str:
    """All writes to pools that have a lane."""
    return "".join(_bundle(layout, pool, bundle) for pool in layout.pools for bundle in pool.column.bundles)


def _bundle(layout: Layout, pool: PoolLane, bundle: Bundle) -> str:
    drawn = _drawn(bundle.strips)
    return "".join(_flight(layout, pool, strip, line=strip.flight.name in drawn) for strip in bundle.strips)


def _drawn(strips: Sequence[Strip]) -> set[str]:
    """The writes of a bundle with a line: of each kind, and of each end, the first and the last if there are many."""
    ends: dict[str, dict[int | None, str]] = {}
    for strip in sorted(strips, key=_ending):
        flight = strip.flight
        kind = strip.kind or ("landed" if flight.landed is not None else "not landed")
        ends.setdefault(kind, {}).setdefault(flight.ended, flight.name)
    chosen = [list(names.values()) for names in ends.values()]
    return {name for names in chosen for name in (names if len(names) <= _LINES else (names[0], names[-1]))}


def _ending(strip: Strip) -> tuple[bool, int]:
    return strip.flight.ended is None, strip.flight.ended or 0


def _flight(layout: Layout, pool: PoolLane, strip: Strip, *, line: bool) -> str:
    flight = strip.flight
    colours = look(layout.report.requests.index(flight.request))
    page = flight.target.label if flight.target is not None else ""
    return group(
        {
            "class": f"flight {strip.kind}".strip(),
            "data-flight": flight.name,
            "data-from": str(flight.posted),
            "data-to": None if flight.ended is None else str(flight.ended),
            "data-page": f"{pool.name}/{page}" if page else None,
            "data-request": flight.request,
        },
        title(_told(strip, pool)),
        *_strip(layout, pool, strip, colours),
        *(_line(layout, pool, strip, colours) if line else ()),
    )


def _told(strip: Strip, pool: PoolLane) -> str:
    flight = strip.flight
    page = flight.target.label if flight.target is not None else "?"
    part = f", slice {flight.slice}" if flight.slice else ""
    start = f"posted at step {flight.posted}" if flight.posted else "under way from the start"
    ending = "still under way at the end"
    if flight.landed is not None:
        ending = f"landed at step {flight.landed}"
        if flight.late:
            ending += ", LATE: the page was " + (f"{flight.owner}'s" if flight.owner is not None else "free")
        if strip.brought is not None:
            ending += f", with the bytes of {strip.brought}"
    elif flight.ended is not None:
        ending = f"dropped at step {flight.ended}"
    return f"write of {flight.request} to {pool.name} page {page}{part}: {start}, {ending}"


def _strip(layout: Layout, pool: PoolLane, strip: Strip, colours: str) -> Iterator[str]:
    flight = strip.flight
    begin = layout.y(flight.posted)
    until = layout.y(flight.ended) if flight.ended is not None else layout.bottom - 4
    x = pool.x + 8 + strip.x
    shape: Shape = {"x": x, "y": begin, "width": strip.width, "height": until - begin}
    yield tag("rect", {"class": f"band {colours}", **shape})
    yield tag("rect", {"class": f"hatch {colours}", **shape})
    if strip.lost is not None:
        since = layout.y(strip.lost)
        place: Shape = {"x": x, "y": since, "width": strip.width, "height": until - since}
        yield tag("rect", {"class": "lost", "data-since": str(strip.lost), **place})


def _line(layout: Layout, pool: PoolLane, strip: Strip, colours: str) -> Iterator[str]:
    flight = strip.flight
    if not flight.posted:
        return
    start, stop = _ends(layout, pool, flight)
    how = "" if flight.landed is not None else "dropped" if flight.ended is not None else "going"
    kind = f"line {colours} {how}".strip()
    yield tag("line", {"class": kind, "x1": start[0], "y1": start[1], "x2": stop[0], "y2": stop[1]})
    if how:
        yield tag("g", {"class": f"end {colours}", "transform": moved(*stop)}, ENDS[how])
    if strip.kind:
        yield on_line(layout.space, _WORDS[strip.kind], EVENT + 2, start, stop)


def _ends(layout: Layout, pool: PoolLane, flight: Flight) -> tuple[Point, Point]:
    x = layout.lane(layout.report.row(flight.posted).lane).x
    until = layout.y(flight.ended) if flight.ended is not None else layout.bottom - 4
    return (x, layout.y(flight.posted)), (pool.x - 3, until)


def lines(layout: Layout) -> Iterator[tuple[Point, Point]]:
    """The lines of all writes that have one."""
    for pool in layout.pools:
        for bundle in pool.column.bundles:
            drawn = _drawn(bundle.strips)
            yield from (_ends(layout, pool, f) for f in bundle.flights if f.posted and f.name in drawn)


ENDS = {"dropped": '<path d="M-5 -5L5 5M5 -5L-5 5"/>', "going": '<circle r="4.5"/>'}
"""The ends of the lines of writes that did not land."""

_WORDS = {"late": "LATE", "foreign": "WRONG BYTES"}
