"""What every transport keeps about its writes, whatever moves the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.transports.base import Move, Told, UnknownWrite


@dataclass(slots=True)
class Entry:
    """A write that was posted."""

    move: Move
    call: tuple[int, ...]
    arrived: int = 0
    told: Told = Told.NOTHING
    waited_for: bool = True
    notified: bool = False
    flying: bool = True


class Ledger:
    """The bookkeeping half of a transport: states, their queries, and the event log."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._entries: list[Entry] = []

    def _register(self, moves: Sequence[Move]) -> tuple[int, ...]:
        first = len(self._entries)
        numbers = tuple(range(first, first + len(moves)))
        self._entries += [Entry(move, numbers) for move in moves]
        for number in numbers:
            self._note(number, "posted")
        return numbers

    def _note(self, write: int, event: str) -> None:
        self.log.append(f"{self._entry(write).move.name}: {event}")

    def _entry(self, write: int) -> Entry:
        if not 0 <= write < len(self._entries):
            raise UnknownWrite(f"no write {write} was posted")
        return self._entries[write]

    def _in_flight(self, write: int) -> Entry:
        entry = self._entry(write)
        if not entry.flying:
            raise UnknownWrite(f"write {write} ({entry.move.name}) is not in flight")
        return entry

    def _tell(self, write: int, told: Told) -> None:
        """What a sender was told first stands: engines do not take a status back."""
        entry = self._entry(write)
        if entry.told is Told.NOTHING:
            entry.told = told
            self._note(write, f"sender told: {told.value}")

    def _has_arrived(self, write: int, count: int, size: int) -> None:
        entry = self._entry(write)
        entry.arrived = count
        entry.flying = count < size
        self._note(write, "landed" if count == size else f"landed up to byte {count} of {size}")

    def orphan(self, write: int) -> None:
        """Nobody waits for the write any more."""
        self._entry(write).waited_for = False
        self._note(write, "nobody waits")

    def notify(self, write: int) -> None:
        """Tell the receiver that the write has arrived."""
        self._entry(write).notified = True
        self._note(write, "receiver told")

    def remark(self, write: int, text: str) -> None:
        """Add to the log what only those know who use the transport."""
        self._note(write, text)

    def told(self, write: int) -> Told:
        """What the sender has been told about a write."""
        return self._entry(write).told

    def call(self, write: int) -> tuple[int, ...]:
        """All writes of the call that posted this one."""
        return self._entry(write).call

    def arrived(self, write: int) -> int:
        """How many of its bytes are in the target."""
        return self._entry(write).arrived

    def awaited(self, write: int) -> bool:
        """Whether somebody still waits for the write."""
        entry = self._entry(write)
        return entry.waited_for and entry.told is Told.NOTHING

    def notified(self, write: int) -> bool:
        """Whether the receiver has been told."""
        return self._entry(write).notified

    def flying(self) -> tuple[int, ...]:
        """Writes that have neither landed whole nor vanished, in order."""
        return tuple(number for number, entry in enumerate(self._entries) if entry.flying)
