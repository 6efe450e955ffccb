"""How long it takes until something happens: to the first state, and to the first counterexample."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from kvproto.bench.measure import Cost, measure
from kvproto.bench.plan import SIZES, VULNERABLE, Size, Way
from kvproto.bench.rounds import Tell
from kvproto.bench.runs import Failed, Workshop
from kvproto.export import spin

HEAVY = ("z3", "torch", "numpy", "rich", "hypothesis")
"""Modules that a check must do without."""

FLAWED = Way("flawed", "SPIN, breadth first", "spin", ("-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-DBFS"), model="tuned")
"""SPIN finds a shortest run only breadth first; less optimisation is quicker in all."""


@dataclass(frozen=True, slots=True)
class Start:
    """One kind of beginning, measured several times."""

    what: str
    tool: str
    size: str
    cpu: float
    wall: float
    steps: int | None = None
    """Length of the counterexample."""


def measure_starts(workshop: Workshop, rounds: int, tell: Tell) -> list[Start]:
    """To the first state, with caches that are empty and caches that are not; and what was imported for it."""
    small = SIZES["S"]

    def cold() -> Cost:
        workshop.forget("cold")
        return workshop.start(small, cache="cold")

    def modules() -> Cost:
        return measure([sys.executable, "-c", "import kvproto.cli.check"], workshop.folder, workshop.environment())

    workshop.start(small)
    kinds: list[tuple[str, Callable[[], Cost]]] = [
        ("first state, empty caches", cold),
        ("first state, warm caches", lambda: workshop.start(small)),
        ("importing the command alone", modules),
    ]
    return [_start(what, "kvproto", small, run, rounds, tell) for what, run in kinds]


def imported(workshop: Workshop) -> list[str]:
    """Which of the heavy modules `kvproto check` imports."""
    script = (
        "import json, sys; from kvproto.cli.main import main; "
        f"main(['check', '{VULNERABLE}', '--scope', 'S', '--quiet', '--max-states', '1', '--trace-dir', 'traces']); "
        f"print(); print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    cost = measure([sys.executable, "-c", script], workshop.folder, workshop.environment())
    found: list[str] = json.loads(cost.output.strip().splitlines()[-1])
    return found


def measure_counterexamples(
    workshop: Workshop, sizes: Sequence[Size], rounds: int, with_spin: bool, tell: Tell
) -> list[Start]:
    """Whole commands up to a shortest counterexample of the vulnerable variant."""
    found = []
    for size in sizes:
        steps: list[int] = []

        for cache, what in (("cold", "empty caches"), ("warm", "warm caches")):
            run = partial(_counterexample, workshop, size, cache, steps)
            start = _start(f"counterexample, {what}", "kvproto", size, run, rounds, tell)
            found.append(Start(start.what, start.tool, start.size, start.cpu, start.wall, max(steps)))
        if with_spin:
            found += _spin(workshop, size, rounds, tell)
    return found


def _counterexample(workshop: Workshop, size: Size, cache: str, steps: list[int]) -> Cost:
    if cache == "cold":
        workshop.forget(cache)
    cost, result = workshop.check(VULNERABLE, "--scope", size.name, "--property", "no_stray", cache=cache)
    properties = result["properties"]
    assert isinstance(properties, list)
    steps.append(int(properties[0]["length"]))
    return cost


def _spin(workshop: Workshop, size: Size, rounds: int, tell: Tell) -> list[Start]:
    """SPIN: its program alone, and with what makes the program."""
    folder = workshop.folder / f"flawed-{size.name}"
    folder.mkdir(parents=True, exist_ok=True)
    model = str(workshop.model(FLAWED, size, folder))
    make = ["spin", "-o2", *size.defines, "-DVULN", "-DNOHID", "-a", model]
    compile_ = [spin.compiler(), *FLAWED.options, "-o", "pan", "pan.c"]
    run = ["./pan", "-m10000", f"-w{size.table}", "-n"]
    depths: list[int] = []

    def once(commands: Sequence[Sequence[str]]) -> Cost:
        costs = [measure(command, folder, workshop.environment()) for command in commands]
        found = spin.read(costs[-1].output)
        if not found.errors:
            raise Failed(f"SPIN finds no counterexample:\n{costs[-1].output}")
        # The claim is judged in the step that breaks it, which SPIN does not count.
        depths.append(found.depth + 1)
        last = costs[-1]
        return Cost(sum(c.wall for c in costs), sum(c.cpu for c in costs), last.peak, last.code, last.output)

    ways = {"spin and cc included": [make, compile_, run], "its program alone": [run]}
    measured = [
        _start(f"counterexample, {what}", "SPIN", size, partial(once, commands), rounds, tell)
        for what, commands in ways.items()
    ]
    return [Start(s.what, s.tool, s.size, s.cpu, s.wall, max(depths)) for s in measured]


def _start(what: str, tool: str, size: Size, run: Callable[[], Cost], rounds: int, tell: Tell) -> Start:
    costs = []
    for number in range(rounds):
        tell(f"{size.name}: {what}, {tool}, round {number + 1} of {rounds}")
        costs.append(run())
    return Start(what, tool, size.name, median(c.cpu for c in costs), median(c.wall for c in costs))
