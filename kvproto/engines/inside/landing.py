"""The transfer engine: a call posts writes, and each of them lands when a step says so."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvproto.engines.inside import seams
from kvproto.engines.inside.baton import Baton

Piece = tuple[int, int, int]
"""Address to read, address to write, length."""


@dataclass(frozen=True, slots=True)
class Region:
    """A buffer of the decode side that pages lie in."""

    start: int
    page: int
    pages: int

    def number(self, address: int) -> int | None:
        """The page that an address lies in."""
        at = (address - self.start) // self.page
        return at if 0 <= at < self.pages else None


@dataclass(slots=True)
class Write:
    """The write of one page, keys and values."""

    room: int
    position: int
    target: int
    pieces: list[Piece] = field(default_factory=list)
    awaited: bool = True


class Landing:
    """Stands in for the engine's RDMA engine.

    `writes` are posted and have not landed; those of a call that has returned are no longer `awaited`.  A call on
    pages parks the worker twice, before it posts and before it returns; a call on metadata rows parks it once.
    """

    def __init__(self, side: str) -> None:
        self.side = side
        self.regions: list[Region] = []
        self.writes: list[Write] = []
        self.outcome = 0
        self.crashing = False
        self.loses_rows = False
        self._posted: tuple[Any, int] = (None, 0)
        self.chunk: Callable[[], Any] = lambda: None

    def get_session_id(self) -> str:
        """The session's name."""
        return seams.SESSIONS[self.side]

    def batch_register(self, *given: Any) -> int:
        """Memory is always reachable."""
        return 0

    def batch_deregister(self, *given: Any) -> int:
        """Memory is always reachable."""
        return 0

    def transfer_sync(self, session: str, source: int, target: int, length: int) -> int:
        """A call of one block."""
        return self.batch_transfer_sync(session, [source], [target], [length])

    def batch_transfer_sync(self, session: str, sources: list[int], targets: list[int], lengths: list[int]) -> int:
        """A call: blocks are taken apart into pages, and the worker waits while they land."""
        baton = seams.current.here()
        blocks = list(zip(sources, targets, lengths, strict=True))
        if not any(region.number(target) is not None for region in self.regions for target in targets):
            self._park(baton, "aux")
            for piece in () if self.loses_rows else blocks:
                copy(piece)
            return 0
        self._park(baton, "posting")
        self.writes += self._pages(blocks)
        self.outcome = 0
        self._park(baton, "calling")
        return self.outcome

    def _park(self, baton: Baton, place: str) -> None:
        baton.park(place)
        if self.crashing:
            raise RuntimeError("the transfer engine, scripted, has raised an exception")

    def left(self) -> int:
        """Pages of the chunk under way that no call has posted yet."""
        chunk = self.chunk()
        before = self._posted[1] if self._posted[0] is chunk else 0
        return len(chunk.prefill_kv_indices) - before

    def _pages(self, blocks: list[Piece]) -> list[Write]:
        """One write for each page of the call: the i-th page of every region belongs to its i-th position."""
        chunk = self.chunk()
        before = self._posted[1] if self._posted[0] is chunk else 0
        first = (chunk.index_slice.start or 0) + before
        writes: list[Write] = []
        for region in self.regions:
            at = 0
            for piece in blocks:
                for source, target, length in _split(piece, region):
                    number = region.number(target)
                    assert number is not None
                    if at == len(writes):
                        writes.append(Write(chunk.room, first + at, number))
                    writes[at].pieces.append((source, target, length))
                    at += 1
        self._posted = (chunk, before + len(writes))
        return writes

    def of(self, room: int, *, awaited: bool) -> list[Write]:
        """Writes of a room that the running call waits for, or that nobody waits for."""
        return [write for write in self.writes if write.room == room and write.awaited == awaited]


def copy(piece: Piece) -> None:
    """Move bytes between the two sides."""
    source, target, length = piece
    ctypes.memmove(target, source, length)


def _split(piece: Piece, region: Region) -> list[Piece]:
    """A block as pages, if it lies in the region."""
    source, target, length = piece
    if region.number(target) is None:
        return []
    return [(source + at, target + at, region.page) for at in range(0, length, region.page)]
