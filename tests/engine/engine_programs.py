"""Random programs that keep the rules of `kvproto.engine.program`."""

from __future__ import annotations

import random

from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program

PLAIN = (Op.MIN, Op.MAX, Op.EQ, Op.NE, Op.LT, Op.LE, Op.BAND, Op.BOR, Op.BXOR, Op.BANDN, Op.ADD, Op.SUB)
WITH_CONSTANT = (Op.ADDI, Op.EQI, Op.LTI)
FAULTS = 3


class Writer:
    """Writes one random block; only registers that are certainly set are read."""

    def __init__(self, rng: random.Random, leaves: tuple[Leaf, ...], *, action: bool) -> None:
        self.rng = rng
        self.leaves = leaves
        self.action = action
        self.next = 0
        self.size = 0

    def block(self, defined: list[int], depth: int, length: int) -> Block:
        """A block that may read the `defined` registers; what it defines anew is not visible outside."""
        items: list[Ins | Branch] = []
        known = list(defined)
        for _ in range(length):
            self.size += 1
            if depth < 3 and self.size < 60 and self.rng.random() < 0.15:
                cond = self.read(items, known) if self.rng.random() < 0.3 else self.condition(items)
                inner = self.rng.randrange(4), self.rng.randrange(3)
                items.append(Branch(cond, *(self.block(known, depth + 1, n) for n in inner)))
            else:
                self.item(items, known)
        return tuple(items)

    def condition(self, items: list[Ins | Branch]) -> int:
        """A register that is read once: leaf values compared with constants, as lowering writes conditions."""
        terms: list[int] = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            leaf = self.rng.randrange(len(self.leaves))
            items.append(Ins(Op.LOAD, d=self.next, imm=leaf))
            self.next += 1
            if self.rng.random() < 0.7:
                value = self.rng.randrange(-1, min(4, 1 << self.leaves[leaf].bits) + 1)
                items.append(Ins(Op.EQI, d=self.next, a=self.next - 1, imm=value))
                self.next += 1
            terms.append(self.next - 1)
            if len(terms) == 2:
                items.append(Ins(Op.BAND, d=self.next, a=terms[0], b=terms[1]))
                terms = [self.next]
                self.next += 1
        if self.rng.random() < 0.3:
            items.append(Ins(Op.NOT, d=self.next, a=terms[0]))
            terms = [self.next]
            self.next += 1
        return terms[0]

    def predicate(self) -> Block:
        """A block that ends in RET on every way."""
        known: list[int] = []
        items: list[Ins | Branch] = []
        for _ in range(self.rng.randrange(1, 6)):
            self.item(items, known)
        if self.rng.random() < 0.5:
            value = self.read(items, known)
            items.append(Branch(self.condition(items), (Ins(Op.RET, a=value),)))
        items.append(Ins(Op.RET, a=self.read(items, known)))
        return tuple(items)

    def define(self, items: list[Ins | Branch], known: list[int], op: Op, **fields: int) -> int:
        """Add an operation that sets a register, now and then one that was set before."""
        if known and self.rng.random() < 0.2:
            register = self.rng.choice(known)
        else:
            register = self.next
            self.next += 1
        items.append(Ins(op, d=register, **fields))
        if register not in known:
            known.append(register)
        return register

    def fresh(self, items: list[Ins | Branch], known: list[int], op: Op, **fields: int) -> int:
        """Add an operation that sets a new register."""
        register = self.next
        self.next += 1
        items.append(Ins(op, d=register, **fields))
        known.append(register)
        return register

    def read(self, items: list[Ins | Branch], known: list[int]) -> int:
        """A register to read."""
        if not known or self.rng.random() < 0.3:
            return self.load(items, known)
        return self.rng.choice(known)

    def load(self, items: list[Ins | Branch], known: list[int]) -> int:
        """A leaf value, reduced so that sums stay far from 64 bits."""
        leaf = self.rng.randrange(len(self.leaves))
        register = self.fresh(items, known, Op.LOAD, imm=leaf)
        if self.leaves[leaf].bits > 16:
            return self.reduced(items, known, register, self.rng.choice((977, -977)))
        return register

    def reduced(self, items: list[Ins | Branch], known: list[int], register: int, divisor: int) -> int:
        """The register modulo a constant, in its own place."""
        by = self.fresh(items, known, Op.CONST, imm=divisor)
        items.append(Ins(Op.MOD, d=register, a=register, b=by))
        return register

    def index(self, items: list[Ins | Branch], known: list[int], size: int) -> int:
        """A register with a value from 0 to size - 1."""
        a = self.read(items, known)
        by = self.fresh(items, known, Op.CONST, imm=size)
        return self.fresh(items, known, Op.MOD, a=a, b=by)

    def item(self, items: list[Ins | Branch], known: list[int]) -> None:
        """Add one random instruction, with what it needs to be allowed."""
        choice = self.rng.random()
        if choice < (0.45 if self.action else 0.93):
            self.compute(items, known)
        elif self.action and choice < 0.9:
            self.change(items, known)
        elif self.action and choice < 0.97:
            self.require(items, known)
        elif choice < 0.985:
            a = self.read(items, known)
            items.append(Ins(Op.CHECK, a=a, imm=self.rng.randrange(FAULTS)))
        elif self.rng.random() < 0.3:
            cond = self.read(items, known)
            items.append(Branch(cond, (Ins(Op.FAULT, imm=self.rng.randrange(FAULTS)),)))

    def change(self, items: list[Ins | Branch], known: list[int]) -> None:
        """A store."""
        leaf = self.rng.randrange(len(self.leaves))
        kind = self.rng.randrange(4)
        if kind == 0:
            items.append(Ins(Op.SETC, a=leaf, imm=self.rng.randrange(min(4, 1 << self.leaves[leaf].bits))))
        elif kind <= 2:
            items.append(Ins(Op.STORE, a=self.read(items, known), imm=leaf))
        else:
            base = self.rng.randrange(len(self.leaves))
            index = self.index(items, known, len(self.leaves) - base)
            items.append(Ins(Op.STOREX, a=index, b=self.read(items, known), imm=base))

    def require(self, items: list[Ins | Branch], known: list[int]) -> None:
        """A condition for the action to be enabled."""
        if self.rng.random() < 0.6:
            leaf = self.rng.randrange(len(self.leaves))
            limit = min(4, 1 << self.leaves[leaf].bits)
            wanted = self.rng.randrange(limit) if self.rng.random() < 0.97 else limit << 64
            items.append(Ins(Op.TEST, a=leaf, imm=wanted))
        else:
            cond = self.read(items, known) if self.rng.random() < 0.5 else self.condition(items)
            items.append(Ins(Op.REQUIRE, a=cond))

    def compute(self, items: list[Ins | Branch], known: list[int]) -> None:
        """An operation that only computes."""
        kind = self.rng.randrange(12)
        if kind == 0:
            self.define(items, known, Op.CONST, imm=self.rng.randrange(-9, 10))
        elif kind <= 2:
            self.load(items, known)
        elif kind == 3:
            base = self.rng.randrange(len(self.leaves))
            index = self.index(items, known, len(self.leaves) - base)
            self.reduced(items, known, self.fresh(items, known, Op.LOADX, a=index, imm=base), 977)
        elif kind <= 6:
            a, b = self.read(items, known), self.read(items, known)
            self.define(items, known, self.rng.choice(PLAIN), a=a, b=b)
        elif kind <= 8:
            op = self.rng.choice(WITH_CONSTANT)
            self.define(items, known, op, a=self.read(items, known), imm=self.rng.randrange(-9, 10))
        elif kind == 9:
            self.divide(items, known)
        elif kind == 10:
            self.bits(items, known)
        else:
            self.define(items, known, self.rng.choice((Op.NOT, Op.MOVE)), a=self.read(items, known))

    def divide(self, items: list[Ins | Branch], known: list[int]) -> None:
        """Products, quotients and remainders; an odd divisor is not 0."""
        small = self.reduced(items, known, self.fresh(items, known, Op.MOVE, a=self.read(items, known)), -977)
        one = self.fresh(items, known, Op.CONST, imm=1)
        odd = self.fresh(items, known, Op.BOR, a=small, b=one)
        a = self.read(items, known)
        op = self.rng.choice((Op.MUL, Op.FLOORDIV, Op.MOD, Op.MULI))
        if op is Op.MULI:
            self.fresh(items, known, op, a=small, imm=self.rng.randrange(-9, 10))
        elif op is Op.MUL:
            self.fresh(items, known, op, a=small, b=odd)
        else:
            self.define(items, known, op, a=a, b=odd)

    def bits(self, items: list[Ins | Branch], known: list[int]) -> None:
        """Operations on bit sets."""
        a = self.read(items, known)
        place = self.index(items, known, 16)
        bit = self.fresh(items, known, Op.BIT, a=place)
        some = self.fresh(items, known, Op.BOR, a=a, b=bit)
        self.fresh(items, known, Op.HAS, a=a, b=place)
        self.fresh(items, known, Op.LOWBIT, a=some)
        low = self.fresh(items, known, Op.CONST, imm=1023)
        part = self.fresh(items, known, Op.BAND, a=some, b=low)
        self.define(items, known, Op.POPCOUNT, a=part)


def random_leaves(rng: random.Random, words: int) -> tuple[Leaf, ...]:
    """Leaves with gaps between them, in no order, at least one of them in the last word."""
    filled = [rng.randrange(5) for _ in range(words)]
    leaves: list[Leaf] = []
    for number in range(rng.randrange(1, 7)):
        word = words - 1 if number == 0 else rng.randrange(words)
        bits = rng.choice((1, 1, 2, 2, 3, 4, 7, 9, 33, 63))
        if filled[word] + bits <= 64:
            leaves.append(Leaf(word, filled[word], bits))
            filled[word] += bits + rng.randrange(3)
    return tuple(leaves) or (Leaf(0, 0, 2),)


def random_program(seed: int) -> tuple[Program, list[int]]:
    """A program and its initial states."""
    rng = random.Random(seed)
    words = rng.randrange(1, 13)
    leaves = random_leaves(rng, words)
    strict = rng.random() < 0.5  # conditions at every head, so that some states deadlock
    actions: list[Block] = []
    for _ in range(rng.randrange(1, 12)):
        writer = Writer(rng, leaves, action=True)
        head: list[Ins | Branch] = []
        known: list[int] = []
        for _ in range(rng.choice((1, 2) if strict else (0, 1))):
            writer.require(head, known)
        actions.append((*head, *Writer(rng, leaves, action=True).block([], 0, rng.randrange(1, 9))))
    for _ in range(
        rng.choice((0, 1, 2) if not strict else (0, 0, 1))
    ):  # so that many programs have many states
        leaf = rng.randrange(len(leaves))
        step = (Ins(Op.LOAD, d=0, imm=leaf), Ins(Op.ADDI, d=1, a=0, imm=1), Ins(Op.STORE, a=1, imm=leaf))
        actions.insert(rng.randrange(len(actions)), step)
    claims = tuple(Writer(rng, leaves, action=False).predicate() for _ in range(rng.randrange(3)))
    terminal = Writer(rng, leaves, action=False).predicate() if rng.random() < 0.5 else None
    probes, predicates = (
        tuple(Writer(rng, leaves, action=False).predicate() for _ in range(rng.randrange(3))) for _ in range(2)
    )
    constraint = Writer(rng, leaves, action=False).predicate() if rng.random() < 0.25 else None
    program = Program(words, leaves, tuple(actions), claims, terminal, FAULTS, probes, predicates, constraint)
    places = [[rng.randrange(min(4, 1 << leaf.bits)) for leaf in leaves] for _ in range(rng.randrange(1, 7))]
    initial = [
        sum(v << 64 * x.word + x.shift for v, x in zip(values, leaves, strict=True)) for values in places
    ]
    return program, initial + initial[:1]
