"""What is remarkable about a step: a write that lands late or with other bytes, a read of what is not the reader's."""

from __future__ import annotations

from kvproto.explain import Flight, PageRead
from kvproto.explain.facts import Facts
from kvproto.report.report import Note
from kvproto.report.whatif import turns
from kvproto.trace.printable import printable


def notes(facts: Facts) -> dict[int, list[Note]]:
    """Notes by step."""
    found: dict[int, list[Note]] = {}
    for flight in facts.domain.flights:
        note = _landing(flight) or _bytes(facts, flight)
        if note is not None and flight.landed is not None:
            found.setdefault(flight.landed, []).append(note)
    for number, reads in wrong_reads(facts).items():
        found.setdefault(number, []).append(_reading(facts, reads))
    for number, note in turns(facts.trace).items():
        found.setdefault(number, []).append(note)
    return found


def _landing(flight: Flight) -> Note | None:
    """The note on a landing that is late, or that brings another request's bytes."""
    if flight.landed is None:
        return None
    foreign = flight.source_late and flight.source_owner is not None
    if not flight.late and not foreign:
        return None
    where, owner = (flight.target, flight.owner) if flight.late else (flight.source, flight.source_owner)
    page = f"{'page' if flight.late else 'its source page'} {printable(where.label) if where else '?'}"
    now = f"{printable(owner)}'s" if owner is not None else "free"
    kind, word = ("late", "LATE") if flight.late else ("bytes", "WRONG BYTES")
    return Note(kind, f"{word}: posted at {flight.posted} by {printable(flight.request)}, {page} is {now} now")


def _bytes(facts: Facts, flight: Flight) -> Note | None:
    """The note on a landing that brings what the request has never computed: its source held another's content."""
    if flight.landed is None or flight.target is None:
        return None
    content = facts.content(flight.target, flight.landed, flight.slice)
    if content is None or content == flight.request:
        return None
    whose, page = printable(flight.request), printable(flight.target.label)
    return Note("bytes", f"WRONG BYTES: {whose}'s write brings {printable(content)}'s to page {page}")


def wrong_reads(facts: Facts) -> dict[int, list[PageRead]]:
    """By step: reads of content that is not the reader's, except by landings, which only copy."""
    copied = {(flight.landed, flight.source) for flight in facts.domain.flights}
    found: dict[int, list[PageRead]] = {}
    for read in facts.domain.reads:
        real = read.step <= facts.end and read.reader is not None and (read.step, read.page) not in copied
        if real and not read.own:
            found.setdefault(read.step, []).append(read)
    return found


def _reading(facts: Facts, wrong: list[PageRead]) -> Note:
    parts = []
    for content in dict.fromkeys(read.content for read in wrong):
        pages = [read.page for read in wrong if read.content == content]
        what = "nothing" if content is None else f"{printable(content)}'s content"
        parts.append(f"{what} in {printable(facts.pages(pages))}")
    return Note("wrong", f"WRONG READ: {', '.join(parts)}")
