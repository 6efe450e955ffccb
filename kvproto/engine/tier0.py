"""The tier of last resort: a program printed as Python text, and an `Explorer` that runs it.

A state is one Python integer.  Every action becomes a function from a state to its successor, and one
function `expand` tests what the actions require of the state before it calls them.  Nothing is interpreted
while it runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kvproto.engine.guards import split_guards
from kvproto.engine.ledger import Ledger
from kvproto.engine.program import Block, Branch, Ins, Op, Program
from kvproto.engine.rules import PURE, registers_read, validate

if TYPE_CHECKING:
    from kvproto.engine.por import Chooser
    from kvproto.engine.symmetry import Canonical

NOT_ENABLED = -1
"""What an action function answers instead of a successor; a fault number f is answered as -2 - f."""

MAX_NESTING = 40
"""Deeper branches are printed flat: Python refuses about 100 levels of indentation."""

EXPRESSIONS: Final[dict[Op, str]] = {
    Op.CONST: "{imm}",
    Op.MOVE: "{a}",
    Op.ADD: "{a} + {b}",
    Op.SUB: "{a} - {b}",
    Op.MUL: "{a} * {b}",
    Op.FLOORDIV: "{a} // {b}",
    Op.MOD: "{a} % {b}",
    Op.MIN: "{a} if {a} < {b} else {b}",
    Op.MAX: "{a} if {a} > {b} else {b}",
    Op.EQ: "1 if {a} == {b} else 0",
    Op.NE: "1 if {a} != {b} else 0",
    Op.LT: "1 if {a} < {b} else 0",
    Op.LE: "1 if {a} <= {b} else 0",
    Op.BAND: "{a} & {b}",
    Op.BOR: "{a} | {b}",
    Op.BXOR: "{a} ^ {b}",
    Op.BANDN: "{a} & ~{b}",
    Op.HAS: "{a} >> {b} & 1",
    Op.ADDI: "{a} + {imm}",
    Op.MULI: "{a} * {imm}",
    Op.EQI: "1 if {a} == {imm} else 0",
    Op.LTI: "1 if {a} < {imm} else 0",
    Op.NOT: "0 if {a} else 1",
    Op.BIT: "1 << {a}",
    Op.POPCOUNT: "{a}.bit_count()",
    Op.LOWBIT: "({a} & -{a}).bit_length() - 1",
}
"""Python text of the operations that only compute."""


def print_program(program: Program) -> str:
    """Python text that defines `expand` and `questions` for a valid program.

    `expand(s)` answers a list of pairs (action, successor or fault code); each of `questions`, in the order of
    `Program.questions()`, answers a truth value or a fault code below 0.
    """
    validate(program)
    printer = _Printer(program)
    heads = [split_guards(block, program.leaves) for block in program.actions]
    text = [f"SHIFT = {printer.shifts}", f"MASK = {printer.masks}", ""]
    for number, (_, rest) in enumerate(heads):
        text += [f"def action_{number}(s):", *printer.function_body(_read(rest), "return s"), ""]
    text += ["def expand(s):", "    out = []", *_calls([guards for guards, _ in heads], printer)]
    text += ["    return out", ""]
    questions = program.questions()
    for number, block in enumerate(questions):
        text += [f"def question_{number}(s):", *printer.function_body(block, "raise AssertionError"), ""]
    text.append(f"questions = [{', '.join(f'question_{number}' for number in range(len(questions)))}]")
    return "\n".join(text) + "\n"


def _calls(guards: Sequence[dict[int, int]], printer: _Printer) -> Iterator[str]:
    """The lines of `expand` that call the actions whose guards pass; a leaf that several use is loaded once."""
    uses = Counter(leaf for action in guards for leaf in action)
    values = {leaf: f"(s >> {printer.shifts[leaf]} & {printer.masks[leaf]})" for leaf in uses}
    for leaf, count in uses.items():
        if count > 1:
            yield f"    k{leaf} = {values[leaf][1:-1]}"
            values[leaf] = f"k{leaf}"
    for number, mine in enumerate(guards):
        tests = [_membership(values[leaf], allowed) for leaf, allowed in mine.items()]
        condition = " and ".join([*tests, f"(t := action_{number}(s)) != {NOT_ENABLED}"])
        yield f"    if {condition}: out.append(({number}, t))"


def _membership(value: str, allowed: int) -> str:
    if allowed.bit_count() == 1:
        return f"{value} == {allowed.bit_length() - 1}"
    return f"{allowed:#x} >> {value} & 1"


def _read(block: Block) -> Block:
    """The block without what computes values that nobody reads, as far as it is not inside of branches."""
    read: set[int] = set()
    kept: list[Ins | Branch] = []
    for item in reversed(block):
        if isinstance(item, Ins) and item.op in PURE and item.d not in read:
            continue
        kept.append(item)
        read |= registers_read(item)
    return tuple(reversed(kept))


class _Printer:
    """Prints blocks; `s` is the state, changed by stores, and `r<n>` are the registers."""

    def __init__(self, program: Program) -> None:
        self.shifts = tuple(64 * leaf.word + leaf.shift for leaf in program.leaves)
        self.masks = tuple((1 << leaf.bits) - 1 for leaf in program.leaves)
        self.bits = tuple(leaf.bits for leaf in program.leaves)
        self.whole = (1 << 64 * program.words) - 1
        self.wide = 64 in self.bits

    def function_body(self, block: Block, end: str) -> list[str]:
        """The lines of a function whose last line is `end`."""
        lines = self._flat(block) if _nesting(block) > MAX_NESTING else self._nested(block, 1)
        return [*lines, f"    {end}"]

    def _nested(self, block: Block, depth: int) -> list[str]:
        lines: list[str] = []
        margin = "    " * depth
        for item in _merged(block):
            if isinstance(item, Branch):
                lines.append(f"{margin}if r{item.cond}:")
                lines += self._nested(item.then, depth + 1) or [f"{margin}    pass"]
                if item.orelse:
                    lines += [f"{margin}else:", *self._nested(item.orelse, depth + 1)]
            else:
                lines += [margin + line for line in self._statements(item)]
        return lines

    def _flat(self, block: Block) -> list[str]:
        """Without nesting: a flag for each block says whether it runs."""
        lines: list[str] = []
        flags = 1
        work: list[tuple[int, list[Ins | Branch]]] = [(0, list(block)[::-1])]
        while work:
            flag, items = work[-1]
            run: list[Ins | Branch] = []
            while items and isinstance(items[-1], Ins):
                run.append(items.pop())
            statements = self._nested(tuple(run), 0)
            if statements:
                lines += [f"    if f{flag}:", *(f"        {line}" for line in statements)]
            if not items:
                work.pop()
                continue
            branch = items.pop()
            if isinstance(branch, Branch):
                then, orelse, flags = flags, flags + 1, flags + 2
                lines += [
                    f"    if f{flag}:",
                    f"        f{then} = r{branch.cond} != 0; f{orelse} = not f{then}",
                ]
                work += [(orelse, list(branch.orelse)[::-1]), (then, list(branch.then)[::-1])]
        setup = [f"    f{flag} = False" for flag in range(1, flags)]
        return ["    f0 = True", *setup, *lines]

    def _statements(self, item: Ins | _Masked) -> list[str]:
        if isinstance(item, _Masked):
            return [self._masked(item)]
        op, d, a = item.op, f"r{item.d}", f"r{item.a}"
        if op in EXPRESSIONS:
            return [f"{d} = {EXPRESSIONS[op].format(a=a, b=f'r{item.b}', imm=f'({item.imm})')}"]
        match op:
            case Op.LOAD:
                text = f"s >> {self.shifts[item.imm]} & {self.masks[item.imm]}"
                return [f"{d} = {text}", *self._signed(d, self.bits[item.imm] == 64)]
            case Op.LOADX:
                index = f"{a} + {item.imm}"
                return [f"i = {index}", f"{d} = s >> SHIFT[i] & MASK[i]", *self._signed(d, self.wide)]
            case Op.STORE:
                shift, mask = self.shifts[item.imm], self.masks[item.imm]
                return [f"s = s & {self.whole & ~(mask << shift):#x} | ({a} & {mask}) << {shift}"]
            case Op.STOREX:
                change = f"s = s & ~(MASK[i] << SHIFT[i]) | (r{item.b} & MASK[i]) << SHIFT[i]"
                return [f"i = {a} + {item.imm}", change]
            case Op.REQUIRE:
                return [f"if not {a}: return {NOT_ENABLED}"]
            case Op.FAULT:
                return [f"return {-2 - item.imm}"]
            case Op.CHECK:
                return [f"if not {a}: return {-2 - item.imm}"]
            case Op.RET:
                return [f"return {a} != 0"]
            case _:
                raise ValueError(f"no Python text for {op.name}")

    def _signed(self, register: str, may_be_negative: bool) -> list[str]:
        """A leaf of 64 bits fills a register, sign included."""
        return [f"if {register} >> 63: {register} -= {1 << 64}"] if may_be_negative else []

    def _masked(self, item: _Masked) -> str:
        """A run of TEST or of SETC as one operation on the whole state."""
        mask = value = 0
        for ins in item.run:
            shift, leaf_mask = self.shifts[ins.a], self.masks[ins.a]
            mine, wanted = leaf_mask << shift, ins.imm << shift
            if item.op is Op.TEST and (not 0 <= ins.imm <= leaf_mask or (value ^ wanted) & mask & mine):
                return f"return {NOT_ENABLED}"
            mask, value = mask | mine, value & ~mine | wanted & mine
        if item.op is Op.TEST:
            return f"if s & {mask:#x} != {value:#x}: return {NOT_ENABLED}"
        return f"s = s & {self.whole & ~mask:#x} | {value:#x}"


class _Masked:
    """A run of TEST, or of SETC."""

    def __init__(self, op: Op, run: list[Ins]) -> None:
        self.op = op
        self.run = run


def _merged(block: Iterable[Ins | Branch]) -> Iterator[Ins | Branch | _Masked]:
    """The items of a block with runs of TEST and of SETC gathered."""
    run: list[Ins] = []
    for item in block:
        if run and (isinstance(item, Branch) or item.op is not run[0].op):
            yield _Masked(run[0].op, run)
            run = []
        if isinstance(item, Ins) and item.op in (Op.TEST, Op.SETC):
            run.append(item)
        else:
            yield item
    if run:
        yield _Masked(run[0].op, run)


def _nesting(block: Block) -> int:
    """How deep the branches of a block nest; without recursion, for the deep ones are the point."""
    deepest = 0
    work: list[tuple[int, Block]] = [(0, block)]
    while work:
        depth, current = work.pop()
        deepest = max(deepest, depth)
        for item in current:
            if isinstance(item, Branch):
                work += [(depth + 1, item.then), (depth + 1, item.orelse)]
    return deepest


class PythonExplorer(Ledger[int]):
    """Explores a program with generated Python.

    The memory limit is kept to within the growth of one dictionary: Python does not tell ahead what it takes.
    """

    tier: str = "Python"

    def __init__(
        self,
        program: Program,
        *,
        memory_limit: int | None = None,
        seed: int = 0,
        canonical: Canonical | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        del seed  # accepted so that all tiers are made alike; Python's dictionary has a hash of its own
        counts = len(program.claims), len(program.actions), len(program.probes)
        super().__init__(*counts, None if canonical is None else canonical.of, chooser)
        names: dict[str, Any] = {}
        exec(compile(print_program(program), "<kvproto program>", "exec"), names)  # our own text
        self._successors: Callable[[int], list[tuple[int, int]]] = names["expand"]
        questions: list[Callable[[int], int]] = names["questions"]
        self._constraint = questions.pop() if program.constraint is not None else None
        self._terminal = questions.pop() if program.terminal is not None else None
        claims, probes = len(program.claims), len(program.probes)
        self._claims, self._probes = questions[:claims], questions[claims : claims + probes]
        self._predicates = questions[claims + probes :]
        self._limit = sys.maxsize if memory_limit is None else memory_limit
        self._bits = 64 * program.words

    def _held(self, packed: int) -> int:
        if packed < 0 or packed >> self._bits:
            raise ValueError(f"{packed:#x} is not a state of {self._bits // 64} words")
        return packed

    def packed(self, state: int) -> int:
        """The packed state with that number."""
        return self._known(state)

    def _room(self, number: int) -> bool:
        # Asking for the sizes costs as much as a transition, so ask now and then.
        return number % 64 != 0 or self.memory() < self._limit

    def _inside(self, number: int, state: int) -> bool:
        if self._constraint is None:
            return True
        verdict = self._constraint(state)
        if verdict < 0:
            self._hit(-2 - verdict, number, -1)
        return verdict > 0

    def _asks(self, probe: int, state: int) -> bool:
        return self._probes[probe](state) != 0

    def _tests(self, predicate: int, state: int) -> int:
        verdict = self._predicates[predicate](state)
        return 2 if verdict < 0 else int(verdict)

    def _expand(self, number: int, state: int) -> None:
        found = self._successors(state)
        for action, successor in found:
            if successor >= 0:
                self._found(successor, number, action)
            else:
                self._hit(-2 - successor, number, action)
        if not found and self._terminal is not None:
            verdict = self._terminal(state)
            if verdict < 0:
                self._hit(-2 - verdict, number, -1)
            elif not verdict:
                self._dead(number)

    def _judge(self, number: int, state: int) -> bool:
        violates = False
        for claim, holds in enumerate(self._claims):
            verdict = holds(state)
            if verdict < 0:
                self._hit(-2 - verdict, number, -1)
            elif not verdict:
                violates = True
                self._violated(claim, number)
        return violates

    def memory(self) -> int:
        """Bytes held, as far as Python says; the integers are counted at their full width."""
        count = len(self._order)
        each = 28 + self._bits // 8 + 32  # a state, and its number where that is an object of its own
        links = self._parents.itemsize + self._actions.itemsize
        return sys.getsizeof(self._numbers) + sys.getsizeof(self._order) + count * (each + links)
