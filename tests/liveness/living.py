"""Runs claims about runs through every tier and both sets of loops."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kvproto.engine import compile_c
from kvproto.engine.c_explorer import CExplorer, EngineUnavailable
from kvproto.engine.evaluate import Machine
from kvproto.engine.explorer import Explorer
from kvproto.engine.liveness import Budget, LivenessFinding, check, predicates
from kvproto.engine.liveness.kernels import Kernels, PythonKernels
from kvproto.engine.liveness.kernels_c import CKernels
from kvproto.engine.lower import Lowered, lower
from kvproto.engine.reference_explorer import ReferenceExplorer
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import System
from kvproto.passes import run as run_passes

GRAPH = Path(compile_c.__file__).with_name("c") / "graph.h"
TIERS = ("Python", "C", "reference")


@cache
def c_kernels() -> CKernels | None:
    """The loops in C, compiled by themselves; None without a compiler."""
    folder = Path(tempfile.mkdtemp(prefix="kvproto-graph-"))
    source = folder / "graph.c"
    source.write_text(f'#include "{GRAPH}"\n', encoding="utf-8")
    target = folder / f"graph{compile_c.library_suffix()}"
    for compiler in compile_c.compilers():
        command = [*compiler.command, *compiler.flags, "-o", str(target), str(source)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return CKernels(ctypes.CDLL(str(target)))
    return None


def all_kernels() -> Iterator[Kernels]:
    """The sets of loops that work here."""
    yield PythonKernels()
    compiled = c_kernels()
    if compiled is not None:
        yield compiled


def lowered(system: System) -> Lowered:
    """The system as a search for its claims wants it."""
    folded = run_passes(system)
    return lower(folded, folded.claims, (), predicates(system, system.claims))


def explorer_of(system: System, program: Lowered, tier: str) -> Explorer | None:
    """A tier about to begin; None where it does not work."""
    if tier == "reference":
        return ReferenceExplorer(system, program)
    try:
        return PythonExplorer(program.program) if tier == "Python" else CExplorer(program.program, numbered=True)
    except EngineUnavailable:
        return None


def explored(system: System, program: Lowered, tier: str = "Python", most: int | None = None) -> Explorer | None:
    """A search that is finished, or stopped once that many states are expanded."""
    explorer = explorer_of(system, program, tier)
    if explorer is None:
        return None
    explorer.start([program.layout.pack(state) for state in Machine(system).initial()])
    while explorer.frontier() and (most is None or explorer.expanded() < most):
        explorer.advance(1000 if most is None else 1)
    return explorer


def judged(
    system: System, tier: str = "Python", kernels: Kernels | None = None, budget: Budget | None = None
) -> list[LivenessFinding]:
    """The findings on all claims about runs."""
    program = lowered(system)
    explorer = explored(system, program, tier)
    assert explorer is not None
    try:
        return check(system, program, explorer, system.claims, budget=budget, kernels=kernels)
    finally:
        explorer.close()


def everywhere(system: System) -> list[LivenessFinding]:
    """The findings, which all tiers and both sets of loops agree on."""
    program = lowered(system)
    found: list[LivenessFinding] | None = None
    for tier in TIERS:
        explorer = explored(system, program, tier)
        if explorer is None:
            continue
        for kernels in all_kernels():
            again = check(system, program, explorer, system.claims, kernels=kernels)
            assert found is None or again == found, tier
            found = again
        explorer.close()
    assert found is not None
    return found
