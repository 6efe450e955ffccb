"""The C and the Python tier against a toy explorer, and against each other where the toy is too slow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from engine_programs import random_program
from engine_toy import OutOfRange, ToyExplorer
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kvproto.engine import c_explorer, native
from kvproto.engine.c_explorer import CExplorer, EngineFailure
from kvproto.engine.compile_c import (
    Compiler,
    build,
    compilers,
    library_suffix,
    source_hash,
)
from kvproto.engine.explorer import Explorer, FaultHit
from kvproto.engine.native import Engine
from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program
from kvproto.engine.tier0 import PythonExplorer

ENGINE_FOLDER = Path(native.__file__).parent
HAVE_COMPILER = bool(compilers())
needs_c = pytest.mark.skipif(
    not HAVE_COMPILER, reason="no C compiler: set CC or install gcc, clang or ziglang"
)
TIERS = [
    pytest.param(CExplorer, marks=needs_c, id="C"),
    pytest.param(partial(CExplorer, numbered=True), marks=needs_c, id="numbered"),
    pytest.param(partial(CExplorer, workers=2, share_from=1), marks=needs_c, id="two threads"),
    pytest.param(
        partial(CExplorer, workers=3, share_from=1, numbered=True), marks=needs_c, id="numbered, three threads"
    ),
    pytest.param(PythonExplorer, id="Python"),
]
MOST = 250
"""The toy is compared over so many expansions; random programs may have endless state spaces."""

Maker = Callable[..., Explorer]


def explored(explorer: Explorer, initial: list[int], piece: int, most: int = MOST) -> Explorer:
    """The explorer after up to `most` expansions, done in pieces."""
    explorer.start(initial)
    while explorer.frontier() and explorer.expanded() < most:
        assert explorer.advance(min(piece, most - explorer.expanded()))
    return explorer


def seen(explorer: Explorer, claims: int) -> dict[str, object]:
    """Everything an explorer can tell, memory apart."""
    numbers = range(explorer.states())
    return {
        "states": [explorer.packed(number) for number in numbers],
        "paths": [explorer.path(number) for number in numbers],
        "expanded": explorer.expanded(),
        "transitions": explorer.transitions(),
        "level": explorer.level(),
        "frontier": explorer.frontier(),
        "at_level_start": explorer.at_level_start(),
        "violations": [explorer.violation(claim) for claim in range(claims)],
        "violating": explorer.violating_states(),
        "deadlock": explorer.deadlock(),
        "faults": explorer.faults(),
        "fired": explorer.fired(),
        "outside": explorer.outside(),
        "depth": explorer.depth(),
    }


def asked(explorer: Explorer, program: Program, whole: bool) -> dict[str, object]:
    """Probes; and predicates and transitions, for which all states have to be there."""
    count = explorer.states()
    witnesses = {"witnesses": [explorer.witness(probe) for probe in range(len(program.probes))]}
    if not whole:
        return witnesses
    if isinstance(explorer, ToyExplorer):
        steps = [explorer.steps(number) for number in range(count)]
    else:
        edges = explorer.edges(0, count)
        rows = [range(edges.offsets[n], edges.offsets[n + 1]) for n in range(count)]
        steps = [[(edges.actions[k], edges.targets[k]) for k in row] for row in rows]
    return witnesses | {
        "tests": [explorer.test(predicate, 0, count) for predicate in range(len(program.predicates))],
        "steps": steps,
    }


def agree(make: Maker, program: Program, initial: list[int], piece: int = 10**9, seed: int = 0) -> None:
    """Fail unless the tier sees what the toy sees."""
    try:
        toy = explored(ToyExplorer(program), initial, 10**9)
    except OutOfRange:
        assume(False)
    explorer = explored(make(program, seed=seed), initial, piece)
    whole = getattr(explorer, "numbered", True)
    expected = seen(toy, len(program.claims)) | asked(toy, program, whole)

    assert expected == seen(explorer, len(program.claims)) | asked(explorer, program, whole)

    explorer.close()


def one_word(*bits: int) -> tuple[Leaf, ...]:
    """Leaves side by side in word 0."""
    return tuple(Leaf(0, sum(bits[:number]), width) for number, width in enumerate(bits))


def adder(leaf: int, modulus: int) -> Block:
    """An action that counts a leaf up, round a circle."""
    return (
        Ins(Op.LOAD, d=0, imm=leaf),
        Ins(Op.ADDI, d=1, a=0, imm=1),
        Ins(Op.CONST, d=2, imm=modulus),
        Ins(Op.MOD, d=3, a=1, b=2),
        Ins(Op.STORE, a=3, imm=leaf),
    )


def jump(leaf: int, factor: int, modulus: int) -> Block:
    """An action that takes a leaf far away."""
    return (
        Ins(Op.LOAD, d=0, imm=leaf),
        Ins(Op.MULI, d=1, a=0, imm=factor),
        Ins(Op.CONST, d=2, imm=modulus),
        Ins(Op.MOD, d=3, a=1, b=2),
        Ins(Op.STORE, a=3, imm=leaf),
    )


# ------------------------------------------------------------------------------------------ random programs


@pytest.mark.parametrize("make", TIERS)
@given(program=st.integers(0, 10**9), piece=st.sampled_from([1, 2, 7, 64, 10**9]), seed=st.integers(0, 2**64))
@settings(max_examples=300, deadline=None, database=None)
def test_random_programs_agree_with_the_toy(make: Maker, program: int, piece: int, seed: int) -> None:
    """States, order, levels, violations, faults, deadlocks, counts and paths, whatever the piece and seed."""
    built, initial = random_program(program)

    agree(make, built, initial, piece, seed)


def test_random_programs_are_worth_exploring() -> None:
    """The generator meets what it is there for; otherwise the test above proves little."""
    met = dict.fromkeys(("many states", "violation", "fault", "claim fault", "deadlock", "wide", "branch"), 0)
    for number in range(400):
        program, initial = random_program(number)
        try:
            toy = explored(ToyExplorer(program), initial, 10**9, 60)
        except OutOfRange:
            continue
        met["many states"] += toy.states() > 50
        met["violation"] += toy.violating_states() > 0
        met["fault"] += any(hit.action >= 0 for hit in toy.faults())
        met["claim fault"] += any(hit.action < 0 for hit in toy.faults())
        met["deadlock"] += toy.deadlock() is not None
        met["wide"] += program.words > 4
        met["branch"] += any(isinstance(item, Branch) for block in program.actions for item in block)

    assert min(met.values()) >= 5, met


@needs_c
def test_the_switch_interpreter_agrees_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers without computed goto get a `switch`; it is the same interpreter."""
    target = tmp_path / f"switch{library_suffix()}"
    switched = [Compiler(x.command, (*x.flags, "-DKV_SWITCH")) for x in compilers()]
    build(ENGINE_FOLDER / "engine.c", target, switched)
    library = native._load(target, source_hash(ENGINE_FOLDER / "engine.c"))
    assert not isinstance(library, str), library
    monkeypatch.setattr(c_explorer, "load_engine", lambda: Engine(library, target, "test"))
    for number in range(60):
        program, initial = random_program(number)
        try:
            expected = seen(explored(ToyExplorer(program), initial, 10**9), len(program.claims))
        except OutOfRange:
            continue

        assert expected == seen(explored(CExplorer(program), initial, 10**9), len(program.claims))


@needs_c
def test_printed_c_agrees_with_the_toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tier 2 on random programs, on one thread and on three."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled = 0
    for number in range(40):
        program, initial = random_program(number)
        try:
            toy = explored(ToyExplorer(program), initial, 10**9)
        except OutOfRange:
            continue
        expected = seen(toy, len(program.claims)) | asked(toy, program, whole=True)
        for workers in (1, 3):
            explorer = CExplorer(program, compiling="now", workers=workers, share_from=1, numbered=True)
            assert explorer.compiled
            explored(explorer, initial, 7)

            assert expected == seen(explorer, len(program.claims)) | asked(explorer, program, whole=True)

            explorer.close()
            compiled += 1

    assert compiled > 40
    assert not list(tmp_path.rglob("*.c")), "sources are removed"


@needs_c
@given(program=st.integers(0, 10**9))
@settings(max_examples=100, deadline=None, database=None)
def test_fingerprints_find_the_same(program: int) -> None:
    """128 bits in place of a state: the same numbers, paths and states (which are made again from their paths)."""
    built, initial = random_program(program)
    try:
        expected = seen(explored(ToyExplorer(built), initial, 10**9), len(built.claims))
    except OutOfRange:
        assume(False)
    for workers in (1, 2):
        explorer = CExplorer(built, fingerprints=True, workers=workers, share_from=1)
        assert explorer.lossy == (built.words > 2)

        assert expected == seen(explored(explorer, initial, 11), len(built.claims))

        explorer.close()


# ------------------------------------------------------------------------------------ hand-written programs


@pytest.mark.parametrize("make", TIERS)
def test_no_initial_state(make: Maker) -> None:
    """Nothing to explore is a complete search."""
    explorer = make(Program(1, one_word(2), (adder(0, 3),), (), None, 0))
    explorer.start([])

    assert explorer.advance(5)
    assert (0, 0, 1, True) == (
        explorer.states(),
        explorer.frontier(),
        explorer.level(),
        explorer.at_level_start(),
    )


@pytest.mark.parametrize("make", TIERS)
def test_no_actions_and_no_claims(make: Maker) -> None:
    """An empty program has its initial states, and all of them deadlock."""
    never = (Ins(Op.CONST, d=0), Ins(Op.RET, a=0))

    agree(make, Program(1, one_word(2), (), (), never, 0), [1, 0, 1])


@pytest.mark.parametrize("make", TIERS)
def test_an_action_that_changes_nothing_is_a_transition(make: Maker) -> None:
    """A self-loop counts, and its state is no deadlock."""
    never = (Ins(Op.CONST, d=0), Ins(Op.RET, a=0))
    explorer = explored(make(Program(2, (Leaf(1, 0, 2),), ((),), (), never, 0)), [0], 1)

    assert (1, 1, [1], None) == (
        explorer.states(),
        explorer.transitions(),
        explorer.fired(),
        explorer.deadlock(),
    )


@pytest.mark.parametrize("make", TIERS)
def test_first_fault_in_order_of_discovery(make: Maker) -> None:
    """A claim faults on a new state before the next action of its parent does."""
    leaves = one_word(4)
    up = (Ins(Op.SETC, a=0, imm=1),)
    faulty = (Ins(Op.TEST, a=0, imm=0), Ins(Op.FAULT, imm=0))
    claim = (Ins(Op.LOAD, d=0, imm=0), Ins(Op.NOT, d=1, a=0), Ins(Op.CHECK, a=1, imm=0), Ins(Op.RET, a=1))
    claim_first = explored(make(Program(1, leaves, (up, faulty), (claim,), None, 2)), [0], 1)
    action_first = explored(make(Program(1, leaves, (faulty, up), (claim,), None, 2)), [0], 1)

    assert [FaultHit(0, 1, -1)] == claim_first.faults()
    assert [FaultHit(0, 0, 0)] == action_first.faults()
    assert 0 == claim_first.violating_states()


@pytest.mark.parametrize("make", TIERS)
def test_loads_see_earlier_stores_and_tests_do_too(make: Maker) -> None:
    """TEST after SETC judges the copy, so the second action is never enabled."""
    leaves = one_word(3, 3)
    moved = (Ins(Op.SETC, a=0, imm=5), Ins(Op.LOAD, d=0, imm=0), Ins(Op.STORE, a=0, imm=1))
    blocked = (Ins(Op.SETC, a=0, imm=5), Ins(Op.TEST, a=0, imm=0))

    agree(make, Program(1, leaves, (moved, blocked), (), None, 0), [0])


@pytest.mark.parametrize("make", TIERS)
@pytest.mark.parametrize(
    "op", [Op.FLOORDIV, Op.MOD, Op.MIN, Op.MAX, Op.MUL, Op.SUB, Op.LT, Op.BANDN, Op.BXOR]
)
def test_arithmetic_is_that_of_python(make: Maker, op: Op) -> None:
    """All signs of both operands; the result is kept in two's complement in a wide leaf."""
    values = (-7, -3, -2, -1, 1, 2, 3, 7)
    actions = [
        (
            Ins(Op.CONST, d=0, imm=a),
            Ins(Op.CONST, d=1, imm=b),
            Ins(op, d=2, a=0, b=1),
            Ins(Op.STORE, a=2, imm=0),
        )
        for a in values
        for b in values
    ]

    agree(make, Program(1, one_word(60), tuple(actions), (), None, 0), [0])


@pytest.mark.parametrize("make", TIERS)
def test_a_leaf_of_64_bits_is_loaded_with_its_sign(make: Maker) -> None:
    """Registers are signed: all ones is -1, loaded by number or by index."""
    direct = (Ins(Op.LOAD, d=0, imm=1), Ins(Op.LTI, d=1, a=0), Ins(Op.REQUIRE, a=1), Ins(Op.SETC, a=0, imm=1))
    indexed = (
        Ins(Op.CONST, d=0, imm=1),
        Ins(Op.LOADX, d=1, a=0, imm=0),
        Ins(Op.ADDI, d=2, a=1, imm=3),
        Ins(Op.STORE, a=2, imm=0),
    )
    program = Program(2, (Leaf(0, 1, 5), Leaf(1, 0, 64)), (direct, indexed), (), None, 0)
    explorer = explored(make(program), [(1 << 128) - (1 << 64)], 10)

    assert [1, 1] == [explorer.packed(1) >> 1 & 31, explorer.fired()[0] // 3]
    assert 2 == explorer.packed(2) >> 1 & 31


@pytest.mark.parametrize("make", TIERS)
@pytest.mark.parametrize("words", range(1, 13))
def test_every_width(make: Maker, words: int) -> None:
    """A counter in the first and in the last word; every other word keeps what it had."""
    counters = (Leaf(0, 3, 3), Leaf(words - 1, 60, 3))
    others = (Leaf(words - 1, 63, 1), *(Leaf(word, 20, 3) for word in range(words)))
    initial = (1 << 64 * words - 1) | sum(7 << 64 * word + 20 for word in range(words))
    program = Program(words, counters + others, (adder(0, 5), adder(1, 6)), (), None, 0)

    agree(make, program, [initial, 0])


@pytest.mark.parametrize("make", TIERS)
def test_more_actions_than_sixty_four(make: Maker) -> None:
    """Sets of candidate actions take several words; order stays that of the program."""
    actions = [
        (Ins(Op.TEST, a=0, imm=i % 16), Ins(Op.TEST, a=1, imm=i % 3), Ins(Op.SETC, a=0, imm=(i * 7) % 16))
        for i in range(150)
    ]
    turn = [adder(1, 3)]

    agree(make, Program(1, one_word(4, 2), tuple(actions + turn), (), None, 0), [0])


@pytest.mark.parametrize("make", TIERS)
def test_more_actions_than_sixteen_bits(make: Maker) -> None:
    """The action of a link is kept whole."""
    idle: Block = (Ins(Op.TEST, a=0, imm=7),)
    program = Program(1, one_word(3), (idle,) * 65540 + (adder(0, 4),), (), None, 0)
    explorer = explored(make(program), [0], 3)

    assert (0, [65540] * 3) == explorer.path(3)


@pytest.mark.parametrize("make", TIERS)
def test_thousands_of_registers_alive_at_once(make: Maker) -> None:
    """All values are computed first and added up in the end."""
    count = 3000
    block: list[Ins | Branch] = [Ins(Op.LOAD, d=0, imm=0)]
    block += [Ins(Op.ADDI, d=1 + i, a=0, imm=i * i) for i in range(count)]
    total = count + 1
    block.append(Ins(Op.CONST, d=total))
    for i in range(count):
        block.append(Ins(Op.ADD, d=total + i + 1, a=total + i, b=1 + i))
    block.append(Ins(Op.STORE, a=total + count, imm=0))

    agree(make, Program(1, one_word(40), (tuple(block),), (), None, 0), [3])


LOADED = Ins(Op.LOAD, d=0, imm=0)
CONDITIONS: dict[str, Block] = {
    "value": (Ins(Op.LOAD, d=9, imm=0),),
    "equal": (LOADED, Ins(Op.EQI, d=9, a=0, imm=2)),
    "zero": (LOADED, Ins(Op.NOT, d=9, a=0)),
    "not equal": (LOADED, Ins(Op.EQI, d=1, a=0, imm=2), Ins(Op.NOT, d=9, a=1)),
    "both": (
        *(LOADED, Ins(Op.EQI, d=1, a=0, imm=2)),
        *(Ins(Op.LOAD, d=2, imm=1), Ins(Op.EQI, d=3, a=2, imm=1)),
        Ins(Op.BAND, d=9, a=1, b=3),
    ),
    "less": (LOADED, Ins(Op.LTI, d=1, a=0, imm=2), Ins(Op.NOT, d=9, a=1)),
}


@pytest.mark.parametrize("make", TIERS)
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_decide_alike_wherever_they_stand(make: Maker, name: str) -> None:
    """In front of a branch, a requirement or a check, at the head of an action or after a store, in a claim."""
    condition = CONDITIONS[name]
    yes, no = (Ins(Op.SETC, a=2, imm=1),), (Ins(Op.SETC, a=2, imm=2),)
    late = Ins(Op.SETC, a=3, imm=1)
    actions = (
        (*condition, Branch(9, yes, no)),
        (*condition, Branch(9, (), no)),
        (late, *condition, Branch(9, yes)),
        (*condition, Ins(Op.REQUIRE, a=9), late),
        (late, *condition, Ins(Op.REQUIRE, a=9), *yes),
        (*condition, Ins(Op.CHECK, a=9, imm=0), late),
        adder(0, 4),
        adder(1, 2),
    )
    claim = (*condition, Branch(9, (Ins(Op.RET, a=9),)), Ins(Op.LOAD, d=5, imm=2), Ins(Op.RET, a=5))

    agree(make, Program(1, one_word(3, 1, 2, 1), actions, (claim,), None, 1), [0])


@pytest.mark.parametrize("make", TIERS)
@pytest.mark.parametrize("depth", [15, 39, 41, 120, 250])
def test_deeply_nested_branches(make: Maker, depth: int) -> None:
    """Nesting beyond what Python's parser takes, with stores before and after the inner branch."""
    inner: Block = (Ins(Op.SETC, a=0, imm=7), Ins(Op.CHECK, a=0, imm=0))
    for level in range(depth):
        before = Ins(Op.ADDI, d=2, a=2, imm=level + 1)
        after = Ins(Op.ADDI, d=3, a=3, imm=1)
        other: Block = (Ins(Op.SETC, a=0, imm=level % 8), Ins(Op.REQUIRE, a=level % 2))
        branch = (
            Branch(level % 2, (before, *inner), other) if level % 3 else Branch(0, other, (*inner, before))
        )
        inner = (before, branch, after)
    head = (
        Ins(Op.LOAD, d=0, imm=0),
        Ins(Op.LOAD, d=1, imm=1),
        Ins(Op.CONST, d=2, imm=1),
        Ins(Op.CONST, d=3, imm=2),
    )
    tail = (Ins(Op.STORE, a=2, imm=2), Ins(Op.STORE, a=3, imm=3))
    program = Program(1, one_word(3, 1, 12, 12), ((*head, *inner, *tail), adder(1, 2)), (), None, 1)

    agree(make, program, [0, 1, 8, 9])


@pytest.mark.parametrize("make", TIERS)
def test_a_long_chain_of_alternatives(make: Maker) -> None:
    """`elif` nests as deep as it is long; a claim and an action have one each."""
    chain: Block = (Ins(Op.SETC, a=0, imm=0),)
    claim: Block = (Ins(Op.CONST, d=2), Ins(Op.RET, a=2))
    for value in range(200):
        test = Ins(Op.EQI, d=1, a=0, imm=value)
        chain = (test, Branch(1, (Ins(Op.SETC, a=0, imm=value + 1),), chain))
        claim = (test, Branch(1, (Ins(Op.RET, a=0),), claim))
    load = Ins(Op.LOAD, d=0, imm=0)
    program = Program(1, one_word(9), ((load, *chain),), ((load, *claim),), None, 0)

    agree(make, program, [150, 20])


@pytest.mark.parametrize("make", TIERS)
def test_bad_arguments(make: Maker) -> None:
    """States that do not exist, and initial states that are too wide, are refused."""
    explorer = make(Program(1, one_word(2), (adder(0, 3),), (), None, 0))
    with pytest.raises(ValueError, match="not a state of 1 words"):
        explorer.start([1 << 64])
    explorer.start([0])
    for call in (explorer.packed, explorer.path):
        with pytest.raises(IndexError):
            call(1)


@needs_c
@pytest.mark.parametrize(
    "block",
    [
        (Ins(Op.CONST, d=0), Ins(Op.CONST, d=1), Ins(Op.MOD, d=2, a=0, b=1), Ins(Op.STORE, a=2, imm=0)),
        (Ins(Op.CONST, d=0), Ins(Op.CONST, d=1), Ins(Op.FLOORDIV, d=2, a=0, b=1), Ins(Op.STORE, a=2, imm=0)),
        (Ins(Op.CONST, d=0, imm=-1), Ins(Op.LOADX, d=2, a=0, imm=0), Ins(Op.STORE, a=2, imm=0)),
        (Ins(Op.CONST, d=0, imm=9), Ins(Op.STOREX, a=0, b=0, imm=0)),
    ],
    ids=["remainder", "quotient", "load", "store"],
)
def test_a_broken_program_does_not_crash_the_process(block: Block) -> None:
    """An index or divisor that the lowering forgot to check is reported."""
    explorer = CExplorer(Program(1, one_word(2), (block,), (), None, 0))
    explorer.start([0])
    with pytest.raises(EngineFailure):
        explorer.advance(1)


# ------------------------------------------------------------------------------------------- size and memory

CUBE = Program(1, one_word(7, 7, 7), tuple(adder(leaf, 60) for leaf in range(3)), (), None, 0)
CUBE_STATES = 60**3


@pytest.mark.parametrize("make", TIERS)
def test_a_table_that_grows(make: Maker) -> None:
    """216 000 states: none lost, none double, every level of the size that arithmetic says."""
    explorer = make(CUBE, seed=5)
    explorer.start([0])
    begins = []
    while explorer.frontier():
        if explorer.at_level_start():
            begins.append(explorer.expanded())
        assert explorer.advance(1000)

    assert (CUBE_STATES, 3 * CUBE_STATES, 3 * 59 + 1) == (
        explorer.states(),
        explorer.transitions(),
        explorer.level(),
    )
    assert [CUBE_STATES] * 3 == explorer.fired()
    assert CUBE_STATES == len({explorer.packed(number) for number in range(CUBE_STATES)})
    for number in range(0, CUBE_STATES, 997):
        packed = explorer.packed(number)
        digits = [packed >> 7 * leaf & 127 for leaf in range(3)]
        actions = explorer.path(number)[1]
        assert digits == [actions.count(leaf) for leaf in range(3)]
        level = sum(begin <= number for begin in begins)
        assert len(actions) == level - 1


@pytest.mark.parametrize("make", TIERS)
def test_a_state_with_thousands_of_successors(make: Maker) -> None:
    """One expansion outgrows the first table and several chunks of wide states."""
    count = 5000
    star = tuple((Ins(Op.TEST, a=0, imm=0), Ins(Op.SETC, a=0, imm=1 + number)) for number in range(count))
    explorer = explored(make(Program(64, (Leaf(63, 0, 20),), star, (), None, 0)), [0], 1, 3)

    assert (count + 1, count, 2) == (explorer.states(), explorer.transitions(), explorer.level())
    assert [number << 63 * 64 for number in range(count + 1)] == [
        explorer.packed(number) for number in range(count + 1)
    ]


@needs_c
def test_seeds_and_pieces_change_nothing_in_a_large_space() -> None:
    """State numbers are the same for every seed, every piece size and both tiers."""
    first = explored(PythonExplorer(CUBE), [0], 10**9, 10**9)
    expected = [first.packed(number) for number in range(CUBE_STATES)]
    for seed, piece in ((0, 10**9), (1, 777), (2**64 - 1, 64)):
        other = explored(CExplorer(CUBE, seed=seed), [0], piece, 10**9)

        assert expected == [other.packed(number) for number in range(CUBE_STATES)]


@needs_c
def test_memory_limit_of_the_c_tier() -> None:
    """It stops below the limit, and what it has found is a valid beginning of the search."""
    full = explored(CExplorer(CUBE), [0], 10**9, 10**9)
    limit = full.memory() // 2
    explorer = CExplorer(CUBE, memory_limit=limit)
    explorer.start([0])
    while explorer.advance(500):
        assert explorer.frontier()

    assert explorer.memory() <= limit
    assert 10_000 < explorer.states() < CUBE_STATES
    assert 3 * explorer.expanded() == explorer.transitions() == sum(explorer.fired())
    for number in range(0, explorer.states(), 101):
        assert (full.packed(number), full.path(number)) == (explorer.packed(number), explorer.path(number))
    assert not explorer.advance(500)


@needs_c
def test_a_memory_limit_that_is_hopeless() -> None:
    """Not even an empty search fits: that is an error, not an empty result."""
    with pytest.raises(MemoryError):
        CExplorer(CUBE, memory_limit=1000)


@needs_c
def test_a_memory_limit_below_the_initial_states() -> None:
    """Initial states that do not fit are an error, else the search would look complete."""
    explorer = CExplorer(CUBE, memory_limit=2_500_000)
    with pytest.raises(MemoryError):
        explorer.start(range(1 << 20))


def test_memory_limit_of_the_python_tier() -> None:
    """It stops, near the limit, with a valid beginning of the search."""
    limit = 8_000_000
    explorer = PythonExplorer(CUBE, memory_limit=limit)
    explorer.start([0])
    while explorer.advance(500):
        assert explorer.frontier()

    assert limit <= explorer.memory() <= 2 * limit
    assert 3 * explorer.expanded() == explorer.transitions()


@needs_c
def test_memory_is_small_and_given_back() -> None:
    """At most 40 bytes a state of one word once the fixed parts do not matter; none after `close`."""
    explorer = explored(CExplorer(CUBE), [0], 10**9, 10**9)

    assert explorer.memory() <= 40 * CUBE_STATES

    explorer.close()
    explorer.close()
    with pytest.raises(ValueError, match="closed"):
        explorer.states()


@needs_c
@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("words", [1, 2])
def test_no_state_is_lost_or_counted_twice_while_the_table_grows(numbered: bool, words: int) -> None:
    """A grid of known size under many seeds: clusters at both ends of the table, at every growth in place.

    Jumps lead to states that were found long before, so one that the table has lost is counted twice.
    """
    leaves = (Leaf(0, 0, 10), Leaf(words - 1, 20, 10))
    jumps = [jump(leaf, by, size) for leaf, size in ((0, 500), (1, 440)) for by in (7, 11, 13)]
    program = Program(words, leaves, (adder(0, 500), adder(1, 440), *jumps), (), None, 0)
    for seed in range(40):
        explorer = CExplorer(program, seed=seed, numbered=numbered)
        explorer.start([0])
        while explorer.frontier():
            explorer.advance(1 << 20)

        assert (500 * 440, 8 * 500 * 440) == (explorer.states(), explorer.transitions()), seed

        explorer.close()
