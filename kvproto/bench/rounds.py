"""The rounds: every way once in each, so that a busy moment of the machine touches all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from kvproto.bench.plan import BASELINE, Size, Way
from kvproto.bench.runs import Sample, Workshop

Tell = Callable[[str], None]
"""Told what is being measured."""


@dataclass(slots=True)
class Line:
    """All that was measured of one way at one size."""

    way: Way
    size: Size
    samples: list[Sample] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """CPU seconds of the same command up to its first state, in the same round."""

    def cpu(self) -> float:
        """CPU seconds of the whole command."""
        return median(s.cost.cpu for s in self.samples)

    def wall(self) -> float:
        """Seconds of the whole command by the clock on the wall."""
        return median(s.cost.wall for s in self.samples)

    def search(self) -> float:
        """CPU seconds of the search alone."""
        return median(self.searches())

    def searches(self) -> list[float]:
        """CPU seconds of the search alone, round by round."""
        start = median(self.starts) if self.starts else 0.0
        return [max(s.cost.cpu - start, 0.001) for s in self.samples]

    @property
    def lasts(self) -> bool:
        """Whether the search is long enough to be told from the start."""
        return not self.starts or self.search() > 0.5 * median(self.starts)

    def peak(self) -> float:
        """Largest resident set in bytes."""
        return median(s.cost.peak for s in self.samples)

    @property
    def expected(self) -> int:
        """How many states there are."""
        return self.size.classes if self.way.symmetric else self.size.states

    @property
    def right(self) -> bool:
        """Whether every run found as many states as there are."""
        return all(s.states == self.expected for s in self.samples)


def measure_searches(
    workshop: Workshop, sizes: Sequence[Size], ways: Sequence[Way], rounds: int | None, tell: Tell
) -> list[Line]:
    """Every way at every size."""
    found = []
    for size in sizes:
        lines = [Line(way, size) for way in ways]
        for line in lines:
            tell(f"{size.name}: preparing {line.way.title}")
            _prepare(workshop, line)
        times = rounds or size.rounds
        for number in range(times):
            # The one that begins a round is another one each time.
            for line in lines[number % len(lines) :] + lines[: number % len(lines)]:
                tell(f"{size.name}: round {number + 1} of {times}, {line.way.title}")
                if line.way.tool == "kvproto":
                    line.starts.append(workshop.start(size, *line.way.options).cpu)
                line.samples.append(workshop.search(line.way, size))
        found += lines
    return found


def _prepare(workshop: Workshop, line: Line) -> None:
    """Compile what is compiled once; the caches are warm afterwards."""
    if line.way.tool == "spin":
        workshop.pan(line.way, line.size)
    else:
        workshop.search(line.way, line.size)


def ratio(line: Line, lines: Sequence[Line], *, whole: bool) -> float | None:
    """How many times as many states per CPU second as the baseline: the median over the rounds of both.

    `whole` counts the whole command, else the search alone.  A search of symmetric states is not compared.
    """
    base = next((other for other in lines if other.way.key == BASELINE and other.size == line.size), None)
    if base is None or line.way.symmetric or len(base.samples) != len(line.samples):
        return None
    if not whole and not line.lasts:
        return None
    mine = [s.cost.cpu for s in line.samples] if whole else line.searches()
    theirs = [s.cost.cpu for s in base.samples]
    return median(b / m for b, m in zip(theirs, mine, strict=True))
