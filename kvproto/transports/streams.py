"""Pages copied by the card itself, each copy in a CUDA stream of its own, in flight until it is let go.

Without a card the same copies wait in a queue.  Both hold tensors of PyTorch only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.reference.paged.libraries import torch
from kvproto.transports import page_bytes
from kvproto.transports.base import Move, PageMemory
from kvproto.transports.scripted import Scripted
from kvproto.transports.stream_lanes import Lane, Lanes, lanes_on

REHEARSED = (1, 2, 3, 16)
"""Lengths of page tables for which a kernel may be compiled differently."""


class Copy:
    """One page as bytes in both memories.  What is copied of it is decided when the copy happens: `window`.

    Nothing is allocated then, and every operation is one of the tensors' device.
    """

    def __init__(self, source: PageMemory, source_page: int, target: PageMemory, target_page: int) -> None:
        module, device = torch(), target.keys.device
        self._parts: list[tuple[Any, Any, Any, Any, Any]] = []
        start = 0
        for name in ("keys", "values", "tags"):
            here, there = _bytes(getattr(source, name), source_page), _bytes(getattr(target, name), target_page)
            places = module.arange(start, start + len(there), device=device)
            masks = (module.empty(len(there), dtype=module.bool, device=device) for _ in range(2))
            self._parts.append((here, there, places, *masks))
            start += len(there)
        self.size = start
        self.window = module.tensor([0, start], device=device)

    def copy(self) -> None:
        """Copy the bytes of the window from the source page, as it is now, into the target page."""
        module = torch()
        for here, there, places, inside, below in self._parts:
            module.ge(places, self.window[0], out=inside)
            module.lt(places, self.window[1], out=below)
            module.logical_and(inside, below, out=inside)
            module.where(inside, here, there, out=there)

    def limit(self, start: int, stop: int) -> None:
        """Set the window."""
        self.window[0], self.window[1] = start, stop


def _bytes(tensor: Any, page: int) -> Any:
    """A page of a tensor as a row of bytes, not a copy."""
    return tensor[page : page + 1].flatten().view(torch().uint8)


@dataclass(slots=True)
class InFlight:
    """A write in its lane."""

    copy: Copy
    lane: Lane


class Streams(Scripted):
    """The scripted transport with its copies in lanes: handed over when posted, let go when they land.

    A page that arrives in parts has a lane for each part; the last one is that of the post.
    """

    name = "streams"

    def __init__(self, *, early_success: bool = False) -> None:
        super().__init__(early_success=early_success)
        self._lanes: Lanes | None = None
        self._flights: dict[int, InFlight] = {}

    def open(self, memories: Mapping[str, PageMemory]) -> None:
        """Take the memories of both sides, which are all on one device."""
        super().open(memories)
        for memory in memories.values():
            if memory.arrays.backend != "torch":
                raise KvError(
                    "KV050",
                    "streams copy tensors of PyTorch",
                    reason=f"these pages are held by {memory.arrays.backend}",
                    cure="give --device cuda, or --device cpu for a queue in the place of the streams",
                )
        self._lanes = lanes_on(next(iter(memories.values())).keys.device)
        self._rehearse(memories)

    def _rehearse(self, memories: Mapping[str, PageMemory]) -> None:
        """Do once what will be done while copies are held, before one is.

        A card that loads code for the first time may wait for every stream.
        """
        name, one = next(iter(memories.items()))
        copy = self._copy(Move("rehearsal", name, 0, name, 0))
        copy.limit(0, 0)
        copy.copy()
        one.arrays.digest(one.keys, one.values, [0])
        for length in REHEARSED:
            asked = one.arrays.zeros(length * one.keys.shape[1], *one.keys.shape[2:])
            for expected in (None, [0] * length):
                tensors = (one.keys, one.values, one.tags)
                one.arrays.attention(asked, *tensors, [0] * length, page_bias=1.0, expected=expected)
        self._let_go(copy)

    def post(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Hand the copies of one call over."""
        writes = super().post(moves)
        for write, move in zip(writes, moves, strict=True):
            copy = self._copy(move)
            self._flights[write] = InFlight(copy, self._running().hold(copy.copy))
        return writes

    def land(self, write: int, upto: int | None = None) -> None:
        """Let a copy go, or a part of it that has a lane of its own."""
        entry = self._in_flight(write)
        flight = self._flights[write]
        size = page_bytes.size(self._memories[entry.move.target])
        stop = size if upto is None else min(upto, size)
        if stop < entry.arrived:
            raise ValueError(f"{entry.arrived} bytes have arrived, more than {stop}")
        if stop == size:
            flight.copy.limit(entry.arrived, size)
            del self._flights[write]
            flight.lane.let_go()
        else:
            part = self._copy(entry.move)
            part.limit(entry.arrived, stop)
            self._let_go(part)
        self._has_arrived(write, stop, size)

    def vanish(self, write: int) -> None:
        """Let a copy go that copies nothing."""
        super().vanish(write)
        self._drop(write)

    def close(self) -> None:
        """Let all go, without their bytes."""
        for write in list(self._flights):
            self._drop(write)
        if self._lanes is not None:
            self._lanes.close()
            self._lanes = None

    def _drop(self, write: int) -> None:
        flight = self._flights.pop(write)
        flight.copy.limit(0, 0)
        flight.lane.let_go()

    def _copy(self, move: Move) -> Copy:
        source, target = self._memories[move.source], self._memories[move.target]
        return Copy(source, move.source_page, target, move.target_page)

    def _let_go(self, copy: Copy) -> None:
        self._running().hold(copy.copy).let_go()

    def _running(self) -> Lanes:
        assert self._lanes is not None, "the transport is not open"
        return self._lanes
