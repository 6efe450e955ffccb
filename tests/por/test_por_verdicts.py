"""Partial-order reduction on random programs: the reduced search finds what the full one finds, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from engine_programs import random_program
from por_programs import concurrent_program

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.explorer import Explorer
from kvproto.engine.native import Unavailable, load_engine
from kvproto.engine.outcome import Options
from kvproto.engine.por import Chooser
from kvproto.engine.por.relations import Relations, relations
from kvproto.engine.program import Ins, Leaf, Op, Program
from kvproto.engine.search import search
from kvproto.engine.tier0 import PythonExplorer
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

MOST = 3000
"""Programs with more states are left out: here the answer counts and not the size."""

needs_c = pytest.mark.skipif(isinstance(load_engine(), Unavailable), reason="no C engine")

Generator = Callable[[int], tuple[Program, list[int]]]


def explored(explorer: Explorer, initial: list[int]) -> Explorer | None:
    """The explorer after a complete search, None if that is too long."""
    explorer.start(initial)
    while explorer.frontier():
        if explorer.states() > MOST:
            return None
        explorer.advance(1000)
    return explorer


def answers(explorer: Explorer, program: Program) -> dict[str, object]:
    """What a search is asked: yes or no, without lengths and numbers."""
    return {
        "violated": [explorer.violation(claim) is not None for claim in range(len(program.claims))],
        "witnessed": [explorer.witness(probe) is not None for probe in range(len(program.probes))],
        "deadlock": explorer.deadlock() is not None,
        "faults": [hit.fault for hit in explorer.faults()],
        "fired": [count > 0 for count in explorer.fired()],
    }


def python(program: Program, por: Relations) -> Explorer:
    """The Python tier with the reduction."""
    return PythonExplorer(program, chooser=Chooser(por))


def compiled(program: Program, por: Relations) -> Explorer:
    """The C tier with the reduction."""
    return CExplorer(program, por=por)


@pytest.mark.slow
@pytest.mark.parametrize("make", [pytest.param(compiled, marks=needs_c), python])
@pytest.mark.parametrize("generator", [random_program, concurrent_program])
def test_reduced_and_full_search_give_the_same_answers(
    make: Callable[[Program, Relations], Explorer], generator: Generator
) -> None:
    """Violations, witnesses, deadlocks, faults, and what ever happens."""
    compared = smaller = 0
    for seed in range(250):
        program, initial = generator(seed)
        full = explored(PythonExplorer(program), initial)
        if full is None:
            continue
        reduced = explored(make(program, relations(program)), initial)
        assert reduced is not None, seed

        assert answers(full, program) == answers(reduced, program), seed

        compared += 1
        smaller += reduced.states() < full.states()
    assert compared > 100
    assert smaller > 3, "nothing was reduced, so nothing was tested"


@needs_c
def test_independent_processes_cost_their_sum() -> None:
    """Four counters to 9: 10,000 states in full."""
    leaves = tuple(Leaf(0, 4 * number, 4) for number in range(4))
    steps = tuple(
        (
            Ins(Op.LOAD, d=0, imm=number),
            Ins(Op.LTI, d=1, a=0, imm=9),
            Ins(Op.REQUIRE, a=1),
            Ins(Op.ADDI, d=2, a=0, imm=1),
            Ins(Op.STORE, a=2, imm=number),
        )
        for number in range(4)
    )
    program = Program(1, leaves, steps, (), None, 0)
    reduced = explored(CExplorer(program, por=relations(program)), [0])
    assert reduced is not None

    assert reduced.states() < 100


@pytest.mark.parametrize("preset", ["safe", "vulnerable"])
def test_the_benchmark_protocol(preset: str) -> None:
    """Fewer states, the same verdicts, alone and with symmetry."""
    model = find("kv_transfer").model
    system = build(model, choose(model, preset=preset, scope="S"))
    full = search(system, Options(symmetry=False))
    for symmetry in (False, True):
        reduced = search(system, Options(por=True, symmetry=symmetry))
        assert {f.claim.name: f.verdict for f in full.findings} == {f.claim.name: f.verdict for f in reduced.findings}
        if preset == "safe":
            assert reduced.states < full.states
