"""Threads of the engine that run only when they are told to, up to their next stopping place.

A baton goes back and forth between the caller and one thread, so exactly one of them runs at any time and every
run of the same steps is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Stop(BaseException):
    """Ends a thread that is no longer wanted.  Not an `Exception`, since the engine's loops catch those."""


class Baton:
    """One loop of the engine.  `place` says where it stands; empty before the first step and after its end."""

    def __init__(self, name: str, body: Callable[[], Any]) -> None:
        self.name = name
        self.place = ""
        self.dead: BaseException | None = None
        self._body = body
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._theirs.acquire()
        try:
            if not self._closed:
                self._body()
        except Stop:
            pass
        except BaseException as error:
            self.dead = error
        self.place = ""
        self._mine.release()

    def here(self) -> bool:
        """Whether the caller is this thread."""
        return threading.current_thread() is self._thread

    def park(self, place: str) -> None:
        """Called in the thread: stand still until the next `go`."""
        self.place = place
        self._mine.release()
        self._theirs.acquire()
        if self._closed:
            raise Stop

    def go(self) -> str:
        """Let the thread run to its next stopping place; says which.  Raises what ended the thread."""
        self._theirs.release()
        self._mine.acquire()
        if self.dead is not None:
            raise self.dead
        return self.place

    def close(self) -> None:
        """End the thread where it stands."""
        self._closed = True
        if self._thread.is_alive():
            self._theirs.release()
            self._thread.join(timeout=5)
