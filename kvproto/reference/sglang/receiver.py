"""One decode rank: its pages and metadata rows, and what it knows of rooms."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.reference.array import Arrays
from kvproto.reference.pages import Memory
from kvproto.reference.prompts import label
from kvproto.reference.refusal import expect
from kvproto.reference.sglang.links import Links
from kvproto.reference.sglang.memory import EMPTY, Allocator, Row
from kvproto.reference.sglang.messages import Abort, Ack, Failure, Message, Metadata, Success
from kvproto.reference.sglang.rooms import Status


@dataclass(slots=True)
class Receiver:
    """One room on one rank.  Page numbers are kept after the pages are freed, as prefill has them too."""

    status: Status | None = None
    successes: set[int] = field(default_factory=set)  # prefill ranks
    acks: set[int] = field(default_factory=set)  # prefill ranks
    notified: bool = False  # an abort has been sent
    holding: bool = False  # the rank has pages of the room
    generation: int = 0  # counts reservations
    pages: tuple[int, ...] = ()
    page_generations: tuple[int, ...] = ()  # when they were reserved
    row: int | None = None


class Rank:
    """One rank.  A page has a slice for each prefill rank that writes to it: `slices`."""

    def __init__(self, rank: int, links: Links, arrays: Arrays) -> None:
        sizes = links.sizes
        self.rank = rank
        self._links = links
        self.peers = links.network.prefill_peers(rank)
        self.pages = Allocator(f"pool of decode rank {rank}", sizes.decode_pages)
        self.slices = {p: Memory(sizes.decode_pages, arrays) for p in self.peers}
        self.row_owners = Allocator(f"metadata rows of decode rank {rank}", sizes.decode_rows)
        self.rows: list[Row] = [EMPTY] * sizes.decode_rows
        self.receivers = {room: Receiver() for room in range(1, sizes.requests + 1)}

    def reserve(self, room: int, count: int) -> None:
        """Take pages and a row, and tell prefill where they are."""
        receiver = self.receivers[room]
        receiver.holding = True
        receiver.generation += 1
        receiver.pages = self.pages.allocate(room, count)
        receiver.page_generations = tuple(self.pages.generations[page] for page in receiver.pages)
        (receiver.row,) = self.row_owners.allocate(room, 1)
        for p in self.peers:
            self._send(p, Metadata(room, receiver.pages, receiver.row))

    def release(self, room: int) -> None:
        """Give everything back.  Bytes stay, unless pages are cleared on release."""
        receiver = self.receivers[room]
        receiver.holding = False
        self.leave_room(room)
        receiver.acks.clear()
        for page in self.pages.release(room):
            if self._links.switches.zero_on_release:
                for memory in self.slices.values():
                    memory.clear(page)

    def reopen(self, room: int) -> None:
        """Give everything back, and wait for the room once more."""
        self.release(room)
        receiver = self.receivers[room]
        receiver.status = Status.WAITING
        receiver.notified = False
        receiver.pages = receiver.page_generations = ()
        receiver.row = None

    def leave_room(self, room: int) -> None:
        """Drop the room's entry and its metadata row."""
        self.receivers[room].status = None
        self.receivers[room].successes.clear()
        for row in self.row_owners.release(room):
            self.rows[row] = EMPTY

    def row_of(self, room: int) -> Row:
        """What stands in the room's metadata row."""
        row = self.receivers[room].row
        return EMPTY if row is None else self.rows[row]

    def notify_abort(self, room: int) -> None:
        """Tell every prefill rank that the room is given up, once."""
        receiver = self.receivers[room]
        if not receiver.notified:
            receiver.notified = True
            # Without generations the number does not travel.
            generation = receiver.generation if self._links.switches.generations else 0
            for p in self.peers:
                self._send(p, Abort(room, generation))

    def _send(self, p: int, message: Metadata | Abort) -> None:
        # Nobody takes it on a node that is down.
        if not self._links.prefill.dead:
            self._links.network.upward(p, self.rank).send(message)

    # ------------------------------------------------------------------------------------- messages

    def receive_success(self, p: int, room: int) -> None:
        """A prefill rank has sent all of the room; the room succeeds once all have."""
        self._take(p, room, Success)
        receiver = self.receivers[room]
        if receiver.status is not None:
            receiver.successes.add(p)
            if receiver.successes.issuperset(self.peers) and receiver.status is not Status.FAILED:
                receiver.status = Status.SUCCESS

    def receive_failure(self, p: int, room: int) -> None:
        """A prefill rank reports a failure."""
        self._take(p, room, Failure)
        if self.receivers[room].status is not None:
            self.receivers[room].status = Status.FAILED

    def receive_ack(self, p: int, room: int) -> None:
        """A prefill rank has drained; where generations are told apart an answer to an older hold is dropped."""
        message = self._take(p, room, Ack)
        receiver = self.receivers[room]
        late = self._links.switches.generations and message != Ack(room, receiver.generation)
        if receiver.holding and receiver.notified and not late:
            receiver.acks.add(p)

    def _take(self, p: int, room: int, kind: type[Success | Failure | Ack]) -> Message:
        socket = self._links.network.downward(p, self.rank)
        message = socket.next(room, kind)
        socket.take(message)
        return message

    def waiting_timeout(self, room: int) -> None:
        """The rank has waited too long."""
        receiver = self.receivers[room]
        expect(
            receiver.status is Status.WAITING,
            f"decode rank {self.rank}: request {label(room)} is not waited for",
        )
        receiver.status = Status.FAILED
        self.notify_abort(room)

    def drained(self, room: int) -> bool:
        """Whether all prefill ranks that could still write have acknowledged."""
        return self.receivers[room].acks.issuperset(self.peers)

    # -------------------------------------------------------------------------------- checks before reading

    def refusal(self, room: int, *, first: bool) -> str | None:
        """Why the pages must not be read, as far as checks in front of the read can tell."""
        switches = self._links.switches
        receiver = self.receivers[room]
        if switches.checksum and first:
            digests = {memory.digest(receiver.pages) for memory in self.slices.values()}
            if digests != {self._links.decode.requests[room].digests[self.rank]}:
                return "the checksum of the transferred KV is wrong"
        if switches.page_tags:
            now = tuple(self.pages.generations[page] for page in receiver.pages)
            if now != receiver.page_generations:
                return "a page was given away after it was reserved"
        return None

    def forget(self, room: int) -> None:
        """Nobody remembers the room's numbers any more."""
        self.receivers[room] = Receiver(status=self.receivers[room].status, holding=self.receivers[room].holding)
