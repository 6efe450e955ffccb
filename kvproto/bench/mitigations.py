"""What mitigations cost on a device: every one beside the plain operation it is added to, in the same rounds.

A page is written once in the life of a request, and read in every step of decoding.  So what is done once (clearing,
sums, marks, writing tags) is compared with moving the pages of one request, and what is done at every read (checking
tags) with one step of decoding over them.

On a CPU the clock is that of the process, so that other work on the machine does not count; on a card it is the one on
the wall, from an idle device to an idle device.
"""

from __future__ import annotations

import ctypes
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from kvproto.bench.mitigations_ops import OPERATIONS, Bench, Case, Operation

Tell = Callable[[str], None]
"""Told what is being measured."""

LEAST = 0.002
"""Seconds that one measurement lasts at least; what is shorter is done several times."""

MOST_TIMES = 512

LARGEST_KEPT, TRIM_FROM = -3, -1
"""Parameters of `mallopt`: from what size on memory is mapped for itself, and how much is given back at the end."""


@dataclass(slots=True)
class Line:
    """All that was measured of one operation in one case: seconds, one number a round."""

    operation: Operation
    samples: list[float] = field(default_factory=list)

    def seconds(self) -> float:
        """The median."""
        return median(self.samples)


@dataclass(slots=True)
class Table:
    """One case.  `wrong` are the operations that did not do what they are for."""

    case: Case
    page_bytes: int
    lines: dict[str, Line]
    wrong: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Keys and values of all pages of the request."""
        return self.page_bytes * self.case.pages

    def extra(self, name: str) -> float:
        """Seconds that an operation adds to the plain one, median over rounds."""
        return median(self._extras(name))

    def ratio(self, name: str) -> float:
        """The plain operation with it, over the plain one alone: median of the rounds' ratios."""
        base = self.lines[self.lines[name].operation.beside].samples
        return median((plain + more) / plain for plain, more in zip(base, self._extras(name), strict=True))

    def bandwidth(self, name: str) -> float | None:
        """Bytes of pages a second, for what touches all of them; None where the extra is too small to be told."""
        line = self.lines[name]
        spent = line.seconds() if line.operation.plain else self.extra(name)
        return self.bytes * line.operation.passes / spent if line.operation.passes and spent > 0 else None

    def _extras(self, name: str) -> list[float]:
        line = self.lines[name]
        if not line.operation.includes_plain:
            return line.samples
        base = self.lines[line.operation.beside].samples
        return [both - plain for both, plain in zip(line.samples, base, strict=True)]


def keep_memory() -> bool:
    """Let the C library keep what is freed, where it can be told to; whether it could.

    Otherwise every large tensor of an operation is fresh memory from the system, and the cost of that, which varies,
    is most of what one measures on a CPU.
    """
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(tune(LARGEST_KEPT, 1 << 30)) and bool(tune(TRIM_FROM, (1 << 31) - 1))


def measure(cases: Sequence[Case], device: str, rounds: int, tell: Tell) -> list[Table]:
    """Measure every case, one after the other; inside a case every operation runs once a round."""
    return [_case(case, device, rounds, tell) for case in cases]


def _case(case: Case, device: str, rounds: int, tell: Tell) -> Table:
    tell(f"pages of {case.page_size} tokens, {case.tokens} tokens")
    bench = Bench(case, device)
    wrong = bench.wrong()
    lines = {operation.name: Line(operation) for operation in OPERATIONS}
    times = {operation.name: _times(bench, operation) for operation in OPERATIONS}
    chance = random.Random(1)
    for _ in range(rounds):
        # Another order in every round: whoever always came after the same one would find its pages in the cache.
        for operation in chance.sample(OPERATIONS, len(OPERATIONS)):
            lines[operation.name].samples.append(_timed(bench, operation, times[operation.name]))
    return Table(case, bench.page_bytes, lines, wrong)


def _times(bench: Bench, operation: Operation) -> int:
    """How often one measurement repeats an operation."""
    # The first call allocates and, on a card, compiles; the second one says how long a call takes.
    _timed(bench, operation, 1)
    took = max(_timed(bench, operation, 1), 1e-7)
    return max(1, min(MOST_TIMES, round(LEAST / took)))


def _timed(bench: Bench, operation: Operation, times: int) -> float:
    """Seconds of one call, with the device waited for."""
    run = getattr(bench, operation.method)
    now = time.perf_counter if bench.on_card else time.process_time
    bench.wait()
    began = now()
    for _ in range(times):
        run()
    bench.wait()
    return (now() - began) / times
