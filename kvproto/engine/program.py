"""The low-level program of a model: the one thing every compiled tier runs.

Lowering (`kvproto.engine.lower`) turns an instantiated model into a `Program`.  The C engine
runs it as packed bytecode (`kvproto.engine.bytecode`), the pure-Python tier prints it as Python text
(`kvproto.engine.tier0`).  There is exactly one lowering, so the tiers can differ only in how they
execute the operations below; the reference checker shares none of this and is the oracle for all of it.

A state is `Program.words` unsigned 64-bit words.  Its scalar variables are *leaves*: bit fields that
never straddle a word and hold raw unsigned numbers (the lowering adds and removes biases).  Code works on a
private copy of the state (loads see earlier stores of the same action) and on registers that hold signed
64-bit integers.  Register numbers are virtual and start at 0 in every block.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Op(IntEnum):
    """What one instruction does.  `r[x]` is a register, `L[i]` the raw value of leaf `i`."""

    CONST = 1  # r[d] = imm
    MOVE = 2  # r[d] = r[a]
    LOAD = 3  # r[d] = L[imm]
    LOADX = 4  # r[d] = L[imm + r[a]]          the index was checked before
    STORE = 5  # L[imm] = r[a]
    STOREX = 6  # L[imm + r[a]] = r[b]
    SETC = 7  # L[a] = imm                     `a` is a leaf number, `imm` a raw constant
    TEST = 8  # action not enabled unless L[a] == imm
    REQUIRE = 9  # action not enabled unless r[a] != 0
    FAULT = 10  # the action (or claim) faults with fault number imm, unconditionally
    CHECK = 11  # fault number imm unless r[a] != 0
    RET = 12  # end of a claim or of the terminal predicate; its value is r[a] != 0

    ADD = 20  # r[d] = r[a] + r[b]
    SUB = 21
    MUL = 22
    FLOORDIV = 23  # Python's, rounding down; the divisor was checked before
    MOD = 24  # Python's, sign of the divisor
    MIN = 25
    MAX = 26
    EQ = 27  # r[d] = 1 if r[a] == r[b] else 0
    NE = 28
    LT = 29
    LE = 30
    BAND = 31  # bitwise, also the logical `and` of 0/1 values
    BOR = 32
    BXOR = 33
    BANDN = 34  # r[a] & ~r[b]
    HAS = 35  # r[d] = (r[a] >> r[b]) & 1      0 <= r[b] < 64
    ADDI = 40  # r[d] = r[a] + imm
    MULI = 41  # r[d] = r[a] * imm
    EQI = 42  # r[d] = 1 if r[a] == imm else 0
    LTI = 43  # r[d] = 1 if r[a] < imm else 0
    NOT = 44  # r[d] = 1 if r[a] == 0 else 0
    BIT = 45  # r[d] = 1 << r[a]               0 <= r[a] < 63
    POPCOUNT = 46  # number of one bits of r[a], which is never negative
    LOWBIT = 47  # index of the lowest one bit; r[a] is not 0


@dataclass(frozen=True, slots=True)
class Ins:
    """One instruction; fields that `op` does not mention are 0."""

    op: Op
    d: int = 0
    a: int = 0
    b: int = 0
    imm: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """Run `then` if r[cond] != 0, else `orelse`.  There are no loops: lowering unrolled them."""

    cond: int
    then: Block
    orelse: Block = ()


Block = tuple[Ins | Branch, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar variable: `bits` bits of word `word` from bit `shift` up (1 <= bits, shift + bits <= 64)."""

    word: int
    shift: int
    bits: int


@dataclass(frozen=True, slots=True)
class Program:
    """Everything a search needs.

    `actions[i]` is one action with its arguments fixed.  It either is not enabled, faults, or runs to its end,
    and the changed copy is the successor.  `claims[i]` and `terminal` do not store; they end in RET.
    A state without successor and without fault is a deadlock unless `terminal` answers true; with
    `terminal` None deadlocks are not looked for.  `probes` are asked of new states until they are true (or fault) once,
    `predicates` when somebody wants to know.  States in which `constraint` is false are judged but not expanded.
    """

    words: int
    leaves: tuple[Leaf, ...]
    actions: tuple[Block, ...]
    claims: tuple[Block, ...]
    terminal: Block | None
    faults: int
    probes: tuple[Block, ...] = ()
    predicates: tuple[Block, ...] = ()
    constraint: Block | None = None

    def questions(self) -> tuple[Block, ...]:
        """The blocks that do not store, in the order of their numbers, which follow those of the actions."""
        last = [block for block in (self.terminal, self.constraint) if block is not None]
        return (*self.claims, *self.probes, *self.predicates, *last)
