"""The transport: one-sided page writes that land when the script says so, and are never recalled."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.reference.pages import Pool
from kvproto.reference.prompts import label
from kvproto.reference.refusal import Refused


@dataclass(frozen=True, slots=True)
class Write:
    """A posted write: page `source` of the prefill pool to page `target` of the decode pool."""

    room: int
    position: int  # of the page in the prompt
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Landing:
    """A write that has landed, and who owned its target page at that moment."""

    write: Write
    owner: int | None


class Transport:
    """Writes from one pool into another.  It holds page numbers only: the bytes are read when a write lands."""

    def __init__(self, source: Pool, target: Pool) -> None:
        self.source = source
        self.target = target
        self.posted: dict[tuple[int, int], Write] = {}
        self.landed: list[Landing] = []

    def post(self, room: int, position: int, source: int, target: int) -> None:
        """Register a write."""
        self.posted[room, position] = Write(room, position, source, target)

    def in_flight(self, room: int) -> list[int]:
        """Positions of a room's writes that have not landed, in order."""
        return sorted(position for owner, position in self.posted if owner == room)

    def land(self, room: int, position: int) -> None:
        """Copy the source page, as it is now, into the target page, whoever owns either."""
        write = self.posted.get((room, position))
        if write is None:
            raise Refused(f"transport: no write of page {position} of request {label(room)} is in flight")
        self.target.write(write.target, self.source.read(write.source))
        self.landed.append(Landing(write, self.target.owners[write.target]))
        del self.posted[room, position]
