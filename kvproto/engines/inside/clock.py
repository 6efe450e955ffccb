"""Time as the engine sees it: it stands still, and goes ahead only while a time-out is being asked for."""

from __future__ import annotations

import time as real
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Clock:
    """Takes the place of the module `time` in the engine's queues and connection code.

    A step that is a time-out sees the clock `ahead`, and nobody else does: the model has no clocks, so the time-out
    of one request says nothing of another one's.
    """

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        """Seconds."""
        return self.now

    monotonic = perf_counter = time

    def sleep(self, seconds: float) -> None:
        """Nobody waits."""

    @contextmanager
    def ahead(self, seconds: float) -> Iterator[None]:
        """Let so many seconds have passed, for the duration of one step."""
        before, self.now = self.now, self.now + seconds
        try:
            yield
        finally:
            self.now = before

    def __getattr__(self, name: str) -> Any:
        return getattr(real, name)
