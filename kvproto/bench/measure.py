"""Runs a command and says what it cost: CPU seconds and peak memory, those of its own children included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = """
import os, sys, time
began = time.monotonic()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
took = time.monotonic() - began
with open(os.environ["KVPROTO_BENCH_COST"], "w") as file:
    print(took, used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status), file=file)
"""
"""Starts the command from a process of a few megabytes: a child never seems smaller than what started it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took.  `cpu` is user and system time, `peak` the largest resident set of one process in bytes."""

    wall: float
    cpu: float
    peak: int
    code: int
    output: str


def measure(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Cost:
    """Run the command in the folder with exactly this environment, and wait for it."""
    with tempfile.TemporaryDirectory() as scratch:
        cost = Path(scratch) / "cost"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *command],
            cwd=folder,
            env={**environment, "KVPROTO_BENCH_COST": str(cost)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if not cost.exists():
            raise RuntimeError(f"{command[0]} could not be run: {done.stdout}")
        wall, cpu, peak, code = cost.read_text().split()
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(float(wall), float(cpu), int(peak) * unit, int(code), done.stdout)
