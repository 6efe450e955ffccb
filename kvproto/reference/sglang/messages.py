"""Control messages between prefill ranks and decode ranks, and the sockets that hold them until they are read."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.reference.prompts import label
from kvproto.reference.refusal import Refused


@dataclass(frozen=True, slots=True)
class Metadata:
    """From decode: where the room's pages and its metadata row are to go."""

    room: int
    pages: tuple[int, ...]
    row: int


@dataclass(frozen=True, slots=True)
class Abort:
    """From decode: the room is given up.  `generation` is the number of the hold that waits for an answer."""

    room: int
    generation: int


@dataclass(frozen=True, slots=True)
class Success:
    """From prefill: this rank has sent all of the room."""

    room: int


@dataclass(frozen=True, slots=True)
class Failure:
    """From prefill: the room failed."""

    room: int


@dataclass(frozen=True, slots=True)
class Ack:
    """From prefill: nothing of the aborted room is outstanding any more."""

    room: int
    generation: int


Message = Metadata | Abort | Success | Failure | Ack
NAMES: dict[str, type[Message]] = {
    "METADATA": Metadata,
    "ABORT": Abort,
    "SUCCESS": Success,
    "FAILED": Failure,
    "ACK": Ack,
}
"""Kinds of messages by the name on the wire."""


class Socket:
    """Messages from one rank to one other, unread ones in order."""

    def __init__(self, name: str, *, ordered: bool) -> None:
        self._name = name
        self._ordered = ordered
        self.unread: list[Message] = []

    def send(self, message: Message) -> None:
        """Put a message on its way.  One that repeats an unread one tells the reader nothing, and is left out."""
        if message not in self.unread:
            self.unread.append(message)

    def of(self, room: int) -> list[Message]:
        """Unread messages about a room, oldest first."""
        return [message for message in self.unread if message.room == room]

    def next(self, room: int, kind: type[Message]) -> Message:
        """The message of this kind that can be read next; where order is kept only the room's oldest can."""
        for message in self.of(room)[: 1 if self._ordered else None]:
            if isinstance(message, kind):
                return message
        raise Refused(f"{self._name}: no {kind.__name__} about request {label(room)} can be read now")

    def take(self, message: Message) -> None:
        """The message is read, or lost."""
        self.unread.remove(message)


class Network:
    """All sockets between the ranks that exchange pages."""

    def __init__(self, prefill_ranks: int, decode_ranks: int) -> None:
        self.pairs = [
            (p, d)
            for p in range(prefill_ranks)
            for d in range(decode_ranks)
            # One to one where both sides have as many ranks, all with all otherwise.
            if prefill_ranks != decode_ranks or p == d
        ]
        self.up = {(p, d): Socket(f"decode rank {d} to prefill rank {p}", ordered=True) for p, d in self.pairs}
        self.down = {(p, d): Socket(f"prefill rank {p} to decode rank {d}", ordered=False) for p, d in self.pairs}

    def prefill_peers(self, d: int) -> list[int]:
        """The prefill ranks that send to a decode rank."""
        return [p for p, other in self.pairs if other == d]

    def decode_peers(self, p: int) -> list[int]:
        """The decode ranks that a prefill rank sends to."""
        return [d for other, d in self.pairs if other == p]

    def upward(self, p: int, d: int) -> Socket:
        """The socket from a decode rank to a prefill rank."""
        return _among(self.up, p, d)

    def downward(self, p: int, d: int) -> Socket:
        """The socket from a prefill rank to a decode rank."""
        return _among(self.down, p, d)

    def about(self, room: int, p: int | None = None) -> list[Message]:
        """All unread messages about a room, from and to one prefill rank if `p` is given."""
        return [
            message
            for sockets in (self.up, self.down)
            for (rank, _), socket in sockets.items()
            if p is None or p == rank
            for message in socket.of(room)
        ]


def _among(sockets: dict[tuple[int, int], Socket], p: int, d: int) -> Socket:
    if (p, d) not in sockets:
        raise Refused(f"network: prefill rank {p} and decode rank {d} exchange nothing")
    return sockets[p, d]
