"""Partial-order reduction on programs: nothing is missed, all tiers do the same, and states are saved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_programs import random_program
from por_cases import CASES, explore, has_engine, history, in_full, independent, queue, reduced, verdicts
from por_programs import concurrent_program

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.por.cells import CELL_BITS
from kvproto.engine.por.relations import relate
from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program

LIMIT = 2000
"""Programs with more states are left alone."""


def same_verdicts(program: Program, initial: list[int]) -> tuple[int, int]:
    """Assert that the reduction changes no verdict; states without and with it, 0 and 0 if there are many."""
    full = in_full(program, initial, LIMIT)
    if full is None:
        return 0, 0
    some = reduced(program, initial)
    assert verdicts(full, program) == verdicts(some, program)
    assert {some.packed(at) for at in range(some.states())} <= {full.packed(at) for at in range(full.states())}
    return full.states(), some.states()


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    """Hand-made programs."""
    assert same_verdicts(CASES[name], [0]) != (0, 0)


@pytest.mark.parametrize("first", range(0, 1200, 100))
def test_random_processes(first: int) -> None:
    """Random processes that share a little."""
    for seed in range(first, first + 100):
        same_verdicts(*concurrent_program(seed))


def test_random_processes_are_reduced() -> None:
    """Otherwise they would not test much."""
    sizes = [same_verdicts(*concurrent_program(seed)) for seed in range(2000, 2100)]

    assert sum(some < full for full, some in sizes) > 30


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_random_code(first: int) -> None:
    """Random code of every kind, wide leaves and computed indices among it."""
    for seed in range(first, first + 30):
        same_verdicts(*random_program(seed))


@pytest.mark.skipif(not has_engine(), reason="the C engine does not work here")
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_tiers_agree(first: int) -> None:
    """C and Python find the same states in the same order, along the same paths."""
    for seed in range(first, first + 100):
        program, initial = concurrent_program(seed) if seed % 4 else random_program(seed)
        if in_full(program, initial, LIMIT) is None:
            continue
        tables = relate(program)
        some = CExplorer(program, por=tables, seed=seed)
        explore(some, initial)
        assert history(reduced(program, initial, tables)) == history(some)


# --- how much is saved -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("processes", "steps"), [(2, 3), (3, 3), (4, 7)])
def test_one_order_of_independent_steps(processes: int, steps: int) -> None:
    """N processes of k steps have (k + 1)^N states, of which one order visits N * k + 1."""
    program = independent(processes, steps)
    full = in_full(program)
    assert full is not None

    assert ((steps + 1) ** processes, processes * steps + 1) == (full.states(), reduced(program).states())


def test_a_queue_is_one_order_unless_it_is_full() -> None:
    """Both ends may be used in any order: what is put in can all be put in before anything is taken out."""
    roomy, tight = queue(3, 3), queue(2, 4)

    assert 7 == reduced(roomy).states()
    assert not reduced(roomy).faults()
    assert [0] == [hit.fault for hit in reduced(tight).faults()]


def test_flags_that_are_only_set_do_not_hinder() -> None:
    """A claim about them sees every order alike."""
    program = independent(3, 1)
    claim = (*(Ins(Op.LOAD, d=at, imm=at) for at in range(3)), Ins(Op.BAND, d=3, a=1, b=0), Ins(Op.BAND, d=4, a=2, b=3))
    program = replace(program, claims=((*claim, Ins(Op.NOT, d=5, a=4), Ins(Op.RET, a=5)),))

    assert [True] == verdicts(reduced(program), program)["violated"]
    assert 4 == reduced(program).states()


def test_members_of_a_wide_set_are_apart() -> None:
    """Actions that put different members into one leaf are independent, as long as nobody asks for its size."""
    width = 3 * CELL_BITS

    def put(member: int) -> Block:
        return (
            Ins(Op.LOAD, d=0, imm=0),
            Ins(Op.CONST, d=1, imm=member),
            Ins(Op.HAS, d=2, a=0, b=1),
            Ins(Op.NOT, d=3, a=2),
            Ins(Op.REQUIRE, a=3),
            Ins(Op.CONST, d=4, imm=1 << member),
            Ins(Op.BOR, d=5, a=0, b=4),
            Ins(Op.STORE, a=5, imm=0),
        )

    program = Program(1, (Leaf(0, 0, width),), tuple(put(member) for member in range(5)), (), None, 0)
    assert 6 == reduced(program).states()

    size = (Ins(Op.LOAD, d=0, imm=0), Ins(Op.POPCOUNT, d=1, a=0), Ins(Op.EQI, d=2, a=1, imm=3))
    counted = replace(program, probes=((*size, Ins(Op.RET, a=2)),))
    same_verdicts(counted, [0])


# --- what could be too much for it ------------------------------------------------------------------------


def test_deep_branches() -> None:
    """Code that nests too deep to be looked at counts as reading and writing all that it mentions."""
    nested: Block = (Ins(Op.SETC, a=1, imm=1),)
    for _ in range(200):
        nested = (Branch(0, nested, ()),)
    deep: Block = (Ins(Op.TEST, a=1, imm=0), Ins(Op.LOAD, d=0, imm=0), *nested)
    other: Block = (Ins(Op.TEST, a=0, imm=0), Ins(Op.SETC, a=0, imm=1))
    program = Program(1, (Leaf(0, 0, 1), Leaf(0, 1, 1)), (deep, other), (), None, 0)

    assert (3, 3) == same_verdicts(program, [0])
