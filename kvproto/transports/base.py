"""The interface: something that moves pages from one memory into another, and is late.

Three things that are one in a plain copy are apart here: bytes arrive in the target (`land`), the sender is told how
it went (`acknowledge`, `fail`), and the receiver is told (`notify`).  Real engines do them in every order.  Nothing
recalls a write: `cancel` says what the engine answers, and `orphan` that nobody waits any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class PageMemory(Protocol):
    """Pages that can be read and written whole.  `keys`, `values` and `tags` are its tensors, one page a row."""

    keys: Any
    values: Any
    tags: Any
    arrays: Any

    def read(self, page: int) -> Any:
        """A copy of a page, to be given to `write`."""

    def write(self, page: int, image: Any) -> None:
        """Replace a page."""


@dataclass(frozen=True, slots=True)
class Move:
    """One page to be moved.  `name` is what the event log calls it; memories are called as in `Transport.open`."""

    name: str
    source: str
    source_page: int
    target: str
    target_page: int


class Told(Enum):
    """What the sender has been told about a write, or about a call that posted several."""

    NOTHING = "nothing"
    SUCCESS = "success"
    FAILED = "failed"
    TIMED_OUT = "timed out"


class UnknownWrite(LookupError):
    """A write that was never posted, has landed, or has vanished was asked for."""


class Transport(Protocol):
    """Moves pages.  Writes are numbered in the order in which they are posted.

    `log` has a line for every event, in words that are the same in every run: no times, ports or addresses.
    """

    name: str
    log: list[str]

    def open(self, memories: Mapping[str, PageMemory]) -> None:
        """Take the memories of both sides, by name; called once, before anything is posted."""

    def post(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Hand over the writes of one call.  They are held until `land`, `vanish` or the end."""

    def land(self, write: int, upto: int | None = None) -> None:
        """Let a write arrive, or its bytes up to that number: a torn page.  Nobody is told."""

    def acknowledge(self, write: int) -> None:
        """Tell the sender that the write went well, whether its bytes have arrived or not."""

    def fail(self, write: int, told: Told = Told.FAILED) -> None:
        """Tell the sender that the write failed, or that the wait for it is over.  The write goes on."""

    def duplicate(self, write: int) -> int:
        """Post the same write once more, in a call of its own; the first one goes on."""

    def cancel(self, write: int) -> str:
        """Ask the engine to take a write back, and say what it answers.  The write goes on."""

    def orphan(self, write: int) -> None:
        """Nobody waits for the write any more."""

    def notify(self, write: int) -> None:
        """Tell the receiver that the write has arrived."""

    def vanish(self, write: int) -> None:
        """The engine gives a write up: what has not arrived never does."""

    def remark(self, write: int, text: str) -> None:
        """Add to the log what only those know who use the transport."""

    def told(self, write: int) -> Told:
        """What the sender has been told about a write."""

    def call(self, write: int) -> tuple[int, ...]:
        """All writes of the call that posted this one."""

    def arrived(self, write: int) -> int:
        """How many of its bytes are in the target."""

    def awaited(self, write: int) -> bool:
        """Whether somebody still waits for the write: it is no orphan, and nothing has been told."""

    def notified(self, write: int) -> bool:
        """Whether the receiver has been told."""

    def flying(self) -> tuple[int, ...]:
        """Writes that have neither landed whole nor vanished, in order."""

    def close(self) -> None:
        """Give back whatever the transport holds of the machine.  What is still held never arrives."""


def verdict(transport: Transport, writes: Iterable[int]) -> Told:
    """What the caller of several writes is told: the first thing that went wrong, else success once all are there."""
    told = [transport.told(write) for write in writes]
    wrong = [each for each in told if each in (Told.FAILED, Told.TIMED_OUT)]
    if wrong:
        return wrong[0]
    return Told.NOTHING if Told.NOTHING in told else Told.SUCCESS
