"""Running a Promela model through SPIN, as its manual says to, and reading what it prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALL = "apt-get install -y spin gcc"

COUNTING = ("-O2", "-w", "-DSAFETY", "-DNOREDUCE")
"""Every state, no partial-order reduction."""


class SpinFailed(Exception):
    """SPIN or the C compiler did not do what they were asked."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What SPIN says about a model; `complete` is false if its stack was too small for the whole search."""

    states: int
    transitions: int
    depth: int
    errors: int
    complete: bool
    output: str


def missing() -> str:
    """What is needed and not installed, in words; empty if all is there."""
    wanted = [name for name in ("spin", compiler()) if not name or shutil.which(name) is None]
    return f"{' and '.join(w or 'a C compiler' for w in wanted)} not found; {INSTALL}" if wanted else ""


def compiler() -> str:
    """The C compiler for SPIN's programs."""
    return next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), "")


def build(model: Path, folder: Path, flags: Sequence[str] = COUNTING, defines: Sequence[str] = ()) -> Path:
    """SPIN's verifier for a model: a program named `pan` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    _run(["spin", "-o2", *defines, "-a", str(model.resolve())], folder)
    _run([compiler(), *flags, "-o", "pan", "pan.c"], folder)
    return folder / "pan"


def search(pan: Path, *, depth: int = 100_000, table: int = 20) -> Counted:
    """Run a verifier over all states, or up to its first error."""
    while True:
        command = [str(pan), f"-m{depth}", f"-w{table}", "-n"]
        done = subprocess.run(command, cwd=pan.parent, capture_output=True, text=True, check=False)
        found = read(done.stdout + done.stderr)
        if found.complete or depth >= 100_000_000:
            return found
        depth *= 10


def read(output: str) -> Counted:
    """The figures in what a verifier printed."""
    states = re.search(r"^\s*(\d+) states, stored", output, re.MULTILINE)
    transitions = re.search(r"^\s*(\d+) transitions", output, re.MULTILINE)
    depth = re.search(r"depth reached (\d+), errors: (\d+)", output)
    if not (states and transitions and depth):
        raise SpinFailed(output)
    complete = "max search depth too small" not in output and "out of memory" not in output
    return Counted(int(states[1]), int(transitions[1]), int(depth[1]), int(depth[2]), complete, output)


def memory(output: str) -> float:
    """Bytes that a verifier says it took in all."""
    found = re.search(r"([\d.]+)\s+total actual memory usage", output)
    return float(found[1]) * 2**20 if found else 0.0


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    # SPIN reports errors of a model on standard output, and does not always exit with one.
    if done.returncode != 0 or "Error:" in done.stdout:
        raise SpinFailed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
