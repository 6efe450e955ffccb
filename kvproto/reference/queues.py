"""The queues of a scheduler."""

from __future__ import annotations

from collections.abc import Iterable

from kvproto.reference import prompts
from kvproto.reference.refusal import Refused


class Queues:
    """The queues of a scheduler: every room is in at most one of them, under the engine's name for it."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._where: dict[int, str] = {}

    def of(self, room: int) -> str | None:
        """The queue that holds the room, or None if this side has not heard of it."""
        return self._where.get(room)

    def has(self, room: int, names: Iterable[str]) -> bool:
        """Whether the room is in one of these queues."""
        return self._where.get(room) in tuple(names)

    def move(self, room: int, to: str) -> None:
        """Take the room out of its queue and put it into `to`."""
        self._where[room] = to

    def expect(self, room: int, *names: str) -> None:
        """Refuse unless the room is in one of these queues."""
        here = self.of(room)
        if here not in names:
            place = "is not known there" if here is None else f"is in {here}"
            raise Refused(f"{self._side}: request {prompts.label(room)} {place}, not in {' or '.join(names)}")
