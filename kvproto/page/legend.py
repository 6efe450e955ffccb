"""What the marks of the diagram mean: those that occur."""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.page.layout import EVENT, Layout
from kvproto.page.remarks import red_dots, turn
from kvproto.page.style import look
from kvproto.page.svg import moved, room, tag, text
from kvproto.page.writes import ENDS

_ROW = 20
_STRIP = 'x="6" y="-7" width="14" height="14"'


def legend(places: Layout, *, slices: bool) -> tuple[str, float]:
    """The samples with their words, in lines below the lanes, and where they end."""
    x, y = places.left - 16, places.bottom + (34 if places.report.trace.loop is not None else 24)
    parts = []
    for sample, size, words in _entries(places, slices=slices):
        wide = size + 8 + room(words, EVENT) + 20
        if x + wide > places.width and x > places.left:
            x, y = places.left - 16, y + _ROW
        parts.append(tag("g", {"transform": moved(x, y)}, sample, text(size + 8, 3.5, words, "words")))
        x += wide
    return tag("g", {"class": "legend"}, *parts), y + 16


def _entries(places: Layout, *, slices: bool) -> Iterator[tuple[str, float, str]]:
    report = places.report
    kinds = {note.kind for row in report.rows for note in row.notes}
    if slices:
        yield _mark("row guilty", '<circle class="dot" cx="10" r="4.5"/>'), 16, "the verdict rests on it"
        yield _mark("row", '<circle class="dot" cx="10" r="4.5"/>'), 16, "it does not"
    if kinds & {"wrong", "fault"}:
        cross = '<circle class="dot" cx="10" r="8"/><path class="cross" d="M6.5 -3.5L13.5 3.5M13.5 -3.5L6.5 3.5"/>'
        yield _mark("row bad", cross), 16, "goes wrong"
    if any(message.taken is not None for message in report.messages):
        yield _mark("message", '<line class="line" x1="0" y1="-4" x2="30" y2="4"/>'), 32, "message, sent and taken"
    if any(message.taken is None for message in report.messages):
        stub = '<path class="line stub" d="M24 -5L13 1"/><circle class="open" cx="10" cy="2.5" r="3.2"/>'
        yield _mark("message", stub), 32, "message, not taken"
    yield from _writes(places)
    if red_dots(report):
        yield _mark("red", '<circle cx="8" r="4.5"/>'), 14, "had it left one thing as it was: no violation"
    if turn(report) is not None:
        yield _mark("rule", '<line x1="0" y1="0" x2="32" y2="0"/>'), 32, "after it nothing rules the violation out"


def _writes(places: Layout) -> Iterator[tuple[str, float, str]]:
    strips = [strip for pool in places.pools for bundle in pool.column.bundles for strip in bundle.strips]
    flights, kinds = [strip.flight for strip in strips], {strip.kind for strip in strips}
    for place, request in enumerate(places.report.requests):
        if any(flight.request == request for flight in flights):
            strip = f'<rect class="band {look(place)}" {_STRIP}/><rect class="hatch {look(place)}" {_STRIP}/>'
            yield _mark("flight", strip), 22, f"a write of {request} is under way"
    if any(strip.flight.landed is not None and not strip.kind for strip in strips):
        yield _mark("flight", '<line class="line c4" x1="0" y1="-4" x2="32" y2="4"/>'), 32, "write, posted and landed"
    if "late" in kinds:
        yield _mark("flight late", '<line class="line" x1="0" y1="-4" x2="32" y2="4"/>'), 32, "write that lands late"
    if "foreign" in kinds:
        yield (
            _mark("flight foreign", '<line class="line" x1="0" y1="-4" x2="32" y2="4"/>'),
            32,
            "write, other bytes",
        )
    if any(flight.late for flight in flights):
        yield _mark("flight", f'<rect class="lost" {_STRIP}/>'), 22, "its page is not its request's any more"
    if any(flight.ended is None for flight in flights):
        yield _mark("flight", _ending("going")), 32, "still under way at the end"
    if any(flight.ended is not None and flight.landed is None for flight in flights):
        yield _mark("flight", _ending("dropped")), 32, "dropped"


def _ending(how: str) -> str:
    line = f'<line class="line {how} c4" x1="0" y1="-4" x2="22" y2="2"/>'
    return f'{line}<g class="end c4" transform="translate(26,3)">{ENDS[how]}</g>'


def _mark(kind: str, inside: str) -> str:
    return f'<g class="{kind}">{inside}</g>'
