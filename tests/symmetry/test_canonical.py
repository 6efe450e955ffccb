"""Representatives: the same for all renamed states and one of them, and the same in Python and in C."""

from __future__ import annotations

import ctypes
from random import Random

import pytest
from canonical_cases import apply_in_c, case, compiled, orbit, random_state, shapes, sorts

from kvproto.engine.compile_c import CompileError
from kvproto.engine.layout import plan as lay_out
from kvproto.engine.symmetry import Canonical, plan
from kvproto.engine.symmetry.canonical import mix
from kvproto.engine.symmetry.renaming import Renaming
from kvproto.engine.symmetry.starts import Exchange
from kvproto.ir.types import ArrayT, BoolT, OptT, RecordT, SortT

SHAPES = list(shapes(*sorts(2, 2, 2)))
SIZES = [(3,), (4,), (2, 2), (3, 2), (2, 2, 2), (3, 3, 2)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """canon.h, compiled."""
    try:
        return compiled(tmp_path_factory.mktemp("canon"))
    except CompileError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_orbits(name: str, sizes: tuple[int, ...]) -> None:
    """Against all permutations, one after the other."""
    kind, layout, given, canonical = case(name, *sizes)
    draw = Random(f"{name}{sizes}")

    for _ in range(25):
        states = orbit(kind, layout, given, random_state(kind, draw))
        found = {canonical.of(state) for state in states}

        assert len(found) == 1
        assert found <= states


@pytest.mark.parametrize("name", ["columns", "mentions", "long keys"])
def test_keys_that_are_too_long(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Sorts that keys would put in order, put in order by hashes."""
    monkeypatch.setattr("kvproto.engine.symmetry.tables.KEY_BITS", 0)
    kind, layout, given, canonical = case(name, 3, 3)
    draw = Random(f"hashed{name}")

    assert not any(group.keyed for group in canonical.plan.groups)
    for _ in range(25):
        states = sorted(orbit(kind, layout, given, random_state(kind, draw)))
        found = {canonical.of(state) for state in states}
        assert len(found) == 1 and found <= set(states)
        assert set(apply_in_c(library, canonical, states, in_place=True)) == found


@pytest.mark.parametrize("name", SHAPES)
def test_exchange(name: str) -> None:
    """Exchanging two elements in a packed state."""
    kind, layout, _, canonical = case(name, 3, 3)
    draw = Random(f"exchange{name}")

    for group in canonical.plan.groups:
        for one, other in ((0, 1), (2, 0)):
            order = [0, 1, 2]
            order[one], order[other] = other, one
            renaming, exchange = Renaming(kind, {group.sort.name: order}), Exchange(canonical.plan, group, one, other)
            for _ in range(20):
                state = random_state(kind, draw)
                assert exchange.of(layout.pack(state)) == layout.pack(renaming.of(state))


@pytest.mark.parametrize("sizes", [*SIZES, (5, 4, 3), (8,)], ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_c_agrees(library: ctypes.CDLL, name: str, sizes: tuple[int, ...]) -> None:
    """C does what Python does, number for number, whatever its scratch held before."""
    kind, layout, _, canonical = case(name, *sizes)
    draw = Random(f"c{name}{sizes}")
    states = [layout.pack(random_state(kind, draw)) for _ in range(60)]

    expected = [canonical.of(state) for state in states]
    assert expected == apply_in_c(library, canonical, states, in_place=False)
    assert expected == apply_in_c(library, canonical, states, in_place=True)


def test_c_refuses_other_tables(library: ctypes.CDLL) -> None:
    """Tables of another version are not read."""
    spec = case("columns", 3)[3].plan.packed()
    spec[0] += 1

    assert not library.kv_canon_new(spec.buffer_info()[0])


def graphs(size: int, draw: Random) -> list[set[tuple[int, int]]]:
    """Graphs in which many nodes look alike: a ring, rings of two and three, a random one."""
    ring = {(a, (a + b) % size) for a in range(size) for b in (1, size - 1)}
    pairs = {(a, a ^ 1) for a in range(size - size % 2)}
    triples = {(a, a - a % 3 + (a + 1) % 3) for a in range(size - size % 3)}
    return [ring, pairs, triples, {(a, b) for a in range(size) for b in range(size) if draw.random() < 0.4}]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_graphs(library: ctypes.CDLL, size: int) -> None:
    """States with many symmetries of their own."""
    node, page = SortT("Node", size), SortT("Page", 3)
    arrows, owners = ArrayT(node, ArrayT(node, BoolT())), ArrayT(page, OptT(node))
    kind = RecordT("State", (("arrows", arrows), ("owner", owners)))
    layout = lay_out(kind)
    canonical = Canonical(plan(kind, layout, (node, page)))
    draw = Random(size)

    for graph in graphs(size, draw) * 3:
        owned = [draw.choice([None, None, 0, 1]) for _ in range(3)]
        state = (*((a, b) in graph for a in range(size) for b in range(size)), *owned)
        states = []
        for _ in range(8):
            order = {"Node": draw.sample(range(size), size), "Page": draw.sample(range(3), 3)}
            states.append(layout.pack(Renaming(kind, order).of(state)))
        found = [canonical.of(state) for state in states]
        assert len(set(found)) == 1
        assert apply_in_c(library, canonical, states, in_place=True) == found


def matching(size: int) -> tuple[RecordT, tuple[SortT, SortT]]:
    """Requests and pages that point at each other."""
    req, page = SortT("Req", size), SortT("Page", size)
    return RecordT("State", (("page", ArrayT(req, OptT(page))), ("busy", ArrayT(page, BoolT())))), (req, page)


def test_many_equal_pairs(library: ctypes.CDLL) -> None:
    """Eight pairs that cannot be told apart: 8! ways to choose, of which few are tried."""
    kind, given = matching(8)
    layout = lay_out(kind)
    canonical = Canonical(plan(kind, layout, given))
    draw = Random(8)
    states = []
    for _ in range(20):
        pages = draw.sample(range(8), 8)
        states.append(layout.pack((*pages, *(False,) * 8)))

    found = {canonical.of(state) for state in states}
    assert len(found) == 1
    assert apply_in_c(library, canonical, states, in_place=False) == [*found] * 20


def test_trials_are_bounded(library: ctypes.CDLL) -> None:
    """Where trying everything would take too long the answer is still one of the renamed states."""
    node = SortT("Node", 16)
    kind = RecordT("State", (("next", ArrayT(node, ArrayT(node, BoolT()))),))
    layout = lay_out(kind)
    canonical = Canonical(plan(kind, layout, (node,)))
    # The rook's graph and Shrikhande's graph look alike to refinement and have few symmetries left after one choice.
    steps = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)]
    edges = {(4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4) for a in range(4) for b in range(4) for x, y in steps}
    state = layout.pack(tuple((a, b) in edges for a in range(16) for b in range(16)))

    found = canonical.of(state)
    assert apply_in_c(library, canonical, [state], in_place=False) == [found]
    assert found.bit_count() == state.bit_count()
    assert canonical.of(found) == found


def test_sorts_of_keys() -> None:
    """Which sorts are put in order by keys alone."""
    keyed = {
        name: [group.keyed for group in plan(kind, lay_out(kind), sorts(3, 3, 3)).groups]
        for name, kind in shapes(*sorts(3, 3, 3)).items()
    }

    assert keyed["columns"] == [True]
    assert keyed["mentions"] == [True]
    assert keyed["long keys"] == [True]
    assert keyed["fields"] == [True]
    assert keyed["two sorts"] == [False, False]
    assert keyed["fixed"] == []


def test_mixing_is_fixed() -> None:
    """Representatives, and so the order of a search, do not depend on the machine or the version of Python."""
    assert [mix(0), mix(1), mix((1 << 64) - 1)] == [0, 0x5692161D100B05E5, 0xB4D055FCF2CBBD7B]
