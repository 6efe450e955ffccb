"""Ctrl-C as a wish: it ends a piece of work between two of its steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C end a piece of work instead of tearing it apart; gives the question whether it was pressed.

    A second Ctrl-C is a KeyboardInterrupt.  Outside of the main thread, and where somebody else handles the signal,
    nothing changes.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.default_int_handler(number, frame)
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
