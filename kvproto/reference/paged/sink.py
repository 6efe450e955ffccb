"""The side that reads: reserved pages, what is checked before they are read, and when they are given back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kvproto.reference import attention, prompts
from kvproto.reference.array import Arrays
from kvproto.reference.paged.measures import CANARY, Measures, tag_of
from kvproto.reference.pages import Pool
from kvproto.reference.prompts import label
from kvproto.reference.refusal import Refused, expect
from kvproto.transports import Transport

SINK = "sink"
"""What a transport calls the memory of this side."""


class Stage(Enum):
    """How far a reservation is."""

    RESERVED = "reserved"
    READY = "ready"
    HELD = "held"


@dataclass(slots=True)
class Reservation:
    """A request's pages, and the tags that its prompt asks for, by position."""

    pages: tuple[int, ...]
    expected: tuple[int, ...]
    stage: Stage = Stage.RESERVED
    writes: tuple[int, ...] = ()  # that may still come, once it is held


class Sink:
    """Reserves pages for whole prompts, and reads them once it is told that they have been sent."""

    def __init__(self, pages: int, arrays: Arrays, measures: Measures, transport: Transport) -> None:
        self.pool = Pool("sink", pages, arrays, zero_on_release=measures.zero_on_release)
        self.measures = measures
        self.reservations: dict[int, Reservation] = {}
        self._transport = transport

    def reserve(self, room: int, text: str) -> tuple[int, ...]:
        """Reserve a page for every page of a prompt."""
        expect(room not in self.reservations, f"sink: request {label(room)} has pages")
        count = prompts.page_count(len(text))
        pages = self.pool.allocate(room, count)
        for page in pages:
            if self.measures.zero_on_allocation:
                self.pool.clear(page)
            if self.measures.canary:
                self.pool.mark(page, CANARY)
        self.reservations[room] = Reservation(pages, tuple(tag_of(text, k) for k in range(count)))
        return pages

    def commit(self, room: int, sent: int, digest: bytes) -> None:
        """The sender reports success for so many pages with this sum.  Refused if a check finds that it is not so."""
        reservation = self._at(room, Stage.RESERVED)
        pages = reservation.pages
        if self.measures.count_check and sent != len(pages):
            raise Refused(f"sink: {sent} of {len(pages)} pages of request {label(room)} were sent")
        if self.measures.canary:
            left = [page for page in pages if self.pool.marked(page, CANARY)]
            if left:
                raise Refused(f"sink: pages {', '.join(map(str, left))} of request {label(room)} were never written")
        if self.measures.checksum and self.pool.digest(pages) != digest:
            raise Refused(f"sink: the checksum of request {label(room)} is wrong")
        reservation.stage = Stage.READY

    def read(self, room: int) -> str:
        """What attention over the request's pages gives; with page tags whoever reads a page looks at its tag."""
        reservation = self._at(room, Stage.READY)
        try:
            expected = reservation.expected if self.measures.page_tags else None
            return attention.attend(self.pool, reservation.pages, expected=expected)
        except attention.WrongTag:
            raise Refused(f"sink: a page of request {label(room)} does not hold its prompt") from None

    def release(self, room: int) -> None:
        """The request is answered: give its pages back."""
        self._at(room, Stage.READY)
        self._free(room)

    def fail(self, room: int, writes: Sequence[int] = ()) -> None:
        """The transfer has failed; `writes` were posted for it.  With deferred release the pages wait for them."""
        reservation = self._at(room, Stage.RESERVED, Stage.READY)
        reservation.stage, reservation.writes = Stage.HELD, tuple(writes)
        if not self.measures.deferred_release:
            self._free(room)
        self.collect()

    def collect(self) -> None:
        """Free what is held and to which nothing is on its way any more."""
        flying = set(self._transport.flying())
        for room, reservation in list(self.reservations.items()):
            if reservation.stage is Stage.HELD and not flying.intersection(reservation.writes):
                self._free(room)

    def _free(self, room: int) -> None:
        self.pool.free(room)
        del self.reservations[room]

    def _at(self, room: int, *stages: Stage) -> Reservation:
        reservation = self.reservations.get(room)
        if reservation is None or reservation.stage not in stages:
            now = "unknown" if reservation is None else reservation.stage.value
            raise Refused(f"sink: request {label(room)} is {now}, not {' or '.join(stage.value for stage in stages)}")
        return reservation
