"""The transfer engine: one-sided page writes that land when the script says so, and are never recalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvproto import transports
from kvproto.reference.pages import Image, Memory
from kvproto.reference.prompts import holder, label
from kvproto.reference.refusal import Refused
from kvproto.reference.sglang.memory import Allocator


@dataclass(frozen=True, slots=True)
class Write:
    """A posted write: page `source` of prefill rank `p` to page `target` of decode rank `d`."""

    p: int
    d: int
    room: int
    position: int  # of the page in the prompt
    source: int
    target: int
    awaited: bool = True  # by the call that posted it; if not, the call has returned or works on another attempt
    bounded: bool = False  # certain to be over before the time limit of the hold that decode has begun
    number: int = field(default=-1, compare=False)  # in the books of what moves the bytes

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Ranks, room and position."""
        return self.p, self.d, self.room, self.position


@dataclass(frozen=True, slots=True)
class Landing:
    """A write that has landed: the bytes it carried, and who owned its target page at that moment."""

    write: Write
    image: Image
    owner: int | None


class Engine:
    """Writes from source memories (by prefill rank) into target memories (by decode rank and prefill rank).

    What moves the bytes is `mover`; here is which request they belong to, and who waits for them.
    """

    def __init__(
        self,
        sources: Sequence[Memory],
        targets: Mapping[tuple[int, int], Memory],
        owners: Sequence[Allocator],
        mover: transports.Transport | None = None,
    ) -> None:
        self._sources = sources
        self._targets = targets
        self.mover: transports.Transport = transports.Scripted() if mover is None else mover
        self.mover.open(self._memories())
        self._owners = owners
        self.writes: list[Write] = []
        self.landed: list[Landing] = []

    def _memories(self) -> dict[str, Memory]:
        sources = {_source(p): memory for p, memory in enumerate(self._sources)}
        return sources | {_target(d, p): memory for (d, p), memory in self._targets.items()}

    def post(self, write: Write) -> None:
        """Register a write."""
        name = f"{label(write.room)}/{write.position} from rank {write.p} to rank {write.d}"
        move = transports.Move(name, _source(write.p), write.source, _target(write.d, write.p), write.target)
        (number,) = self.mover.post([move])
        self.writes.append(replace(write, number=number))

    def of(self, room: int, p: int | None = None) -> list[Write]:
        """A room's writes that have not landed, of one prefill rank if `p` is given."""
        return [write for write in self.writes if write.room == room and (p is None or write.p == p)]

    def awaited(self, p: int, room: int) -> list[Write]:
        """The writes that the running call of a rank waits for."""
        return [write for write in self.of(room, p) if write.awaited]

    def unconfirmed(self, p: int, room: int) -> list[Write]:
        """Those of them of whose end the engine has not told the call."""
        return [write for write in self.awaited(p, room) if self.mover.awaited(write.number)]

    def abandon(self, p: int, room: int) -> None:
        """The call returns, or its thread dies: its writes go on without it."""
        for write in self.awaited(p, room):
            self.mover.orphan(write.number)
        self._change(p, room, awaited=False)

    def fail(self, p: int, d: int, room: int) -> None:
        """The call returns an error for one decode rank: all its writes go on without it."""
        for write in self.awaited(p, room):
            if write.d == d:
                self.mover.fail(write.number)
        self.abandon(p, room)

    def bound(self, p: int, room: int) -> None:
        """Decode begins to hold the room: what is on its way now is over before the hold's time limit."""
        self._change(p, room, bounded=True)

    def resubmit(self, p: int, room: int) -> None:
        """Post the writes of the running call again; the first attempt goes on and nobody waits for it."""
        again = [replace(write, number=self.mover.duplicate(write.number)) for write in self.awaited(p, room)]
        self.abandon(p, room)
        self.writes += again

    def _change(self, p: int, room: int, **values: bool) -> None:
        self.writes = [
            replace(write, **values) if (write.p, write.room) == (p, room) else write for write in self.writes
        ]

    def land(self, p: int, d: int, room: int, position: int) -> None:
        """A write that its call waits for lands, and the call is told."""
        self._land(self._find(p, d, room, position, awaited=True))

    def land_late(self, p: int, d: int, room: int, position: int) -> None:
        """A write that nobody waits for lands; several attempts of it land together."""
        self._land(self._find(p, d, room, position, awaited=False))

    def vanish(self, p: int, d: int, room: int, position: int) -> None:
        """A write that nobody waits for is given up by the engine; several attempts of it together."""
        for write in self._find(p, d, room, position, awaited=False):
            self.mover.vanish(write.number)
            self._remove(write)

    def drop(self, room: int) -> None:
        """Follow the writes of a room no longer."""
        for write in self.of(room):
            self.mover.orphan(write.number)
        self.writes = [write for write in self.writes if write.room != room]

    def _find(self, p: int, d: int, room: int, position: int, *, awaited: bool) -> list[Write]:
        found = [w for w in self.writes if w.place == (p, d, room, position) and w.awaited == awaited]
        if not found:
            which = "awaited" if awaited else "abandoned"
            raise Refused(f"transport: no {which} write of page {position} of request {label(room)} is on its way")
        return found

    def _land(self, writes: list[Write]) -> None:
        for write in writes:
            self.mover.land(write.number)
            if write.awaited:
                self.mover.acknowledge(write.number)
            image = self._targets[write.d, write.p].read(write.target)
            owner = self._owners[write.d].owners[write.target]
            self.mover.remark(write.number, f"page {write.target} belongs to {holder(owner)}")
            self.landed.append(Landing(write, image, owner))
            self._remove(write)

    def _remove(self, write: Write) -> None:
        self.writes = [other for other in self.writes if other.number != write.number]


def _source(p: int) -> str:
    return f"prefill {p}"


def _target(d: int, p: int) -> str:
    return f"decode {d}, slice {p}"
