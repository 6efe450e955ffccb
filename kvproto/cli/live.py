"""What is seen of a check while it runs: on a terminal a line, then a picture; in a log a line now and then.

Everything is drawn when the search reports, in between two pieces of its work, so there is no thread beside it and
nothing is drawn half; what a look costs is bounded by how often one is taken.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kvproto.cli.options import on_terminal
from kvproto.engine.outcome import Progress
from kvproto.view.underway import ASCII, BLOCKS, Moment, Strokes, one_line, picture, sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

LINE_FROM_S, LINE_EVERY_S = 0.2, 0.2
"""A search that ends sooner shows nothing at all."""

PICTURE_FROM_S, PICTURE_EVERY_S = 3.0, 0.5
"""Seconds of the whole check after which the picture takes the place of the line, and between two pictures."""

SHARE = 0.003
"""Of the processor time of the check, drawing takes so much; where it would take more, pictures come less often."""

LOG_EVERY_S = 10.0

RATES = 30
"""So many of the last looks are in the line of speeds."""

CLEAR = "\r\033[K"


def wanted(progress: bool | None, *, quiet: bool) -> bool:
    """Whether anything is shown: what --progress says, and without it unless --quiet."""
    return not quiet if progress is None else progress


class Watch:
    """Shows the searches of one check, one after the other."""

    def __init__(
        self,
        targets: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        busy: Callable[[], float] = time.process_time,
    ) -> None:
        self.targets = targets
        self._clock, self._busy = clock, busy
        self._spent = 0.0
        self._began = clock()
        self._drawing = on_terminal() and os.environ.get("TERM") != "dumb"
        self._number = 0
        self._looked = self._began
        self._live: Live | None = None
        self._target = ""
        self._limit: int | None = None
        self._rates: deque[float] = deque(maxlen=RATES)
        self._last = (0.0, 0)

    def begin(self, target: str, memory_limit: int | None) -> Callable[[Progress], None]:
        """The search of the next target begins; gives what it is to report to."""
        self._number += 1
        self._target, self._limit = target, memory_limit
        self._rates.clear()
        self._last = (0.0, 0)
        return self._look

    def end(self) -> None:
        """Take away what is drawn, so that results can be printed."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._drawing:
            click.echo(CLEAR, nl=False, err=True)

    def _look(self, now: Progress) -> None:
        at = self._clock()
        since = at - self._looked
        if not self._drawing:
            if since >= LOG_EVERY_S:
                self._looked = at
                click.echo(sentence(self._moment(now, at)), err=True)
        elif at - self._began >= PICTURE_FROM_S:
            began = self._busy()
            if since >= PICTURE_EVERY_S and self._spent <= SHARE * began:
                self._looked = at
                self._draw(self._moment(now, at))
                self._spent += self._busy() - began
        elif now.seconds >= LINE_FROM_S and since >= LINE_EVERY_S:
            self._looked = at
            click.echo(f"\r{one_line(self._target, now, columns() - 1)}\033[K", nl=False, err=True)

    def _moment(self, now: Progress, at: float) -> Moment:
        seconds, states = self._last
        if now.seconds > seconds:
            self._rates.append((now.states - states) / (now.seconds - seconds))
        self._last = (now.seconds, now.states)
        return Moment(
            target=self._target,
            number=self._number,
            targets=self.targets,
            seconds=at - self._began,
            now=now,
            detail=now.detail(),
            rates=tuple(self._rates),
            memory_limit=self._limit,
        )

    def _draw(self, moment: Moment) -> None:
        if self._live is None:
            # Slow to load, so only long checks do it.
            began = self._busy()
            from rich.console import Console
            from rich.live import Live

            click.echo(CLEAR, nl=False, err=True)
            self._live = Live(
                console=Console(stderr=True, highlight=False),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            # Loading is done once, and is not what drawing costs.
            self._spent -= self._busy() - began
        console = self._live.console
        self._live.update(drawn(moment, console), refresh=True)


def drawn(moment: Moment, console: Console) -> Text:
    """The picture for a terminal of that size and with those letters."""
    from rich.text import Text

    # One column is left free: a terminal that is full breaks the line.
    lines = picture(moment, width=console.width - 1, height=console.height - 1, strokes=strokes(console.encoding))
    return Text("\n", no_wrap=True, overflow="crop").join(Text.assemble(*line) for line in lines)


def columns() -> int:
    """How wide the terminal of messages is: a line that it breaks could not be taken away again."""
    said = os.environ.get("COLUMNS", "")
    try:
        known = int(said) if said.isdecimal() else os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        known = 0
    return known or 80


def strokes(encoding: str) -> Strokes:
    """Blocks, where they can be written."""
    try:
        (BLOCKS.heights + BLOCKS.parts + BLOCKS.open).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS
