"""Ctrl-C and SIGTERM as wishes: they end a piece of work between two of its steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WISHES = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""Signals that end a piece of work, with what answers them where nobody has said otherwise."""


@contextmanager
def polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C or SIGTERM end a piece of work instead of tearing it apart; gives the question whether one came.

    A second one is a KeyboardInterrupt.  Outside of the main thread nothing changes, nor for a signal that somebody
    else handles.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            signal.default_int_handler(number, frame)
        asked.append(number)

    ours = [number for number, usual in WISHES.items() if signal.getsignal(number) is usual]
    before = {number: signal.signal(number, note) for number in ours}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
