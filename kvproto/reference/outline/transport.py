"""The transport: one-sided page writes that land when the script says so, and are never recalled."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto import transports
from kvproto.reference.pages import Pool
from kvproto.reference.prompts import holder, label
from kvproto.reference.refusal import Refused


@dataclass(frozen=True, slots=True)
class Write:
    """A posted write: page `source` of the prefill pool to page `target` of the decode pool."""

    room: int
    position: int  # of the page in the prompt
    source: int
    target: int
    number: int = field(default=-1, compare=False)  # in the books of what moves the bytes


@dataclass(frozen=True, slots=True)
class Landing:
    """A write that has landed, and who owned its target page at that moment."""

    write: Write
    owner: int | None


class Transport:
    """Writes from one pool into another.  What moves the bytes is `mover`; here is which request they belong to."""

    def __init__(self, source: Pool, target: Pool, mover: transports.Transport | None = None) -> None:
        self.source = source
        self.target = target
        self.mover: transports.Transport = transports.Scripted() if mover is None else mover
        self.mover.open({source.name: source, target.name: target})
        self.posted: dict[tuple[int, int], Write] = {}
        self.landed: list[Landing] = []

    def post(self, room: int, position: int, source: int, target: int) -> None:
        """Register a write."""
        name = f"{label(room)}/{position}"
        move = transports.Move(name, self.source.name, source, self.target.name, target)
        (number,) = self.mover.post([move])
        self.posted[room, position] = Write(room, position, source, target, number)

    def in_flight(self, room: int) -> list[int]:
        """Positions of a room's writes that have not landed, in order."""
        return sorted(position for owner, position in self.posted if owner == room)

    def unconfirmed(self, room: int) -> list[int]:
        """Positions of a room's writes of whose end the sender has not been told, in order."""
        return [position for position in self.in_flight(room) if self.mover.awaited(self.posted[room, position].number)]

    def land(self, room: int, position: int) -> None:
        """Let a write land in the target page, whoever owns it, and tell the sender."""
        write = self.posted.get((room, position))
        if write is None:
            raise Refused(f"transport: no write of page {position} of request {label(room)} is in flight")
        self.mover.land(write.number)
        self.mover.acknowledge(write.number)
        owner = self.target.owners[write.target]
        self.mover.remark(write.number, f"page {write.target} belongs to {holder(owner)}")
        self.landed.append(Landing(write, owner))
        del self.posted[room, position]
