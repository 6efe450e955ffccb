"""The default transport: in this process, and nothing happens unless it is told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvproto.transports import page_bytes
from kvproto.transports.base import Move, PageMemory, Told
from kvproto.transports.ledger import Ledger


class Scripted(Ledger):
    """Writes that land when the script says so.

    A write holds page numbers only: its bytes are read as they land, as a one-sided engine reads them.  With
    `early_success` every sender is told of success as soon as it has posted, as engines do that call a write done
    once it has left.
    """

    name = "scripted"

    def __init__(self, *, early_success: bool = False) -> None:
        super().__init__()
        self._early_success = early_success
        self._memories: Mapping[str, PageMemory] = {}

    def open(self, memories: Mapping[str, PageMemory]) -> None:
        """Take the memories of both sides, by name."""
        self._memories = dict(memories)

    def post(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Register the writes of one call."""
        writes = self._register(moves)
        if self._early_success:
            for write in writes:
                self._tell(write, Told.SUCCESS)
        return writes

    def land(self, write: int, upto: int | None = None) -> None:
        """Copy the source page, as it is now, into the target page, or the part of it that has not arrived."""
        entry = self._in_flight(write)
        source, target = self._memories[entry.move.source], self._memories[entry.move.target]
        size = page_bytes.size(target)
        stop = size if upto is None else min(upto, size)
        if stop < entry.arrived:
            raise ValueError(f"{entry.arrived} bytes have arrived, more than {stop}")
        if (entry.arrived, stop) == (0, size):
            target.write(entry.move.target_page, source.read(entry.move.source_page))
        else:
            data = page_bytes.get(source, entry.move.source_page)
            page_bytes.put(target, entry.move.target_page, data, entry.arrived, stop)
        self._has_arrived(write, stop, size)

    def acknowledge(self, write: int) -> None:
        """Tell the sender of success."""
        self._tell(write, Told.SUCCESS)

    def fail(self, write: int, told: Told = Told.FAILED) -> None:
        """Tell the sender that the write failed, or that its time is up.  The write goes on."""
        self._tell(write, told)

    def duplicate(self, write: int) -> int:
        """Post the same write once more."""
        return self.post([self._in_flight(write).move])[0]

    def cancel(self, write: int) -> str:
        """Ask for a write back: as in real engines, the answer is yes and the write goes on."""
        self._entry(write)
        self._note(write, "cancel asked: accepted")
        return "accepted"

    def vanish(self, write: int) -> None:
        """Give a write up: what has not arrived never does."""
        self._in_flight(write).flying = False
        self._note(write, "vanished")

    def close(self) -> None:
        """Nothing to give back."""
