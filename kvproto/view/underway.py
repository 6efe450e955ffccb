"""A search that is under way, as a picture for a terminal: figures, how levels grow, which actions happen.

Everything is computed from one moment, so a picture can be tested without a search and without a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvproto.engine.outcome import Detail, Progress
from kvproto.trace.printable import cells, cut, pad, printable

MOST_LEVELS = 20
"""So many of the last levels are drawn."""

TWO_CHARTS = 64
"""From so many columns on the charts stand side by side."""

Line = list[tuple[str, str]]
"""Pieces of one line, each with a style; "" is none."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is to be drawn: the search of one of several targets, and the states a second of late, oldest first."""

    target: str
    number: int
    targets: int
    seconds: float
    now: Progress
    detail: Detail
    rates: Sequence[float] = ()
    memory_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Strokes:
    """What charts are drawn with: heights of a line, parts of a cell, and a cell of what is still to come."""

    heights: str
    parts: str
    open: str


BLOCKS = Strokes("▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉█", "░")
ASCII = Strokes("_.-=+*%#", "#", ".")
"""For terminals whose letters do not include blocks."""


def picture(moment: Moment, *, width: int, height: int, strokes: Strokes = BLOCKS) -> list[Line]:
    """The lines of the picture, none wider than `width`, at most `height` of them."""
    lines = [*_figures(moment, strokes), []]
    # One more is for the heads of the charts.
    rows = max(0, height - len(lines) - 1)
    if width >= TWO_CHARTS:
        left = max(28, 2 * width // 5)
        levels = list(_levels(moment, left - 2, rows, strokes))
        actions = list(_actions(moment, width - left, rows, strokes))
        for at in range(max(len(levels), len(actions))):
            first = levels[at] if at < len(levels) else []
            gap = left - sum(cells(text) for text, _ in first)
            lines.append([*first, (" " * gap, ""), *(actions[at] if at < len(actions) else [])])
    else:
        lines += _levels(moment, width, rows, strokes)
    return [_clipped(line, width) for line in lines[:height]]


def sentence(moment: Moment) -> str:
    """The same in one line, for logs."""
    now, detail = moment.now, moment.detail
    which = f" ({moment.number} of {moment.targets})" if moment.targets > 1 else ""
    return (
        f"{printable(moment.target)}{which}  {now.states:,} states  frontier {now.frontier:,}  depth {now.level}  "
        f"{_rate(moment) if now.frontier else 'all states are found'}  {memory(now.memory)}  "
        f"{len(detail.violated)} of {detail.properties} violated"
    )


def one_line(target: str, now: Progress, width: int) -> str:
    """The figures alone, for the first seconds; if there is too little room, of the name there is less."""
    figures = (
        f"  {now.states:,} states  frontier {now.frontier:,}  depth {now.level}  "
        f"{now.states / max(now.seconds, 1e-9):,.0f} states/s  {memory(now.memory)}"
    )
    return cut(cut(printable(target), max(8, width - len(figures))) + figures, width)


def memory(size: int) -> str:
    """A number of bytes: `12 MiB`, `1.3 GiB`."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def duration(seconds: float) -> str:
    """`12 s`, `3 min 5 s`, `2 h 0 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def spark(rates: Sequence[float], strokes: Strokes = BLOCKS) -> str:
    """A line of heights, the greatest the highest."""
    most = max(rates, default=0.0)
    if most <= 0:
        return ""
    top = len(strokes.heights) - 1
    return "".join(strokes.heights[round(rate / most * top)] for rate in rates)


def _rate(moment: Moment) -> str:
    rate = moment.rates[-1] if moment.rates else moment.now.states / max(moment.now.seconds, 1e-9)
    return f"{rate:,.0f} states/s"


def _figures(moment: Moment, strokes: Strokes) -> Iterator[Line]:
    now, detail = moment.now, moment.detail
    which = f"target {moment.number} of {moment.targets}   " if moment.targets > 1 else ""
    yield [(printable(moment.target), "bold"), (f"   {which}{duration(moment.seconds)}   Ctrl-C ends it", "")]
    yield [(f"  states    {now.states:,}   frontier {now.frontier:,}   depth {now.level}", "")]
    if now.frontier:
        yield [(f"  speed     {_rate(moment)}   ", ""), (spark(moment.rates, strokes), "cyan")]
    else:
        yield [("  all states are found; what is left is to judge whole runs and to tell why", "")]
    yield list(_memory(now.memory, moment.memory_limit, strokes))
    if detail.violated:
        count = f"{len(detail.violated)} of {detail.properties}: "
        yield [("  violated  ", ""), (count + ", ".join(map(printable, detail.violated)), "bold red")]
    else:
        yield [(f"  violated  none of {detail.properties} so far", "")]


def _memory(held: int, limit: int | None, strokes: Strokes) -> Iterator[tuple[str, str]]:
    if limit is None:
        yield (f"  memory    {memory(held)}", "")
        return
    yield (f"  memory    {memory(held)} of {memory(limit)}   ", "")
    used = bar(held / limit, 20, strokes)
    yield (used, "red" if held > 0.9 * limit else "cyan")
    yield (strokes.open * (20 - cells(used)), "dim")


def bar(share: float, width: int, strokes: Strokes = BLOCKS) -> str:
    """A bar that fills that share of `width` cells; what is not nothing can be seen."""
    parts = len(strokes.parts)
    filled = min(round(share * width * parts), width * parts)
    if filled == 0:
        return strokes.parts[0] if share > 0 else ""
    whole, rest = divmod(filled, parts)
    return strokes.parts[-1] * whole + (strokes.parts[rest - 1] if rest else "")


def _levels(moment: Moment, width: int, rows: int, strokes: Strokes) -> Iterator[Line]:
    """The last levels; of the one that is being expanded, and of the one behind it, what is still to come is open."""
    detail = moment.detail
    sizes = list(enumerate(detail.levels, detail.first))
    if detail.behind:
        sizes.append((detail.first + len(detail.levels), detail.behind))
    shown = sizes[-min(rows, MOST_LEVELS) :] if rows else []
    if not shown:
        return
    yield [(f"{'depth':>7}  states", "dim")]
    numbers = max(len(f"{size:,}") for _, size in shown)
    room = max(1, width - 9 - 1 - numbers)
    most = max(size for _, size in shown)
    current = detail.first + len(detail.levels) - 1
    for level, size in shown:
        left = size if level > current else moment.now.frontier - detail.behind if level == current else 0
        whole = bar(size / most, room, strokes)
        done = bar((size - left) / most, room, strokes) if left else whole
        rest = strokes.open * (cells(whole) - cells(done))
        gap = " " * (room - cells(whole) + 1)
        yield [(f"{level:>7}  ", ""), (done, "cyan"), (rest, "dim"), (f"{gap}{size:>{numbers},}", "")]


def _actions(moment: Moment, width: int, rows: int, strokes: Strokes) -> Iterator[Line]:
    """The actions that happened most often, and how many never did."""
    fired = sorted(moment.detail.fired.items(), key=lambda entry: -entry[1])
    happened = [(name, count) for name, count in fired if count]
    never = len(fired) - len(happened)
    # One row is for the head, one for what is left out.
    room = min(rows, MOST_LEVELS)
    shown = happened[: room if not never and len(happened) <= room else max(0, room - 1)]
    if not shown:
        return
    yield [("action, how often", "dim")]
    numbers = max(len(f"{count:,}") for _, count in shown)
    names = min(max(cells(printable(name)) for name, _ in shown), max(8, width // 2 - 4))
    space = max(1, width - names - numbers - 2)
    for name, count in shown:
        drawn = bar(count / shown[0][1], space, strokes)
        gap = " " * (space - cells(drawn) + 1)
        yield [(f"{pad(cut(printable(name), names), names)} ", ""), (drawn, "cyan"), (f"{gap}{count:>{numbers},}", "")]
    left = [f"{len(happened) - len(shown)} more"] if len(happened) > len(shown) else []
    if left or never:
        yield [("; ".join([*left, *([f"{never} not yet"] if never else [])]), "dim")]


def _clipped(line: Line, width: int) -> Line:
    """The line, cut at the edge of the terminal."""
    kept: Line = []
    for text, style in line:
        room = width - sum(cells(piece) for piece, _ in kept)
        if room > 0 and text:
            kept.append((cut(text, room), style))
    return kept
