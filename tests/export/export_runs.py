"""Exported models on the tools that they are made for."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search
from kvproto.export import spin
from kvproto.export.promela.model import export as to_promela
from kvproto.export.tla.module import export as to_tla
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

COUNTING = ("-w", "-DSAFETY", "-DNOREDUCE")
QUICK, OPTIMISED = ("-O0", *COUNTING), ("-O2", *COUNTING)
"""The C compiler takes longer than most searches, so that it mostly does not optimise."""

TLC = "KVPROTO_TLC"
"""Environment variable: how TLC is started, such as `java -cp tla2tools.jar tlc2.TLC`."""


def needs_spin() -> None:
    """Skip the test where SPIN is not installed."""
    if reason := spin.missing():
        pytest.skip(f"SPIN or its C compiler is missing: {reason}")


def needs_tlc() -> list[str]:
    """The command that starts TLC; skip the test where there is none."""
    if not os.environ.get(TLC):
        pytest.skip(f"{TLC} does not say how to start TLC (java -cp tla2tools.jar tlc2.TLC)")
    return shlex.split(os.environ[TLC])


def shipped(target: str, scope: str) -> System:
    """A shipped model."""
    found = find(target)
    return build(found.model, choose(found.model, preset=found.preset, scope=scope))


def without_claims(system: System) -> System:
    """The system, only counted."""
    return replace(system, claims=tuple(c for c in system.claims if c.kind == "assert"))


def every_state(system: System) -> Result:
    """Our own search, nothing left out."""
    return search(system, Options(keep_going=True, symmetry=False, por=False))


@dataclass(frozen=True)
class Spun:
    """What SPIN found, in our numbers."""

    states: int
    transitions: int
    errors: int
    output: str


def spun(
    system: System, folder: Path, *, properties: bool = False, compiling: tuple[str, ...] = QUICK
) -> Spun:
    """The exported system in SPIN; without properties every state is visited."""
    exported = to_promela(system, properties=properties)
    model = folder / "model.pml"
    model.write_text(exported.text, encoding="utf-8")
    pan = spin.build(model, folder / "pan", (*compiling, *exported.flags))
    found = spin.search(pan)
    steps = found.transitions - 1 - exported.extra  # the step from all zeros to the initial state, where there is one
    return Spun(found.states - exported.extra, steps, found.errors, found.output)


@dataclass(frozen=True)
class Checked:
    """What TLC found."""

    states: int | None
    depth: int | None
    problems: tuple[str, ...]
    output: str


def tlc(command: list[str], system: System, folder: Path, *, properties: bool = False) -> Checked:
    """The exported system in TLC."""
    module = to_tla(system, name="model", properties=properties)
    (folder / "model.tla").write_text(module.text, encoding="utf-8")
    (folder / "model.cfg").write_text(module.config, encoding="utf-8")
    options = ["-workers", "1", "-noGenerateSpecTE", "-metadir", str(folder / "states"), "-config", "model.cfg"]
    done = subprocess.run([*command, *options, "model.tla"], cwd=folder, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    states = re.findall(r"(\d+) distinct states found", output)
    depth = re.search(r"depth of the complete state graph search is (\d+)", output)
    problems = re.findall(r"Invariant \S+ is violated|Temporal properties|Deadlock reached|Error: .*", output)
    return Checked(int(states[-1]) if states else None, int(depth[1]) if depth else None, tuple(problems), output)


def model_in(text: str, folder: Path) -> System:
    """The system of a model text."""
    number = sum(name.startswith("exported_model_") for name in sys.modules)
    path = folder / f"exported_model_{number}.py"
    path.write_text(text, encoding="utf-8")
    model = find(str(path)).model
    return build(model, choose(model))
