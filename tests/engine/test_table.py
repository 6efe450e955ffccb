"""The hash table of the C engine: pairs of words of every width, growth, parts for several threads, odd counters."""

from __future__ import annotations

import pytest
from test_explorers import adder, explored, needs_c

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.program import Ins, Leaf, Op, Program

pytestmark = needs_c

SIDE = 48
STATES = SIDE**3

LAYOUTS = {
    # Bits of the second word that are in use, and so what a slot keeps of it beside its place: 1, 2, 4 or 8 bytes.
    5: (Leaf(0, 0, 7), Leaf(0, 57, 7), Leaf(1, 0, 5), Leaf(1, 0, 3)),
    18: (Leaf(0, 0, 7), Leaf(0, 57, 7), Leaf(1, 11, 7), Leaf(1, 0, 3)),
    19: (Leaf(0, 0, 7), Leaf(1, 0, 7), Leaf(1, 12, 7), Leaf(0, 30, 3)),
    26: (Leaf(0, 57, 7), Leaf(1, 0, 7), Leaf(1, 19, 7), Leaf(1, 8, 3)),
    27: (Leaf(0, 20, 7), Leaf(1, 6, 7), Leaf(1, 20, 7), Leaf(1, 0, 3)),
    42: (Leaf(0, 20, 7), Leaf(1, 6, 7), Leaf(1, 35, 7), Leaf(1, 0, 3)),
    43: (Leaf(1, 0, 7), Leaf(1, 7, 7), Leaf(1, 36, 7), Leaf(0, 63, 1)),
    64: (Leaf(1, 0, 7), Leaf(1, 30, 7), Leaf(1, 57, 7), Leaf(0, 63, 1)),
}


def cube(bits: int) -> Program:
    """Three counters; where the third one has only 5 bits it counts less far."""
    leaves = LAYOUTS[bits]
    sides = [min(SIDE, 1 << leaf.bits) for leaf in leaves[:3]]
    return Program(2, leaves, tuple(adder(leaf, side) for leaf, side in enumerate(sides)), (), None, 0)


def level_sizes(sides: list[int]) -> list[int]:
    """How many points of a box have each sum of coordinates."""
    sizes = [1]
    for side in sides:
        longer = [0] * (len(sizes) + side - 1)
        for at, size in enumerate(sizes):
            for step in range(side):
                longer[at + step] += size
        sizes = longer
    return sizes


def levels(explorer: CExplorer) -> list[int]:
    """How many states each level has, found by searching."""
    begins = []
    explorer.start([0])
    while explorer.frontier():
        if explorer.at_level_start():
            begins.append(explorer.expanded())
        assert explorer.advance(5000)
    return [after - before for before, after in zip(begins, [*begins[1:], explorer.states()], strict=True)]


@pytest.mark.parametrize("bits", LAYOUTS)
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_pairs_of_every_width(bits: int, workers: int) -> None:
    """None is lost or met twice while the table grows, and numbers are those of a numbered store."""
    program = cube(bits)
    explorer = CExplorer(program, workers=workers, share_from=1, seed=bits)
    kept = explored(CExplorer(program, numbered=True), [0], 10**9, 10**9)
    sides = [min(SIDE, 1 << leaf.bits) for leaf in program.leaves[:3]]

    assert level_sizes(sides) == levels(explorer)
    assert kept.states() == explorer.states()
    for number in range(0, kept.states(), 997):
        assert (kept.packed(number), kept.path(number)) == (explorer.packed(number), explorer.path(number))


@pytest.mark.parametrize("workers", [1, 3])
def test_states_that_differ_in_the_quotient_alone(workers: int) -> None:
    """They have one hash; only the place tells them apart, and it has to, after growth as well."""
    leaves = tuple(Leaf(1, shift, 6) for shift in (0, 6, 12))
    program = Program(2, leaves, tuple(adder(leaf, 40) for leaf in range(3)), (), None, 0)
    explorer = CExplorer(program, workers=workers, share_from=1)

    assert level_sizes([40] * 3) == levels(explorer)
    assert 0 == explorer.packed(0) & (1 << 64) - 1


def test_small_tables_take_little_memory() -> None:
    """Bytes of a state of 82 bits: 9 in the table, which is four fifths full at most, and 6 for its link."""
    explorer = explored(CExplorer(cube(18)), [0], 10**9, 10**9)

    assert explorer.memory() / STATES < 40


@pytest.mark.parametrize(("place", "number"), [(0, 1), (0, 10**9), (1, 3), (1, 1 << 40)])
def test_a_fault_that_is_not_there(place: int, number: int) -> None:
    """Saved counters name the state and the action of a fault; both have to exist."""
    faulty = (Ins(Op.TEST, a=0, imm=0), Ins(Op.FAULT, imm=0))
    program = Program(1, (Leaf(0, 0, 4),), (faulty,), (), None, 1)
    explorer = explored(CExplorer(program), [0], 1)
    numbers = explorer.save_meta()
    explorer.load_meta(numbers)
    numbers[len(numbers) - 2 + place] = number

    with pytest.raises(ValueError, match="the counters do not fit the states"):
        explorer.load_meta(numbers)
