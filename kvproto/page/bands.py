"""Writes under way beside the line of a pool: a strip each, from the row of its posting to that of its landing.

Writes that one step posts for one request stand side by side as one bundle, a strip a page, so that the width of the
bundle says how many are still to come.  What happens to pages is put in words in the rows in which it happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kvproto.explain import Flight
from kvproto.explain.words import ranges
from kvproto.report.report import Pool, Report

SPACE = 5
_THIN, _THICK, _BUNDLE = 2.5, 14.0, 48.0


@dataclass(frozen=True, slots=True)
class Strip:
    """A write in its place: x counts from the beginning of the column."""

    flight: Flight
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bundle:
    """The writes that one step posted for one request."""

    request: str
    posted: int
    strips: tuple[Strip, ...]

    @property
    def flights(self) -> tuple[Flight, ...]:
        """The writes, those that stay longest first."""
        return tuple(strip.flight for strip in self.strips)


@dataclass(frozen=True, slots=True)
class Event:
    """What a step does to the pages of a pool, in few words; `landing` of a write, `alarm` where it should not have."""

    text: str
    landing: bool
    alarm: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A pool's bundles, how wide they are together, and its events by step."""

    pool: str
    bundles: tuple[Bundle, ...]
    width: float
    events: dict[int, list[Event]]

    def texts(self) -> list[str]:
        """Every text of an event."""
        return [event.text for events in self.events.values() for event in events]


def columns(report: Report) -> list[Column]:
    """One for every pool that writes go to, in the order of the model."""
    found = []
    for pool in report.pools:
        flights = [flight for flight in report.flights if flight.target is not None and flight.target.pool == pool.name]
        if flights:
            bundles, width = _bundles(flights)
            found.append(Column(pool.name, bundles, width, events(pool, flights)))
    return found


def _bundles(flights: Sequence[Flight]) -> tuple[tuple[Bundle, ...], float]:
    """Each bundle at the first place that is free while it flies."""
    together: dict[tuple[int, str], list[Flight]] = {}
    for flight in flights:
        together.setdefault((flight.posted, flight.request), []).append(flight)
    busy: list[tuple[float, float, int, int]] = []
    bundles = []
    for (posted, request), members in sorted(together.items()):
        members.sort(key=lambda flight: (-_end(flight), len(flight.position), flight.position, flight.way))
        thin = min(max(_BUNDLE / len(members), _THIN), _THICK)
        last, width = max(map(_end, members)), thin * len(members)
        x = 0.0
        for begin, until, start, stop in sorted(busy):
            if start <= last and posted <= stop and x < until + SPACE and begin < x + width + SPACE:
                x = until + SPACE
        busy.append((x, x + width, posted, last))
        strips = tuple(Strip(flight, x + at * thin, thin) for at, flight in enumerate(members))
        bundles.append(Bundle(request, posted, strips))
    return tuple(bundles), max(until for _, until, _, _ in busy)


def _end(flight: Flight) -> int:
    return flight.ended if flight.ended is not None else 1 << 40


def events(pool: Pool, flights: Sequence[Flight]) -> dict[int, list[Event]]:
    """What happens to the pages of a pool, by step: who gets and frees them, which writes set out and arrive."""
    found: dict[tuple[int, str, bool], list[str]] = {}
    for page, cells in zip(pool.pages, pool.cells, strict=True):
        for before, after in pairwise(cells):
            if before.owner == after.owner:
                continue
            what = f"{after.owner} gets" if after.owner is not None else f"{before.owner} frees"
            found.setdefault((after.since, what, False), []).append(page)
    for flight in flights:
        page = flight.target.label if flight.target is not None else ""
        if flight.posted:
            found.setdefault((flight.posted, f"{flight.request} posts to", False), []).append(page)
        if flight.landed is not None:
            word = f"LATE: {flight.request} lands in" if flight.late else f"{flight.request} lands in"
            found.setdefault((flight.landed, word, flight.late), []).append(page)
        elif flight.ended is not None:
            found.setdefault((flight.ended, f"{flight.request} is dropped for", False), []).append(page)
    by_step: dict[int, list[Event]] = {}
    for (step, what, alarm), pages in sorted(found.items()):
        by_step.setdefault(step, []).append(Event(f"{what} {ranges(pages, pool.pages)}", "lands" in what, alarm))
    return by_step
