"""One prefill node, one decode node, a router, sockets and a transfer engine, wired together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvproto import transports
from kvproto.reference.array import namespace
from kvproto.reference.refusal import expect
from kvproto.reference.sglang.decode import Decode
from kvproto.reference.sglang.links import Links
from kvproto.reference.sglang.messages import NAMES
from kvproto.reference.sglang.prefill import Prefill
from kvproto.reference.sglang.router import Router
from kvproto.reference.sglang.settings import Sizes, Switches
from kvproto.reference.sglang.transport import Engine


class Cluster:
    """The whole system.  Its events are methods of its parts and of itself; after each of them comes `collect`."""

    def __init__(
        self,
        sizes: Sizes,
        switches: Switches | None = None,
        *,
        xp: Any = "numpy",
        mover: transports.Transport | None = None,
    ) -> None:
        self.sizes = sizes
        self.switches = Switches() if switches is None else switches
        self.arrays = namespace(xp)
        links = Links(sizes, self.switches)
        self.faults, self.network = links.faults, links.network
        self.router = links.router = Router(links)
        self.prefill = links.prefill = Prefill(links, self.arrays)
        self.decode = links.decode = Decode(links, self.arrays)
        self.engine = links.engine = Engine(
            [rank.memory for rank in self.prefill.ranks],
            {(rank.rank, p): memory for rank in self.decode.ranks for p, memory in rank.slices.items()},
            [rank.pages for rank in self.decode.ranks],
            mover,
        )
        self.forgotten: set[int] = set()
        self.forgetting: Callable[[int], None] = lambda _: None
        self.mixed_lives = False  # a room has begun a second life while something of the first was on its way

    @property
    def rooms(self) -> range:
        """The rooms of all clients, whether they have sent their request or not."""
        return range(1, self.sizes.requests + 1)

    def pending(self, room: int) -> bool:
        """Whether anything of the room is queued, worked on, or on its way."""
        return (
            bool(self.engine.of(room))
            or bool(self.network.about(room))
            or any(
                rank.worker.needs_source(room) or (rank.thread.pending is not None and rank.thread.pending.room == room)
                for rank in self.prefill.ranks
            )
        )

    def retract(self, room: int) -> None:
        """Decode retracts a request; what is still on its way meets the second life of the room."""
        pending = self.pending(room)
        self.decode.retract(room)
        self.mixed_lives = self.mixed_lives or pending

    def probe(self, p: int, d: int) -> None:
        """A probe to a decode rank gets through: the session is taken back."""
        expect(self.switches.probe, "prefill: failed sessions are not probed")
        sessions = self.prefill.ranks[p].manager.failed_sessions
        expect(d in sessions, f"prefill rank {p}: the session of decode rank {d} has not failed")
        sessions.discard(d)

    def lose(self, direction: str, p: int, d: int, room: int, kind: str) -> None:
        """A control message is lost: `direction` is `up` or `down`, `kind` one of `NAMES`."""
        expect(self.switches.message_loss, "environment: no messages are lost")
        socket = self.network.upward(p, d) if direction == "up" else self.network.downward(p, d)
        message = socket.next(room, NAMES[kind])
        self.faults.spend()
        socket.take(message)

    def collect(self) -> None:
        """Drop what is known of rooms that both sides are through with and of which nothing is on its way.

        `forgetting` is called for each of them before its numbers go.
        """
        for room in self.rooms:
            through = self.prefill.over(room) and self.decode.over(room)
            if through and room not in self.forgotten and not self.pending(room):
                self.forgotten.add(room)
                self.forgetting(room)
                self._forget(room)

    def _forget(self, room: int) -> None:
        call = self.router.calls[room]
        request = self.prefill.requests.get(room)
        # How a request was rejected stays known where it matters: to a client that has, or gets, another answer.
        if request is not None and not (call.waiting or (call.answer is not None and call.answer.status == 200)):
            request.to_finish, request.refused = None, False
        self.prefill.forget(room)
        self.decode.forget(room)
