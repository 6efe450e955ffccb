"""What one prefill rank knows of rooms: status entries, decode's page numbers, who waits for an acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from kvproto.reference.sglang.messages import Ack, Failure, Message, Network, Success
from kvproto.reference.sglang.settings import Switches


class Status(Enum):
    """How a room stands, on either side; a room without an entry has none."""

    BOOTSTRAPPING = "bootstrapping"
    WAITING = "waiting for input"
    FAILED = "failed"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Info:
    """Where one decode rank wants the KV of a room: its pages by position, and its metadata row."""

    pages: tuple[int, ...]
    row: int


class Manager:
    """The tables of one prefill rank.  `outstanding` says whether its worker is in the middle of a room's chunk."""

    def __init__(
        self, rank: int, network: Network, switches: Switches, outstanding: Callable[[int], bool] = lambda _: False
    ) -> None:
        self.rank = rank
        self._network = network
        self._switches = switches
        self.outstanding = outstanding
        self.request_status: dict[int, Status] = {}
        self.transfer_infos: dict[int, dict[int, Info]] = {}
        self.ack_targets: dict[int, dict[int, int]] = {}  # room -> decode rank -> generation of its hold
        self.poisoned: set[int] = set()
        self.failed_sessions: set[int] = set()  # decode ranks
        self.revivals: list[tuple[int, Status]] = []  # rooms that had failed, and what became of them

    def status(self, room: int) -> Status | None:
        """The room's entry."""
        return self.request_status.get(room)

    def alive(self, room: int) -> bool:
        """Whether the room has an entry that has not failed."""
        return self.status(room) not in (None, Status.FAILED)

    def infos(self, room: int) -> dict[int, Info]:
        """Decode's page numbers, by decode rank."""
        return self.transfer_infos.get(room, {})

    def update_status(self, room: int, status: Status) -> None:
        """Change the entry: it only goes forward, failure beats all, and by default it can be undone."""
        now = self.status(room)
        if now is None:
            self._make(room, status)
        elif status is Status.FAILED:
            self.request_status[room] = status
        elif now is Status.FAILED:
            if not self._switches.failed_is_terminal:
                self.request_status[room] = status
                self.revivals.append((room, status))
        elif now is Status.BOOTSTRAPPING or status is Status.SUCCESS:
            self.request_status[room] = status

    def _make(self, room: int, status: Status) -> None:
        # A failure makes no entry; with terminal failures a late success makes none either.
        if status is Status.FAILED or (status is Status.SUCCESS and self._switches.failed_is_terminal):
            return
        self.request_status[room] = status
        if self._switches.generations:
            self.ack_targets.pop(room, None)
            self.poisoned.discard(room)

    def clear(self, room: int) -> None:
        """The sender is through: the entry goes, a chunk under way goes on."""
        self.request_status.pop(room, None)
        self.transfer_infos.pop(room, None)
        if self._switches.deferred_release:
            if self._switches.keep_ack_target:
                self.acknowledge(room)
            else:
                self.ack_targets.pop(room, None)

    def register(self, room: int, d: int, generation: int) -> None:
        """Remember that a decode rank waits for the room to drain; without generations there is one place for it."""
        if room not in self.poisoned:
            if not self._switches.generations:
                self.ack_targets.pop(room, None)
            self.ack_targets.setdefault(room, {})[d] = generation

    def acknowledge(self, room: int) -> None:
        """Tell the ranks that wait for it that the room has drained, if it has."""
        if self.outstanding(room):
            return
        targets = self.ack_targets.pop(room, {})
        if targets and not self._switches.generations:
            # There is one place for who waits, so the answer goes to everybody who might.
            targets = dict.fromkeys(self._network.decode_peers(self.rank), 0)
        for d, generation in targets.items():
            if room not in self.poisoned:
                self.send(d, Ack(room, generation))

    def poison(self, room: int) -> None:
        """A call failed or its thread died: whether the room has drained cannot be known any more."""
        if self._switches.poison:
            self.poisoned.add(room)
            self.ack_targets.pop(room, None)

    def send(self, d: int, message: Message) -> None:
        """A message to one decode rank."""
        self._network.downward(self.rank, d).send(message)

    def report(self, room: int, ranks: Iterable[int], *, success: bool) -> None:
        """Tell decode ranks how the room went."""
        for d in ranks:
            self.send(d, Success(room) if success else Failure(room))

    def die(self) -> None:
        """The process ends; what is in its tables is lost."""
        self.request_status.clear()
        self.transfer_infos.clear()
        self.ack_targets.clear()
