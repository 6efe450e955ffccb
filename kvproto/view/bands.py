"""Writes in flight as bands beside the lanes: a column of marks from the step that posts a write to its landing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvproto.explain import Flight
from kvproto.report.report import Report
from kvproto.trace.printable import cells, cut, pad, printable

LEGEND = {
    "|": "number: a write is posted, by position;  |: in flight",
    "[": "0[1], 0p=1: position 0, to rank 1, to the slice p=1 of the page",
    "v": "v: lands",
    "!": "!: in flight toward a page that its request has lost",
    "X": "X: lands LATE, in a page that is not its request's any more",
    "W": "W: lands with the bytes of a source page that was given to another request",
    "x": "x: dropped",
    "+": "+2: 2 more for which there is no room",
}
"""Marks of bands; those that occur are explained below the picture."""

TITLE = "in flight"
_MORE = 3


class Bands:
    """Every write has a column while it flies; `width` is that of all of them, 0 if there are none."""

    def __init__(self, report: Report, width: int) -> None:
        self._report = report
        self._flights = [flight for flight in report.flights if flight.target is not None]
        self._labels = _labels(self._flights)
        self._cell = min(max([2, *(cells(text) + 1 for text in self._labels.values())]), max(width // 3, 2))
        self._columns = _assign(self._flights, most=max((width // 3) // self._cell, 1))
        self._count = max(self._columns.values(), default=-1) + 1
        self._lost = _lost(report, self._flights)
        self._at = self._by_step(self._flights)
        self._marks: set[str] = set()
        hidden = len(self._columns) < len(self._flights)
        bare = self._count * self._cell + (_MORE if hidden else 0)
        self.width = max(bare, len(TITLE)) if bare else 0

    def _by_step(self, flights: Iterable[Flight]) -> list[list[Flight]]:
        """The writes that are drawn in the row of each step."""
        end = len(self._report.rows)
        found: list[list[Flight]] = [[] for _ in range(end + 1)]
        for flight in flights:
            for number in range(flight.posted, (end if flight.ended is None else flight.ended) + 1):
                found[number].append(flight)
        return found

    def odd(self, step: int) -> list[Flight]:
        """The writes that land in a step though late or with another request's bytes, in the order of its notes."""
        return [flight for flight in self._report.flights if flight.landed == step and landing(flight) in "XW"]

    def column(self, flight: Flight) -> int | None:
        """Where the mark of a flight stands, from the beginning of the bands; None if it is not drawn."""
        at = self._columns.get(flight.name)
        return None if at is None else at * self._cell

    def row(self, first: int, last: int, *, head: bool) -> str:
        """The marks of a line that stands for some steps; `head` is the first line of its row."""
        marks = [""] * self._count
        hidden = 0
        here = {flight.name: flight for number in range(first, last + 1) for flight in self._at[number]}
        for flight in here.values():
            mark = self._mark(flight, first, last, head=head)
            if mark and flight.name not in self._columns:
                hidden += 1
                self._marks.add("+")
            elif mark:
                self._marks.add(mark)
                marks[self._columns[flight.name]] = mark
        row = "".join(pad(mark, self._cell) for mark in marks)
        return row + (f"+{hidden}" if hidden and hidden < 10 else "+" if hidden else "")

    def _mark(self, flight: Flight, first: int, last: int, *, head: bool) -> str:
        """What a flight looks like in the row of some steps."""
        if flight.ended is not None and first <= flight.ended <= last:
            return landing(flight) if head else ""
        if first <= flight.posted <= last and head:
            name = self._labels[flight.name]
            self._marks |= set("[") if name != printable(flight.position) else set()
            return cut(name, self._cell - 1)
        return "!" if (flight.name, last) in self._lost else "|"

    def legend(self) -> list[str]:
        """What the marks mean that were drawn so far."""
        return [text for mark, text in LEGEND.items() if mark in self._marks | {"|"}] if self._flights else []


def landing(flight: Flight) -> str:
    """The mark of the end of a flight."""
    if flight.landed is None:
        return "x"
    if flight.late:
        return "X"
    return "W" if flight.source_late and flight.source_owner is not None else "v"


def _labels(flights: Sequence[Flight]) -> dict[str, str]:
    """What each flight is called at its posting: its position, and where it goes to if there are several ranks.

    To `decode[1]` that is `0[1]`, to the slice `p=1` of its pages `0p=1`.
    """
    ways = {(flight.target.pool, flight.slice) for flight in flights if flight.target is not None}
    several = len(ways) > 1
    names = {}
    for flight in flights:
        bracket = flight.target.pool.partition("[")[1:] if flight.target is not None and several else ()
        part = flight.slice if several else ""
        names[flight.name] = printable(flight.position + "".join(bracket) + part)
    return names


def _assign(flights: Sequence[Flight], most: int) -> dict[str, int]:
    """Every flight gets the first column that is free while it flies; those beyond `most` columns get none."""
    busy: list[int] = []
    columns: dict[str, int] = {}
    for flight in flights:
        end = flight.ended if flight.ended is not None else 1 << 62
        slot = next((at for at, until in enumerate(busy) if until < flight.posted), len(busy))
        if slot >= most:
            continue
        if slot == len(busy):
            busy.append(end)
        busy[slot] = end
        columns[flight.name] = slot
    return columns


def _lost(report: Report, flights: Iterable[Flight]) -> set[tuple[str, int]]:
    """Flights with the steps after which the target page is not the request's any more."""
    end = len(report.rows)
    found = set()
    for flight in flights:
        pool = report.trace.vocabulary.pool(flight.target.pool) if flight.late and flight.target else None
        if pool is None or flight.target is None:
            continue
        path = pool.owned(flight.target.label)
        for number in range(flight.posted, flight.ended or end + 1):
            owner = report.value(path, number)
            if owner is None or str(owner) != flight.request:
                found.add((flight.name, number))
    return found
