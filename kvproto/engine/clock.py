"""What a search has cost so far: time on the wall and time of processors."""

from __future__ import annotations

import os
import time


class Clock:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), _cpu()

    def seconds(self) -> float:
        """Time that has passed."""
        return time.monotonic() - self._wall

    def cpu_seconds(self) -> float:
        """Processor time of all threads, and of children (compilers) that have ended."""
        return _cpu() - self._cpu


def _cpu() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
