"""What the packer makes of a block, looked at in the packed bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvproto.engine import bytecode, native
from kvproto.engine.bytecode import PAIR, SLOT, Code, pack
from kvproto.engine.guards import GUARD, GUARD_BITS
from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program
from kvproto.engine.rules import validate

LEAVES = (Leaf(0, 0, 3), Leaf(0, 3, 9), Leaf(0, 12, 10), Leaf(1, 60, 4), Leaf(1, 0, 20))
LOOK: Block = (Ins(Op.LOAD, d=0, imm=1), Ins(Op.CHECK, a=0, imm=0))
"""Ends the head of an action, so that what follows stays code."""


def program(*actions: Block, claims: tuple[Block, ...] = (), terminal: Block | None = None) -> Program:
    """A program over LEAVES with one fault."""
    return Program(2, LEAVES, actions, claims, terminal, 1)


def listing(code: bytes) -> list[tuple[object, ...]]:
    """(code, d, a, b, imm) of each instruction; (code, d or a, mask, value) of those with a pair."""
    lines: list[tuple[object, ...]] = []
    at = 0
    while at < len(code):
        number, d, a, b, imm = SLOT.unpack_from(code, at)
        at += SLOT.size
        if Code(number) in (Code.TEST, Code.PUT, Code.IS, Code.JUMP_IS, Code.JUMP_IS_NOT):
            lines.append((Code(number), d or a, *PAIR.unpack_from(code, at)))
            at += PAIR.size
        else:
            lines.append((Code(number), d, a, b, imm))
    return lines


def codes(action: Block) -> list[Code]:
    """The operation codes of one action."""
    return [line[0] for line in listing(pack(program(action)).code)]  # type: ignore[misc]


def guards_of(packed: bytecode.Bytecode) -> list[tuple[int, ...]]:
    """(action, window, shift, bits, allowed values...) of each guard."""
    return [values[:5] for values in GUARD.iter_unpack(packed.guard_table)]


def test_codes_are_numbered_as_in_the_engine() -> None:
    """The enumeration here and the list in engine.c are the same list."""
    text = (Path(native.__file__).parent / "c" / "interpret.h").read_text()
    block = re.search(r"#define OPCODES\(X\)(.*?)\n\n", text, re.DOTALL)
    assert block is not None

    assert [code.name for code in Code] == re.findall(r"X\((\w+)\)", block[1])
    assert list(range(len(Code))) == [code.value for code in Code]


def test_limits_are_those_of_the_engine() -> None:
    """Window width and ABI are written down twice; here they are compared."""
    text = (Path(native.__file__).parent / "c" / "base.h").read_text()

    assert f"WINDOW_BITS = {GUARD_BITS}" in text
    assert f"#define KV_ABI {native.ABI}\n" in text


def test_tests_on_one_word_become_one() -> None:
    """Three leaves of word 0 in one comparison; the leaf between them, of word 1, in another."""
    tests = [Ins(Op.TEST, a=leaf, imm=value) for leaf, value in ((0, 5), (1, 1), (3, 2), (2, 3))]
    lines = listing(pack(program((*LOOK, *tests))).code)

    assert (Code.TEST, 0, 0x3FFFFF, 5 | 1 << 3 | 3 << 12) in lines
    assert (Code.TEST, 1, 15 << 60, 2 << 60) in lines
    assert 2 == sum(line[0] is Code.TEST for line in lines)


def test_tests_do_not_merge_across_other_instructions() -> None:
    """A store between two tests changes what the second one sees."""
    between = (Ins(Op.TEST, a=0, imm=1), Ins(Op.SETC, a=1, imm=1), Ins(Op.TEST, a=1, imm=1))

    assert 2 == codes((*LOOK, *between)).count(Code.TEST)


@pytest.mark.parametrize(
    "tests", [((0, 1), (0, 2)), ((0, 1), (1, 4), (0, 2)), ((0, 8),), ((0, -1),)], ids=str
)
def test_contradictions_are_never_enabled(tests: tuple[tuple[int, int], ...]) -> None:
    """Two values for a leaf, or a value it cannot have."""
    assert Code.NEVER in codes((*LOOK, *(Ins(Op.TEST, a=leaf, imm=value) for leaf, value in tests)))


def test_constant_stores_become_one() -> None:
    """The last store to a leaf wins; other bits of the word are kept."""
    stores = [Ins(Op.SETC, a=leaf, imm=value) for leaf, value in ((0, 7), (3, 1), (0, 2), (1, 1))]
    lines = listing(pack(program(tuple(stores))).code)

    assert [
        (Code.BEGIN2, 0, 0, 0, 0),
        (Code.PUT, 0, 0xFFF, 2 | 1 << 3),
        (Code.PUT, 1, 15 << 60, 1 << 60),
        (Code.DONE, 0, 0, 0, 0),
    ] == lines


def test_stores_do_not_merge_across_a_branch() -> None:
    """The inner store is conditional."""
    branch = Branch(0, (Ins(Op.SETC, a=0, imm=2),))
    block = (Ins(Op.LOAD, d=0, imm=1), Ins(Op.SETC, a=0, imm=1), branch, Ins(Op.SETC, a=0, imm=3))

    assert 3 == codes(block).count(Code.PUT)


def test_a_branch_becomes_jumps() -> None:
    """One jump over `then`, one over `else`; the copy is made before the branch that stores."""
    branch = Branch(0, (Ins(Op.SETC, a=0, imm=2),), (Ins(Op.STORE, a=0, imm=1),))
    lines = listing(pack(program((Ins(Op.LOAD, d=0, imm=1), branch))).code)

    assert [
        (Code.BEGIN2, 0, 0, 0, 0),
        (Code.LOAD, 0, 0, 3, 511),
        (Code.JUMP_ZERO, 0, 0, 0, 4),
        (Code.PUT, 0, 7, 2),
        (Code.JUMP, 0, 0, 0, 2),
        (Code.STORE, 0, 0, 3, 511),
        (Code.DONE, 0, 0, 0, 0),
    ] == lines


@pytest.mark.parametrize(
    ("words", "begin"), [(1, Code.BEGIN1), (3, Code.BEGIN3), (4, Code.BEGIN4), (5, Code.BEGIN)]
)
def test_copies_fit_the_width(words: int, begin: Code) -> None:
    """Few words are copied by an operation of their own, also by an action that stores nothing."""
    packed = pack(Program(words, (Leaf(words - 1, 0, 1),), ((),), (), None, 0))

    assert [begin, Code.DONE] == [line[0] for line in listing(packed.code)]


def test_tests_at_the_head_become_guards() -> None:
    """Small leaves leave the code and share a window; the wide leaf stays a test."""
    packed = pack(program((Ins(Op.TEST, a=0, imm=5), Ins(Op.TEST, a=3, imm=2), Ins(Op.TEST, a=1, imm=300))))

    assert ((0, 0, 3), (1, 60, 4)) == packed.windows
    assert [(0, 0, 0, 3, 1 << 5), (0, 1, 0, 4, 1 << 2)] == guards_of(packed)
    assert [Code.TEST, Code.BEGIN2, Code.DONE] == [line[0] for line in listing(packed.code)]


def test_a_computed_condition_on_one_leaf_becomes_a_guard() -> None:
    """`leaf 0 not in (6, 7)`, and nothing of the computation is left."""
    block = (
        Ins(Op.LOAD, d=0, imm=0),
        Ins(Op.EQI, d=1, a=0, imm=6),
        Ins(Op.CONST, d=2, imm=7),
        Ins(Op.EQ, d=3, a=0, b=2),
        Ins(Op.BOR, d=4, a=1, b=3),
        Ins(Op.NOT, d=5, a=4),
        Ins(Op.REQUIRE, a=5),
        Ins(Op.TEST, a=0, imm=5),
    )
    packed = pack(program(block))

    assert [(0, 0, 0, 3, 1 << 5)] == guards_of(packed)
    assert [Code.BEGIN2, Code.DONE] == [line[0] for line in listing(packed.code)]


@pytest.mark.parametrize(
    "before",
    [LOOK, (Ins(Op.SETC, a=1, imm=0),), (Ins(Op.LOAD, d=0, imm=1), Branch(0, (Ins(Op.FAULT),)))],
    ids=["check", "store", "branch"],
)
def test_later_conditions_are_no_guards(before: Block) -> None:
    """After a check, store or branch a failed test no longer means that nothing happens."""
    assert 0 == pack(program((*before, Ins(Op.TEST, a=0, imm=1)))).guards


def test_a_register_that_was_set_again_is_not_believed() -> None:
    """The condition reads the second value, which depends on two leaves."""
    block = (
        Ins(Op.LOAD, d=0, imm=0),
        Ins(Op.LOAD, d=1, imm=3),
        Ins(Op.ADD, d=0, a=0, b=1),
        Ins(Op.REQUIRE, a=0),
    )

    assert 0 == pack(program(block)).guards


def is_leaf(register: int, leaf: int, value: int) -> Block:
    """`r[register] = leaf == value`, with a register of its own for the leaf."""
    return Ins(Op.LOAD, d=register + 1, imm=leaf), Ins(Op.EQI, d=register, a=register + 1, imm=value)


def test_a_branch_on_a_conjunction_of_leaf_values_is_one_instruction() -> None:
    """Three comparisons, two conjunctions and the branch."""
    conjunction = (
        *is_leaf(0, 0, 5),
        *is_leaf(2, 1, 1),
        Ins(Op.BAND, d=4, a=0, b=2),
        *is_leaf(5, 2, 3),
        Ins(Op.BAND, d=7, a=4, b=5),
        Branch(7, (Ins(Op.SETC, a=0, imm=1),)),
    )
    lines = listing(pack(program(conjunction)).code)

    assert [
        (Code.BEGIN2, 0, 0, 0, 0),
        (Code.JUMP_IS_NOT, 0, 0x3FFFFF, 5 | 1 << 3 | 3 << 12),
        (Code.PUT, 0, 7, 1),
        (Code.DONE, 0, 0, 0, 0),
    ] == lines


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        (is_leaf(0, 3, 2), Code.JUMP_IS_NOT),
        ((Ins(Op.LOAD, d=0, imm=3),), Code.JUMP_IS),
        ((Ins(Op.LOAD, d=1, imm=3), Ins(Op.NOT, d=0, a=1)), Code.JUMP_IS_NOT),
        ((*is_leaf(1, 3, 2), Ins(Op.NOT, d=0, a=1)), Code.JUMP_IS),
        ((Ins(Op.LOADX, d=1, a=9, imm=0), Ins(Op.NOT, d=0, a=1)), Code.JUMP_NONZERO),
    ],
    ids=["equal", "truth", "not", "not equal", "not computed"],
)
def test_branches_on_leaves_need_no_register(condition: Block, code: Code) -> None:
    """The comparison and the jump are one."""
    block = (Ins(Op.CONST, d=9), Ins(Op.SETC, a=4, imm=1), *condition, Branch(0, (Ins(Op.SETC, a=0, imm=1),)))

    assert code in codes(block)
    assert not {Code.EQI, Code.NOT, Code.IS, Code.JUMP_ZERO} & set(codes(block))


def test_a_comparison_that_is_read_twice_is_kept() -> None:
    """Joining it with the branch would lose the value that is stored."""
    block = (*is_leaf(0, 3, 2), Branch(0, (Ins(Op.STORE, a=0, imm=0),)))

    assert Code.IS in codes(block)


def test_impossible_comparisons_are_false() -> None:
    """A leaf never has a value it cannot hold, and never two values."""
    beyond = (*is_leaf(0, 3, 16), Ins(Op.STORE, a=0, imm=0))
    double = (*is_leaf(0, 3, 1), *is_leaf(2, 3, 2), Ins(Op.BAND, d=4, a=0, b=2), Ins(Op.STORE, a=4, imm=0))

    assert [Code.BEGIN2, Code.CONST, Code.STORE, Code.DONE] == codes(beyond) == codes(double)


def test_unread_results_are_dropped() -> None:
    """What only feeds a dropped operation is dropped, too; what a branch reads is kept."""
    block = (
        Ins(Op.LOAD, d=0, imm=1),
        Ins(Op.ADDI, d=1, a=0, imm=1),
        Ins(Op.MUL, d=2, a=1, b=1),
        Ins(Op.LOAD, d=3, imm=2),
        Branch(3, (Ins(Op.SETC, a=0, imm=1),)),
    )

    assert [Code.BEGIN2, Code.JUMP_IS, Code.PUT, Code.DONE] == codes(block)


def test_registers_are_reused() -> None:
    """Ten thousand registers in a row, two of them alive at a time."""
    chain = [Ins(Op.ADDI, d=number + 1, a=number, imm=1) for number in range(10_000)]
    block = (Ins(Op.LOAD, d=0, imm=1), *chain, Ins(Op.STORE, a=10_000, imm=1))

    assert pack(program(block)).registers <= 2


def test_too_many_registers_alive_are_refused() -> None:
    """An instruction holds 16 bits of register number."""
    count = bytecode.MAX_REGISTERS + 1
    block = [Ins(Op.LOAD, d=number, imm=1) for number in range(count)]
    block += [Ins(Op.STORE, a=number, imm=1) for number in range(count)]
    with pytest.raises(ValueError, match="65536 registers"):
        pack(program(tuple(block)))


RETURN: Block = (Ins(Op.CONST, d=0), Ins(Op.RET, a=0))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (program((Ins(Op.RET, a=0),)), "action 0: RET is not allowed"),
        (program((Ins(Op.CONST), Branch(0, (), (Ins(Op.LOAD, imm=5),)))), "action 0: LOAD of leaf 5"),
        (program((Ins(Op.TEST, a=-1),)), "TEST of leaf -1"),
        (program((Ins(Op.FAULT, imm=1),)), "FAULT of fault 1, there are 1"),
        (program((Ins(Op.CONST, imm=1 << 63),)), "does not fit 64 bits"),
        (program((), (Ins(Op.ADD, d=1, a=0, b=2),)), "register 0 is read before"),
        (program(claims=((Ins(Op.SETC, a=0), *RETURN),)), "claim 0: SETC is not allowed"),
        (program(claims=(RETURN, (Ins(Op.CONST, d=0), Branch(0, RETURN)))), "claim 1 can end without RET"),
        (program(terminal=(Ins(Op.TEST, a=0), *RETURN)), "the terminal predicate: TEST is not allowed"),
        (Program(0, (), (), (), None, 0), "cannot have 0 words"),
        (Program(1, (Leaf(1, 0, 1),), (), (), None, 0), "leaf 0 lies outside"),
        (Program(1, (Leaf(0, 60, 5),), (), (), None, 0), "leaf 0 lies outside"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_programs_are_refused(broken: Program, message: str) -> None:
    """The message says where and what."""
    with pytest.raises(ValueError, match=message):
        validate(broken)


def test_both_sides_of_a_branch_may_return() -> None:
    """Then nothing after the branch is needed; a fault ends a claim as well."""
    validate(program(claims=((Ins(Op.CONST, d=0), Branch(0, RETURN, (Ins(Op.FAULT),))),)))
