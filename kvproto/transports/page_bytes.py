"""A page as a row of bytes: keys, values and tag, one after the other.  For pages that arrive in parts."""

from __future__ import annotations

import struct
from typing import Any

from kvproto.transports.base import PageMemory

TAG = struct.Struct("<i")


def size(memory: PageMemory) -> int:
    """How many bytes a page has."""
    return 4 * (_count(memory.keys) + _count(memory.values)) + TAG.size


def get(memory: PageMemory, page: int) -> bytes:
    """A page as it is now."""
    parts = [memory.arrays.to_bytes(part) for part in (memory.keys[page], memory.values[page])]
    return b"".join([*parts, TAG.pack(int(memory.tags[page]))])


def put(memory: PageMemory, page: int, data: bytes, start: int, stop: int) -> None:
    """Replace the bytes of a page from `start` up to `stop` by those of `data`, a whole page."""
    # Only here: verbs that tear no page load this module, and need no arrays.
    import numpy as np

    now = get(memory, page)
    both = now[:start] + data[start:stop] + now[stop:]
    numbers = np.frombuffer(both[: -TAG.size], dtype="<f4").copy()
    keys = _count(memory.keys)
    as_tensor = memory.arrays.xp.asarray
    memory.keys[page] = as_tensor(numbers[:keys].reshape(memory.keys.shape[1:]))
    memory.values[page] = as_tensor(numbers[keys:].reshape(memory.values.shape[1:]))
    (memory.tags[page],) = TAG.unpack(both[-TAG.size :])


def _count(tensor: Any) -> int:
    """Elements of one row."""
    count = 1
    for length in tensor.shape[1:]:
        count *= int(length)
    return count
