"""Random programs of several processes that share a little: what partial-order reduction is for."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program

FAULTS = 3


@dataclass
class Code:
    """A block being written."""

    items: list[Ins | Branch] = field(default_factory=list)
    registers: int = 0

    def emit(self, op: Op, **fields: int) -> None:
        """Add an instruction that sets no register."""
        self.items.append(Ins(op, **fields))

    def get(self, op: Op, **fields: int) -> int:
        """Add an instruction that sets a new register."""
        self.items.append(Ins(op, d=self.registers, **fields))
        self.registers += 1
        return self.registers - 1

    def test(self, leaf: int, value: int) -> int:
        """A register that says whether a leaf has a value."""
        return self.get(Op.EQI, a=self.get(Op.LOAD, imm=leaf), imm=value)


class World:
    """The leaves of a program: for each process a place and a variable, then what is shared."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.processes = rng.choice((2, 2, 3, 3, 4))
        self.places = rng.choice((2, 3, 4))
        self.bits = [2 if self.places <= 4 else 3, rng.choice((1, 2))] * self.processes
        self.shared = list(range(2 * self.processes, 2 * self.processes + rng.choice((1, 2, 2, 3))))
        self.bits += [rng.choice((1, 1, 2, 3, 10)) for _ in self.shared]
        self.array = rng.random() < 0.3
        if self.array:  # an index and three elements behind the others
            self.base = len(self.bits)
            self.bits += [2, 1, 1, 1, 1]

    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, one behind the other."""
        found: list[Leaf] = []
        word = at = 0
        for bits in self.bits:
            if at + bits > 64 or self.rng.random() < 0.05:
                word, at = word + 1, 0
            found.append(Leaf(word, at, bits))
            at += bits
        return tuple(found)

    def value(self, leaf: int) -> int:
        """A small value of a leaf."""
        return self.rng.randrange(min(4, 1 << self.bits[leaf]))

    def leaf(self, process: int) -> int:
        """A leaf that a process may use: its own, or a shared one; now and then of somebody else."""
        kind = self.rng.random()
        if kind < 0.4:
            return 2 * process + 1
        if kind < 0.93:
            return self.rng.choice(self.shared)
        return self.rng.randrange(2 * self.processes)

    # --- actions --------------------------------------------------------------------------------------

    def action(self, process: int, here: int) -> Block:
        """A step of a process from one place to another one, most often further on."""
        code = Code()
        code.emit(Op.TEST, a=2 * process, imm=here)
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            self.guard(code, process)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            self.effect(code, process, depth=0)
        onward = here + 1 if self.rng.random() < 0.8 else self.rng.randrange(self.places)
        if onward < self.places or self.rng.random() < 0.5:
            code.emit(Op.SETC, a=2 * process, imm=onward % self.places)
        return tuple(code.items)

    def condition(self, code: Code, process: int) -> int:
        """A register with a condition on something that the process may use."""
        leaf = self.leaf(process)
        loaded = code.get(Op.LOAD, imm=leaf)
        kind = self.rng.randrange(4)
        if kind == 0:
            return code.get(Op.LTI, a=loaded, imm=self.value(leaf) + 1)
        if kind == 1 and self.bits[leaf] > 2:
            return code.get(Op.HAS, a=loaded, b=code.get(Op.CONST, imm=self.rng.randrange(self.bits[leaf])))
        found = code.get(Op.EQI, a=loaded, imm=self.value(leaf))
        if kind == 2:
            other = self.leaf(process)
            op = self.rng.choice((Op.BAND, Op.BOR))
            return code.get(op, a=code.test(other, self.value(other)), b=found)
        return found if self.rng.random() < 0.6 else code.get(Op.NOT, a=found)

    def guard(self, code: Code, process: int) -> None:
        """Something that has to hold for the step."""
        if self.rng.random() < 0.3:
            leaf = self.leaf(process)
            code.emit(Op.TEST, a=leaf, imm=self.value(leaf))
        else:
            code.emit(Op.REQUIRE, a=self.condition(code, process))

    def effect(self, code: Code, process: int, depth: int) -> None:
        """A change of something that the process may use, or a failure."""
        leaf = self.leaf(process)
        mask = (1 << self.bits[leaf]) - 1
        kind = self.rng.random()
        if kind < 0.25:
            code.emit(Op.SETC, a=leaf, imm=self.value(leaf))
        elif kind < 0.45:
            more = code.get(Op.ADDI, a=code.get(Op.LOAD, imm=leaf), imm=self.rng.choice((1, 1, -1, 2)))
            if self.rng.random() < 0.4:
                code.emit(Op.CHECK, a=code.get(Op.LTI, a=more, imm=mask + 1), imm=self.rng.randrange(FAULTS))
                code.emit(Op.CHECK, a=code.get(Op.NOT, a=code.get(Op.LTI, a=more, imm=0)), imm=0)
            code.emit(Op.STORE, a=more, imm=leaf)
        elif kind < 0.6:
            bit = code.get(Op.CONST, imm=1 << self.rng.randrange(self.bits[leaf]))
            op = self.rng.choice((Op.BOR, Op.BANDN, Op.BXOR))
            code.emit(Op.STORE, a=code.get(op, a=code.get(Op.LOAD, imm=leaf), b=bit), imm=leaf)
        elif kind < 0.7:
            code.emit(Op.STORE, a=code.get(Op.LOAD, imm=self.leaf(process)), imm=leaf)
        elif kind < 0.78 and self.array:
            self.indexed(code)
        elif kind < 0.84:
            code.emit(Op.CHECK, a=self.condition(code, process), imm=self.rng.randrange(FAULTS))
        elif depth < 2:
            condition = self.condition(code, process)
            before, code.items = code.items, []
            self.effect(code, process, depth + 1)
            then, code.items = tuple(code.items), []
            if self.rng.random() < 0.5:
                self.effect(code, process, depth + 1)
            orelse, code.items = tuple(code.items), before
            code.items.append(Branch(condition, then, orelse))

    def indexed(self, code: Code) -> None:
        """Read or write an element of the array, or move the index."""
        kind = self.rng.randrange(3)
        index = code.get(Op.LOAD, imm=self.base)
        if kind == 0:
            code.emit(Op.SETC, a=self.base, imm=self.rng.randrange(4))
        elif kind == 1:
            code.emit(Op.STORE, a=code.get(Op.LOADX, a=index, imm=self.base + 1), imm=self.shared[0])
        else:
            code.emit(Op.STOREX, a=index, b=code.get(Op.CONST, imm=self.rng.randrange(2)), imm=self.base + 1)

    # --- questions ------------------------------------------------------------------------------------

    def question(self) -> Block:
        """A conjunction of conditions, or a chain of decisions, over all leaves."""
        code = Code()
        if self.rng.random() < 0.2:
            condition = self.any_condition(code)
            answer = code.get(Op.CONST, imm=self.rng.randrange(2))
            code.items.append(Branch(condition, (Ins(Op.RET, a=answer),)))
        found = self.any_condition(code)
        for _ in range(self.rng.choice((0, 1, 2))):
            op = Op.BAND if self.rng.random() < 0.7 else Op.BOR
            found = code.get(op, a=self.any_condition(code), b=found)
        if self.rng.random() < 0.1:
            code.emit(Op.CHECK, a=self.any_condition(code), imm=self.rng.randrange(FAULTS))
        code.emit(Op.RET, a=found)
        return tuple(code.items)

    def any_condition(self, code: Code) -> int:
        """A condition that mostly holds."""
        leaf = self.rng.randrange(len(self.bits))
        found = code.test(leaf, self.value(leaf))
        if self.rng.random() < 0.7:
            other = self.rng.randrange(len(self.bits))
            found = code.get(Op.BAND, a=found, b=code.test(other, self.value(other)))
        return code.get(Op.NOT, a=found)


def concurrent_program(seed: int) -> tuple[Program, list[int]]:
    """A program of several processes, and its initial states."""
    rng = random.Random(seed)
    world = World(rng)
    leaves = world.leaves()
    actions = [
        world.action(process, here)
        for process in range(world.processes)
        for here in range(world.places)
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2)))
    ]
    rng.shuffle(actions)
    claims = tuple(world.question() for _ in range(rng.choice((0, 1, 1, 2))))
    probes = tuple(world.question() for _ in range(rng.choice((0, 0, 1))))
    terminal = (Ins(Op.CONST, d=0, imm=0), Ins(Op.RET, a=0)) if rng.random() < 0.6 else None
    if terminal is not None and rng.random() < 0.4:
        terminal = world.question()
    constraint = world.question() if rng.random() < 0.15 else None
    words = max(leaf.word for leaf in leaves) + 1
    program = Program(words, leaves, tuple(actions), claims, terminal, FAULTS, probes, (), constraint)
    initial = [0]
    if rng.random() < 0.3:
        initial.append(sum(world.value(at) << 64 * x.word + x.shift for at, x in enumerate(leaves)))
    return program, initial
