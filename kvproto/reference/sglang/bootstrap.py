"""The bootstrap thread of one prefill rank, which takes page numbers and aborts from decode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvproto.reference.prompts import label
from kvproto.reference.refusal import Refused, expect
from kvproto.reference.sglang.messages import Abort, Metadata
from kvproto.reference.sglang.rooms import Info, Manager, Status

if TYPE_CHECKING:
    from kvproto.reference.sglang.links import Links


@dataclass(slots=True)
class PendingAbort:
    """An abort in the bootstrap thread: the room is marked, the sender is not yet answered."""

    room: int
    d: int
    generation: int
    registered: bool = False


class BootstrapThread:
    """Takes messages from decode, one at a time."""

    def __init__(self, manager: Manager, links: Links) -> None:
        self._manager = manager
        self._links = links
        self.pending: PendingAbort | None = None

    def receive_metadata(self, d: int, room: int) -> None:
        """Note where a decode rank wants the room; the room waits for input once all ranks have said so."""
        self._expect_free()
        socket = self._links.network.upward(self._manager.rank, d)
        message = socket.next(room, Metadata)
        assert isinstance(message, Metadata)
        socket.take(message)
        infos = self._manager.transfer_infos.setdefault(room, {})
        infos[d] = Info(message.pages, message.row)
        if set(self._links.network.decode_peers(self._manager.rank)) <= set(infos):
            self._manager.update_status(room, Status.WAITING)

    def receive_abort(self, d: int, room: int) -> None:
        """First step: mark the room as failed."""
        self._expect_free()
        socket = self._links.network.upward(self._manager.rank, d)
        message = socket.next(room, Abort)
        assert isinstance(message, Abort)
        socket.take(message)
        if self._manager.status(room) not in (None, Status.SUCCESS):
            self._manager.update_status(room, Status.FAILED)
        if self._links.switches.deferred_release:
            self.pending = PendingAbort(room, d, message.generation)

    def register(self, room: int) -> None:
        """Second step: remember who waits."""
        pending = self._pending(room, registered=False)
        self._manager.register(room, pending.d, pending.generation)
        pending.registered = True

    def acknowledge(self, room: int) -> None:
        """Third step: answer at once if nothing is outstanding."""
        self._pending(room, registered=True)
        self.pending = None
        self._manager.acknowledge(room)

    def die(self) -> None:
        """The process ends."""
        self.pending = None

    def _expect_free(self) -> None:
        name = f"prefill rank {self._manager.rank}: the bootstrap thread"
        expect(not self._links.prefill.dead, f"{name} is dead")
        if self.pending is not None:
            raise Refused(f"{name} is in the middle of the abort of request {label(self.pending.room)}")

    def _pending(self, room: int, *, registered: bool) -> PendingAbort:
        pending = self.pending
        if pending is None or pending.room != room or pending.registered != registered:
            raise Refused(f"prefill rank {self._manager.rank}: no abort of request {label(room)} is at this step")
        return pending
