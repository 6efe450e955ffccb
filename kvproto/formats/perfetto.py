"""A trace for Perfetto, as TrackEvent packets: for long runs, where a page with every step would be too much.

A step takes a millisecond, so that the time axis counts steps.  There is a track for each lane, one for every write
that is under way at the same time as others, the number of writes under way as a counter, and flows for what connects
steps: messages, and writes from the step that posted them to the one in which they land.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvproto.explain import Flight
from kvproto.formats.protobuf import fixed64, number, text, whole
from kvproto.report.report import Report, Row
from kvproto.trace.printable import printable

STEP_NS = 1_000_000
"""A millisecond: the unit in which the axis is read."""

SLICE_NS = 900_000
"""A step ends before the next one begins."""

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
"""Types of events."""

_SEQUENCE = 1
_CLEARED = 1
"""The packets make one sequence, and the first of them says that nothing came before it."""

_ROOT, _LANES, _WRITES, _COUNT, _VERDICT, _FIRST_OF_LANES = 1, 2, 3, 4, 5, 16
"""Numbers of tracks."""

_BANDS = 1 << 32
"""Numbers of the tracks of writes, which go on from here."""

_EXPLICIT = 3
"""Tracks are shown in the order that they say."""


def perfetto(report: Report) -> bytes:
    """The content of a `.pftrace` file."""
    bands = _bands(report.flights, len(report.rows))
    events = sorted([*_steps(report), *_writes(report, bands), *_counts(report), _verdict(report)])
    packets = [*_tracks(report, bands), *(_packet(time, event) for time, _, event in events)]
    return b"".join(whole(1, packet) for packet in packets)


Event = tuple[int, int, bytes]
"""When, the place among those of one moment (what ends before what begins), and the event."""


def _packet(time: int, event: bytes) -> bytes:
    return number(8, time) + number(10, _SEQUENCE) + whole(11, event)


def _event(kind: int, track: int, *fields: bytes) -> bytes:
    return number(9, kind) + number(11, track) + b"".join(fields)


def _said(name: str, value: str) -> bytes:
    """An annotation: shown beside the event that is selected."""
    return whole(4, text(10, name) + text(6, value))


# --- tracks -----------------------------------------------------------------------------------------------


def _tracks(report: Report, bands: Sequence[int]) -> Iterator[bytes]:
    trace = report.trace
    target = printable(trace.model) + (f"@{printable(trace.preset)}" if trace.preset else "")
    yield number(13, _CLEARED) + _track(_ROOT, f"{target}: {report.title}", order=True)
    yield _track(_VERDICT, "verdict", parent=_ROOT, rank=0)
    yield _track(_LANES, "lanes", parent=_ROOT, rank=1, order=True)
    for at, lane in enumerate(report.lanes):
        yield _track(_FIRST_OF_LANES + at, printable(lane), parent=_LANES, rank=at)
    if bands:
        yield _track(_WRITES, "writes in flight", parent=_ROOT, rank=2, order=True)
        yield _track(_COUNT, "how many", parent=_WRITES, rank=0, counter=True)
        for band in range(max(bands) + 1):
            yield _track(_BANDS + band, f"write {band + 1}", parent=_WRITES, rank=band + 1)


def _track(
    uuid: int, name: str, *, parent: int = 0, rank: int = 0, order: bool = False, counter: bool = False
) -> bytes:
    """A packet that describes a track; with `order` its children stand in the order of their ranks."""
    fields = [number(1, uuid), text(2, name)]
    if parent:
        fields += [number(5, parent), number(12, rank)]
    if order:
        fields.append(number(11, _EXPLICIT))
    if counter:
        fields.append(whole(8, b""))
    return number(10, _SEQUENCE) + whole(60, b"".join(fields))


# --- steps ------------------------------------------------------------------------------------------------


def _steps(report: Report) -> Iterator[Event]:
    track = {lane: _FIRST_OF_LANES + at for at, lane in enumerate(report.lanes)}
    flows = _flows(report)
    for row in report.rows:
        at = row.number * STEP_NS
        fields = [text(23, row.call), text(22, "slice" if row.guilty else "step"), *flows.get(row.number, ())]
        yield at, 1, _event(_BEGIN, track[row.lane], *fields, *_annotations(row))
        yield at + SLICE_NS, 0, _event(_END, track[row.lane])


def _annotations(row: Row) -> Iterator[bytes]:
    yield _said("step", str(row.number))
    yield _said("action", row.full)
    yield _said("what", row.text)
    yield _said("where", printable(row.loc))
    for note in row.notes:
        yield _said("note", printable(note.text))
    for change in row.changes:
        yield _said(change.path, f"{change.old} -> {change.new}")


def _flows(report: Report) -> dict[int, list[bytes]]:
    """By step: the flows that begin or end in it.  Messages come first, then writes: each has a number of its own."""
    found: dict[int, list[bytes]] = {}
    for at, message in enumerate(report.messages):
        if message.taken is not None:
            found.setdefault(message.sent, []).append(fixed64(47, at + 1))
            found.setdefault(message.taken, []).append(fixed64(48, at + 1))
    for at, flight in enumerate(report.flights, len(report.messages)):
        if flight.posted:
            found.setdefault(flight.posted, []).append(fixed64(47, at + 1))
        if flight.ended is not None:
            found.setdefault(flight.ended, []).append(fixed64(48, at + 1))
    return found


# --- writes -----------------------------------------------------------------------------------------------


def _bands(flights: Sequence[Flight], steps: int) -> list[int]:
    """The track of each write: the first one on which no other is under way."""
    free: list[int] = []
    found: list[int] = []
    for flight in flights:
        band = next((at for at, end in enumerate(free) if end <= flight.posted), len(free))
        free[band : band + 1] = [steps + 1 if flight.ended is None else flight.ended]
        found.append(band)
    return found


def _writes(report: Report, bands: Sequence[int]) -> Iterator[Event]:
    last = len(report.rows) + 1
    for at, (flight, band) in enumerate(zip(report.flights, bands, strict=True), len(report.messages)):
        # It begins within the step that posts it and is over when the one in which it lands begins.
        begin, end = flight.posted * STEP_NS + SLICE_NS // 2, (flight.ended or last) * STEP_NS
        state = "late" if flight.late else "write"
        where = "?" if flight.target is None else f"{printable(flight.target.pool)} {printable(flight.target.label)}"
        fields = [text(23, f"{printable(flight.request)}: {printable(flight.position)} to page {where}")]
        fields += [text(22, state), fixed64(47, at + 1), _said("how it ends", _fate(flight))]
        yield begin, 1, _event(_BEGIN, _BANDS + band, *fields)
        yield end, 0, _event(_END, _BANDS + band)


def _fate(flight: Flight) -> str:
    if flight.ended is None:
        return "still under way at the end"
    if flight.landed is None:
        return f"dropped at step {flight.ended}"
    return f"lands at step {flight.landed}" + (" LATE, in a page that is not its request's any more" * flight.late)


def _counts(report: Report) -> Iterator[Event]:
    """The number of writes under way, after each step that changes it."""
    change: dict[int, int] = {}
    for flight in report.flights:
        change[flight.posted] = change.get(flight.posted, 0) + 1
        if flight.ended is not None:
            change[flight.ended] = change.get(flight.ended, 0) - 1
    under_way = 0
    for step, more in sorted(change.items()):
        under_way += more
        yield step * STEP_NS, 2, _event(_COUNTER, _COUNT, number(30, under_way))


def _verdict(report: Report) -> Event:
    trace = report.trace
    fields = [text(23, report.title), text(22, "verdict"), _said("claim", printable(trace.claim))]
    fields += [_said("why", "".join(span.text for span in sentence)) for sentence in report.why]
    if report.ending:
        fields.append(_said("and then", report.ending))
    return (len(report.rows) + 1) * STEP_NS, 2, _event(_INSTANT, _VERDICT, *fields)
