"""A slow explorer that is obviously right: states are leaf values, blocks are walked as they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvproto.engine.explorer import FaultHit
from kvproto.engine.program import Block, Branch, Ins, Op, Program


class NotEnabled(Exception):
    """A TEST or REQUIRE failed."""


class Fault(Exception):
    """The block faulted."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class OutOfRange(Exception):
    """A value left 64 bits: the program is not one that a lowering may produce."""


class Returned(Exception):
    """A predicate reached RET."""

    def __init__(self, value: bool) -> None:
        super().__init__(value)
        self.value = value


def lowest_bit(value: int) -> int:
    """Index of the lowest one bit."""
    return next(index for index in range(64) if value >> index & 1)


COMPUTE: dict[Op, Callable[[int, int, int], int]] = {
    Op.CONST: lambda _a, _b, imm: imm,
    Op.MOVE: lambda a, _b, _imm: a,
    Op.ADD: lambda a, b, _imm: a + b,
    Op.SUB: lambda a, b, _imm: a - b,
    Op.MUL: lambda a, b, _imm: a * b,
    Op.FLOORDIV: lambda a, b, _imm: a // b,
    Op.MOD: lambda a, b, _imm: a % b,
    Op.MIN: lambda a, b, _imm: min(a, b),
    Op.MAX: lambda a, b, _imm: max(a, b),
    Op.EQ: lambda a, b, _imm: int(a == b),
    Op.NE: lambda a, b, _imm: int(a != b),
    Op.LT: lambda a, b, _imm: int(a < b),
    Op.LE: lambda a, b, _imm: int(a <= b),
    Op.BAND: lambda a, b, _imm: a & b,
    Op.BOR: lambda a, b, _imm: a | b,
    Op.BXOR: lambda a, b, _imm: a ^ b,
    Op.BANDN: lambda a, b, _imm: a & ~b,
    Op.HAS: lambda a, b, _imm: (a >> b) & 1,
    Op.ADDI: lambda a, _b, imm: a + imm,
    Op.MULI: lambda a, _b, imm: a * imm,
    Op.EQI: lambda a, _b, imm: int(a == imm),
    Op.LTI: lambda a, _b, imm: int(a < imm),
    Op.NOT: lambda a, _b, _imm: int(a == 0),
    Op.BIT: lambda a, _b, _imm: 1 << a,
    Op.POPCOUNT: lambda a, _b, _imm: a.bit_count(),
    Op.LOWBIT: lambda a, _b, _imm: lowest_bit(a),
}


class Run:
    """One run of a block on a copy of the leaf values."""

    def __init__(self, program: Program, values: tuple[int, ...]) -> None:
        self.program = program
        self.values = list(values)
        self.registers: dict[int, int] = {}

    def block(self, block: Block) -> None:
        """Run the items in turn."""
        for item in block:
            if isinstance(item, Branch):
                self.block(item.then if self.registers[item.cond] != 0 else item.orelse)
            else:
                self.instruction(item)

    def store(self, leaf: int, value: int) -> None:
        """Keep what fits into the leaf."""
        self.values[leaf] = value % (1 << self.program.leaves[leaf].bits)

    def instruction(self, ins: Ins) -> None:
        """Do one instruction."""
        a, b = self.registers.get(ins.a, 0), self.registers.get(ins.b, 0)
        if ins.op in COMPUTE:
            value = COMPUTE[ins.op](a, b, ins.imm)
            if not -(1 << 63) <= value < 1 << 63:
                raise OutOfRange
            self.registers[ins.d] = value
        elif ins.op is Op.LOAD:
            self.registers[ins.d] = self.values[ins.imm]
        elif ins.op is Op.LOADX:
            self.registers[ins.d] = self.values[ins.imm + a]
        elif ins.op is Op.STORE:
            self.store(ins.imm, a)
        elif ins.op is Op.STOREX:
            self.store(ins.imm + a, b)
        elif ins.op is Op.SETC:
            self.store(ins.a, ins.imm)
        elif (ins.op is Op.TEST and self.values[ins.a] != ins.imm) or (ins.op is Op.REQUIRE and a == 0):
            raise NotEnabled
        elif ins.op is Op.FAULT or (ins.op is Op.CHECK and a == 0):
            raise Fault(ins.imm)
        elif ins.op is Op.RET:
            raise Returned(a != 0)


class ToyExplorer:
    """Breadth-first search with a list and a dictionary."""

    tier = "toy"

    def __init__(self, program: Program) -> None:
        self.program = program
        self.order: list[tuple[int, ...]] = []
        self.numbers: dict[tuple[int, ...], int] = {}
        self.links: list[tuple[int, int]] = []
        self.levels: list[int] = []
        self.done = 0
        self.successors = 0
        self.first_violation: dict[int, int] = {}
        self.violating: set[int] = set()
        self.first_deadlock: int | None = None
        self.hits: dict[int, FaultHit] = {}
        self.counts = [0] * len(program.actions)
        self.witnesses: dict[int, int] = {}
        self.left_out: set[int] = set()

    def start(self, initial: Iterable[int]) -> None:
        """Take the initial states."""
        for packed in initial:
            values = tuple(
                packed >> 64 * leaf.word + leaf.shift & (1 << leaf.bits) - 1 for leaf in self.program.leaves
            )
            self.found(values, -1, -1)

    def found(self, values: tuple[int, ...], parent: int, action: int) -> None:
        """Number a state and judge it, unless it is known."""
        if values in self.numbers:
            return
        number = len(self.order)
        self.numbers[values] = number
        self.order.append(values)
        self.links.append((parent, action))
        self.levels.append(1 if parent < 0 else self.levels[parent] + 1)
        for claim, block in enumerate(self.program.claims):
            if self.predicate(block, number) is False:
                self.first_violation.setdefault(claim, number)
                self.violating.add(number)
        for probe, block in enumerate(self.program.probes):
            if probe not in self.witnesses and self.quietly(block, number) != 0:
                self.witnesses[probe] = number

    def quietly(self, block: Block, number: int) -> int:
        """The value of a probe or predicate; 2 if it faults, which nobody hears of."""
        heard = dict(self.hits)
        answer = self.predicate(block, number)
        self.hits = heard
        return 2 if answer is None else int(answer)

    def predicate(self, block: Block, number: int) -> bool | None:
        """The value of a claim or the terminal predicate; None if it faults."""
        try:
            Run(self.program, self.order[number]).block(block)
        except Returned as returned:
            return returned.value
        except Fault as fault:
            self.hits.setdefault(fault.number, FaultHit(fault.number, number, -1))
            return None
        raise AssertionError("a predicate without RET")

    def advance(self, expansions: int) -> bool:
        """Expand that many states of one level."""
        if self.frontier():
            level = self.level()
            while expansions > 0 and self.frontier() and self.level() == level:
                self.expand(self.done)
                expansions -= 1
        return True

    def expand(self, number: int) -> None:
        """All successors of one state."""
        self.done = number + 1
        if self.program.constraint is not None and not self.predicate(self.program.constraint, number):
            self.left_out.add(number)
            return
        quiet = True
        for action, block in enumerate(self.program.actions):
            run = Run(self.program, self.order[number])
            try:
                run.block(block)
            except NotEnabled:
                continue
            except Fault as fault:
                self.hits.setdefault(fault.number, FaultHit(fault.number, number, action))
            else:
                self.successors += 1
                self.counts[action] += 1
                self.found(tuple(run.values), number, action)
            quiet = False
        if quiet and self.program.terminal is not None:
            allowed = self.predicate(self.program.terminal, number)
            if allowed is False and self.first_deadlock is None:
                self.first_deadlock = number

    def states(self) -> int:
        """Distinct states."""
        return len(self.order)

    def outside(self) -> int:
        """Expanded states that the constraint excludes."""
        return len(self.left_out)

    def depth(self) -> int:
        """Deepest level of a state that was expanded and not excluded."""
        return max((self.levels[n] for n in range(self.done) if n not in self.left_out), default=1)

    def witness(self, probe: int) -> int | None:
        """First state for which the probe is true or faults."""
        return self.witnesses.get(probe)

    def test(self, predicate: int, first: int, last: int) -> bytes:
        """Values of a predicate."""
        return bytes(self.quietly(self.program.predicates[predicate], n) for n in range(first, last))

    def steps(self, number: int) -> list[tuple[int, int]]:
        """Transitions of a state to known states: (action, target)."""
        found: list[tuple[int, int]] = []
        if self.program.constraint is not None and self.quietly(self.program.constraint, number) != 1:
            return found
        for action, block in enumerate(self.program.actions):
            run = Run(self.program, self.order[number])
            try:
                run.block(block)
            except (NotEnabled, Fault):
                continue
            if tuple(run.values) in self.numbers:
                found.append((action, self.numbers[tuple(run.values)]))
        return found

    def expanded(self) -> int:
        """Expanded states."""
        return self.done

    def transitions(self) -> int:
        """Successors."""
        return self.successors

    def level(self) -> int:
        """Level of the next state."""
        return self.levels[min(self.done, len(self.levels) - 1)] if self.levels else 1

    def frontier(self) -> int:
        """States to expand."""
        return len(self.order) - self.done

    def at_level_start(self) -> bool:
        """At the first state of a level, or at the end."""
        at = self.done
        return at in (0, len(self.order)) or self.levels[at] != self.levels[at - 1]

    def violation(self, claim: int) -> int | None:
        """First violating state."""
        return self.first_violation.get(claim)

    def violating_states(self) -> int:
        """Number of violating states."""
        return len(self.violating)

    def deadlock(self) -> int | None:
        """First deadlock."""
        return self.first_deadlock

    def faults(self) -> list[FaultHit]:
        """First hits by fault number."""
        return [self.hits[number] for number in sorted(self.hits)]

    def fired(self) -> list[int]:
        """Successors of each action."""
        return list(self.counts)

    def path(self, state: int) -> tuple[int, list[int]]:
        """Back along the links."""
        actions: list[int] = []
        while self.links[state][0] >= 0:
            actions.insert(0, self.links[state][1])
            state = self.links[state][0]
        return state, actions

    def packed(self, state: int) -> int:
        """The leaves at their places."""
        leaves = zip(self.program.leaves, self.order[state], strict=True)
        return sum(value << 64 * leaf.word + leaf.shift for leaf, value in leaves)

    def memory(self) -> int:
        """Not counted."""
        return 0

    def close(self) -> None:
        """Nothing to give back."""
