"""Page pools in memory that two processes share, so that an engine in one writes what the other reads."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvproto.transports import page_bytes
from kvproto.transports.base import PageMemory


@dataclass(frozen=True, slots=True)
class Region:
    """Where the pages of one memory lie: `pages` of `page_size` bytes from `start` on."""

    start: int
    page_size: int
    pages: int

    @property
    def size(self) -> int:
        """Bytes of all pages."""
        return self.page_size * self.pages

    def page(self, number: int) -> int:
        """Where a page begins."""
        return self.start + number * self.page_size


class Arena:
    """One piece of shared memory, to which the tensors of several memories are moved.

    A page's keys, values and tag lie side by side.  The memories go on as before: their tensors are views.
    """

    def __init__(self, memories: Mapping[str, PageMemory]) -> None:
        self.regions: dict[str, Region] = {}
        end = 0
        for name, memory in memories.items():
            region = Region(end, page_bytes.size(memory), int(memory.tags.shape[0]))
            self.regions[name] = region
            end += -(-region.size // mmap.PAGESIZE) * mmap.PAGESIZE
        self.size = max(end, mmap.PAGESIZE)
        self.descriptor = os.memfd_create("kvproto-pages")
        os.ftruncate(self.descriptor, self.size)
        self._memory = mmap.mmap(self.descriptor, self.size)
        for name, memory in memories.items():
            self._move(memory, self.regions[name])

    def _move(self, memory: PageMemory, region: Region) -> None:
        words = np.frombuffer(self._memory, "<f4", region.size // 4, region.start).reshape(region.pages, -1)
        parts: list[Any] = []
        begin = 0
        for tensor in (memory.keys, memory.values):
            shape = tuple(int(length) for length in tensor.shape)
            width = int(np.prod(shape[1:]))
            parts.append(memory.arrays.xp.asarray(words[:, begin : begin + width].reshape(shape)))
            begin += width
        parts.append(memory.arrays.xp.asarray(words.view("<i4")[:, begin]))
        for view, tensor in zip(parts, (memory.keys, memory.values, memory.tags), strict=True):
            view[:] = tensor
        memory.keys, memory.values, memory.tags = parts

    def close(self) -> None:
        """Give the descriptor back.  The tensors stay: they hold the memory itself."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
