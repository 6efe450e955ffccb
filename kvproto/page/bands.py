"""Writes under way beside the line of a pool: a strip each, from the row of its posting to that of its landing.

Writes that one step posts for one request stand side by side as one bundle, a strip a page, so that the width of the
bundle says how many are still to come.  What happens to pages is put in words in the rows in which it happens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kvproto.explain import Flight, Page
from kvproto.explain.words import ranges
from kvproto.report.report import Pool, Report
from kvproto.trace.printable import cut, printable

SPACE = 5
LONGEST = 32
"""Events of more letters are cut."""

_THIN, _THICK, _BUNDLE = 2.5, 14.0, 48.0


@dataclass(frozen=True, slots=True)
class Strip:
    """A write in its place: x counts from the beginning of the column.

    `brought` is whose content its part of the page held after the landing, where that is not the write's own request.
    `lost` is the step from which on the page was not its request's any more while the write was under way.
    """

    flight: Flight
    x: float
    width: float
    brought: str | None
    lost: int | None

    @property
    def kind(self) -> str:
        """`late`, or `foreign` with the bytes of another request, or "" for what is as it should be."""
        if self.flight.landed is None:
            return ""
        return "late" if self.flight.late else "foreign" if self.brought is not None else ""


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
    """A pool's bundles, how wide they are together, its events by step; without a name, writes to who knows where."""

    pool: str
    bundles: tuple[Bundle, ...]
    width: float
    events: dict[int, list[Event]]

    def texts(self) -> list[str]:
        """Every text of an event."""
        return [event.text for events in self.events.values() for event in events]


def columns(report: Report) -> list[Column]:
    """One for every pool that writes go to, in the order of the model; without writes, for every pool that is used.

    A pool that a write was read from after its page had been given away is shown too.
    """
    found = []
    places = {Page(pool.name, page) for pool in report.pools for page in pool.pages}
    for pool in report.pools:
        flights = [f for f in report.flights if f.target in places and f.target.pool == pool.name]
        past = _Past(pool)
        happened = _events(pool, flights, past)
        if flights or _reread(report, pool) or (not report.flights and happened):
            bundles, width = _bundles(flights, past)
            found.append(Column(pool.name, bundles, width, happened))
    lost = [flight for flight in report.flights if flight.target not in places]
    if lost:
        bundles, width = _bundles(lost)
        found.append(Column("", bundles, width, _by_step(_ways(lost))))
    return found


def _reread(report: Report, pool: Pool) -> bool:
    """Whether a write out of this pool brought what another request had put there meanwhile."""
    return any(
        flight.source is not None and flight.source.pool == pool.name and flight.source_late
        for flight in report.flights
        if flight.landed is not None and flight.source_owner is not None
    )


def _bundles(flights: Sequence[Flight], past: _Past | None = None) -> tuple[tuple[Bundle, ...], float]:
    """Each bundle at the first place that is free while it flies."""
    together: dict[tuple[int, str], list[Flight]] = {}
    for flight in flights:
        together.setdefault((flight.posted, flight.request), []).append(flight)
    busy: list[tuple[float, float, int]] = []
    bundles, widest = [], 0.0
    for (posted, request), members in sorted(together.items()):
        members.sort(key=lambda flight: (-_end(flight), len(flight.position), flight.position, flight.way))
        thin = min(max(_BUNDLE / len(members), _THIN), _THICK)
        last, width = max(map(_end, members)), thin * len(members)
        x = 0.0
        # In the order of posting, whatever has ended before never matters again.
        busy = sorted(place for place in busy if place[2] >= posted)
        for begin, until, _ in busy:
            if x < until + SPACE and begin < x + width + SPACE:
                x = until + SPACE
        busy.append((x, x + width, last))
        widest = max(widest, x + width)
        strips = tuple(Strip(f, x + at * thin, thin, _foreign(f, past), _lost(f, past)) for at, f in enumerate(members))
        bundles.append(Bundle(request, posted, strips))
    return tuple(bundles), widest


def _end(flight: Flight) -> int:
    return flight.ended if flight.ended is not None else 1 << 40


_Happening = tuple[int, str, bool, bool]
"""Step, words, whether it is a landing, whether it is alarming."""


def _events(pool: Pool, flights: Sequence[Flight], past: _Past) -> dict[int, list[Event]]:
    """What happens to the pages of a pool, by step: who gets and frees them, which writes set out and arrive."""
    return _by_step([*_owners(pool), *_ways(flights, past)], pool.pages)


def _owners(pool: Pool) -> Iterator[tuple[_Happening, str]]:
    for page, cells in zip(pool.pages, pool.cells, strict=True):
        for before, after in pairwise(cells):
            if before.owner != after.owner:
                what = f"{after.owner} gets" if after.owner is not None else f"{before.owner} frees"
                yield (after.since, what, False, False), page


def _ways(flights: Sequence[Flight], past: _Past | None = None) -> Iterator[tuple[_Happening, str]]:
    for flight in flights:
        page = flight.target.label if flight.target is not None else flight.position
        if flight.posted:
            yield (flight.posted, f"{flight.request} posts to", False, False), page
        if flight.landed is not None:
            yield (flight.landed, *_landing(flight, past)), page
        elif flight.ended is not None:
            word = f"{flight.request} is dropped for" if flight.target is not None else f"no more: {flight.request} to"
            yield (flight.ended, word, False, False), page


def _landing(flight: Flight, past: _Past | None) -> tuple[str, bool, bool]:
    """The words of a landing, also whose bytes it brought if not its own request's."""
    brought = _foreign(flight, past)
    if brought is not None:
        return f"{flight.request} lands {brought}'s bytes in", True, True
    return f"{'LATE: ' * flight.late}{flight.request} lands in", True, flight.late


class _Past:
    """The history of a pool's pages, to be asked for a state."""

    def __init__(self, pool: Pool) -> None:
        self.slices = pool.slices
        self.cells = dict(zip(pool.pages, pool.cells, strict=True))
        self._since = {page: [cell.since for cell in cells] for page, cells in self.cells.items()}

    def place(self, page: str, state: int) -> int:
        """Which of the page's cells shows it in that state."""
        return bisect_right(self._since[page], state) - 1


def _foreign(flight: Flight, past: _Past | None) -> str | None:
    """Whose content its slice of the page held after the landing, if not its own request's."""
    if past is None or flight.target is None or flight.landed is None:
        return None
    page = flight.target.label
    contents = past.cells[page][past.place(page, flight.landed)].contents
    at = past.slices.index(flight.slice) if flight.slice in past.slices else 0
    return contents[at] if at < len(contents) and contents[at] != flight.request else None


def _lost(flight: Flight, past: _Past | None) -> int | None:
    """The first step, from the posting on, after which the page is not the request's while the write is under way."""
    if past is None or flight.target is None:
        return None
    page = flight.target.label
    cells = past.cells[page]
    for at in range(past.place(page, flight.posted), len(cells)):
        if cells[at].since >= _end(flight):
            break
        if cells[at].owner != flight.request:
            return max(cells[at].since, flight.posted)
    return None


def _by_step(happenings: Iterable[tuple[_Happening, str]], order: Sequence[str] = ()) -> dict[int, list[Event]]:
    """The same happening to several pages is told once."""
    pages: dict[_Happening, list[str]] = {}
    for happening, page in happenings:
        pages.setdefault(happening, []).append(page)
    by_step: dict[int, list[Event]] = {}
    for (step, what, landing, alarm), found in sorted(pages.items()):
        named = ranges(found, order) if order else ", ".join(dict.fromkeys(found))
        by_step.setdefault(step, []).append(Event(cut(printable(f"{what} {named}"), LONGEST), landing, alarm))
    return by_step
