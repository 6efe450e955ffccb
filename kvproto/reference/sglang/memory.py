"""What lies beside the tensors: allocators of pages and of metadata rows, and the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.reference.refusal import Refused


class Allocator:
    """Numbered things, each free or owned by a room; all ranks of a side ask for them in the same order."""

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self.owners: list[int | None] = [None] * count
        self.generations = [0] * count

    def __len__(self) -> int:
        return len(self.owners)

    def free(self) -> list[int]:
        """Numbers of what is free, lowest first."""
        return [number for number, owner in enumerate(self.owners) if owner is None]

    def expect(self, count: int) -> None:
        """Refuse unless so many are free."""
        free = len(self.free())
        if free < count:
            raise Refused(f"{self._name}: {count} wanted, {free} free")

    def allocate(self, room: int, count: int) -> tuple[int, ...]:
        """Give a room so many, lowest numbers first."""
        self.expect(count)
        chosen = tuple(self.free()[:count])
        for number in chosen:
            self.owners[number] = room
            self.generations[number] += 1
        return chosen

    def release(self, room: int) -> tuple[int, ...]:
        """Take back all that a room owns, and say what that was."""
        owned = tuple(number for number, owner in enumerate(self.owners) if owner == room)
        for number in owned:
            self.owners[number] = None
        return owned


@dataclass(frozen=True, slots=True)
class Row:
    """A metadata row: the room it is about, how many tokens were sent, and their digest.  Room 0 is an empty row."""

    room: int = 0
    tokens: int = 0
    digest: bytes = b""


EMPTY = Row()
