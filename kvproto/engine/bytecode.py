"""Packs a `Program` into what engine.c interprets: 16-byte slots, a leaf table and a guard table.

What happens to a block on the way:

- conditions at its head that depend on one small leaf leave the code and become *guards*, which the engine
  decides for all actions at once by table look-up;
- `Branch` becomes jumps; runs of `TEST` and of `SETC` become one masked test or store a word;
- operations whose result nobody reads any more are dropped;
- comparisons of leaves with constants, and branches and requirements on them, become masked tests as well;
- the virtual registers are mapped to as few real ones as are alive at a time.
"""

from __future__ import annotations

import heapq
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from kvproto.engine.guards import guard_table, split_guards
from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program
from kvproto.engine.rules import PURE, READS_A, READS_B, STORING, validate

MAX_REGISTERS = 65535


class Code(IntEnum):
    """Operation codes of engine.c, in the order of its `OPCODES`."""

    CONST = 0
    MOVE = 1
    LOAD = 2  # r[d] = word a >> b & imm
    LOADX = 3
    STORE = 4  # bits imm << b of word d = r[a]
    STOREX = 5
    PUT = 6  # word d = word d & ~mask | value; mask and value fill the next slot
    TEST = 7  # not enabled unless word d & mask == value; mask and value fill the next slot
    NEVER = 8  # not enabled
    REQUIRE = 9
    FAULT = 10
    CHECK = 11
    RET = 12
    JUMP = 13  # imm slots on
    JUMP_ZERO = 14  # imm slots on if r[a] == 0
    DONE = 15  # the successor is complete
    BEGIN1 = 16  # start of the private copy, by number of words
    BEGIN2 = 17
    BEGIN3 = 18
    BEGIN4 = 19
    BEGIN = 20
    IS = 21  # r[d] = word a & mask == value; mask and value fill the next slot
    JUMP_IS = 22  # imm slots on if word a & mask == value; mask and value fill the next slot
    JUMP_IS_NOT = 23
    JUMP_NONZERO = 24
    ADD = 25
    SUB = 26
    MUL = 27
    FLOORDIV = 28
    MOD = 29
    MIN = 30
    MAX = 31
    EQ = 32
    NE = 33
    LT = 34
    LE = 35
    BAND = 36
    BOR = 37
    BXOR = 38
    BANDN = 39
    HAS = 40
    ADDI = 41
    MULI = 42
    EQI = 43
    LTI = 44
    NOT = 45
    BIT = 46
    POPCOUNT = 47
    LOWBIT = 48


@dataclass(frozen=True, slots=True)
class Bytecode:
    """A program as engine.c takes it; `bytes` fields are arrays of its structures in native byte order."""

    words: int
    registers: int
    code: bytes
    leaf_table: bytes
    entries: tuple[int, ...]
    """First slot of each block: actions, then `Program.questions()`."""
    windows: tuple[tuple[int, int, int], ...]
    """Word, shift and number of bits of each window that guards look at."""
    guard_table: bytes
    guards: int
    faults: int


SLOT = struct.Struct("=HHHHq")
PAIR = struct.Struct("=QQ")
LEAF = struct.Struct("=QII")


def pack(program: Program) -> Bytecode:
    """The bytecode of a valid program (`ValueError` if it is not one)."""
    validate(program)
    packer = _Packer(program)
    heads = [split_guards(block, program.leaves) for block in program.actions]
    actions = tuple(packer.add(rest, stores=True) for _, rest in heads)
    questions = tuple(packer.add(block, stores=False) for block in program.questions())
    windows, table = guard_table([guards for guards, _ in heads], program.leaves)
    return Bytecode(
        words=program.words,
        registers=packer.registers,
        code=b"".join(packer.slots),
        leaf_table=b"".join(LEAF.pack((1 << x.bits) - 1, x.word, x.shift) for x in program.leaves),
        entries=actions + questions,
        windows=windows,
        guard_table=b"".join(table),
        guards=len(table),
        faults=program.faults,
    )


# --------------------------------------------------------------------------------------------------- code


@dataclass(slots=True)
class _Line:
    """One instruction before it has an address.  `label` is where a jump goes."""

    code: Code
    d: int = 0
    a: int = 0
    b: int = 0
    imm: int = 0
    op: Op | None = None
    """What it was: decides which of d, a and b are registers; None for what the packer inserts."""
    pair: tuple[int, int] | None = None
    label: _Label | None = None


@dataclass(slots=True, eq=False)
class _Label:
    """A place that jumps go to; `address` is known at the end."""

    address: int = -1


class _Packer:
    """Collects the code of all blocks."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.slots: list[bytes] = []
        self.registers = 1

    def add(self, block: Block, *, stores: bool) -> int:
        """Append a block; the number of its first slot."""
        lines = self._flatten(block, stores)
        _drop_unread(lines)
        lines = _fused(lines)
        self.registers = max(self.registers, _assign_registers(lines))
        start = len(self.slots)
        address = start
        for line in lines:
            if isinstance(line, _Label):
                line.address = address
            else:
                address += 1 if line.pair is None else 2
        for line in lines:
            if isinstance(line, _Line):
                self._emit(line)
        return start

    def _emit(self, line: _Line) -> None:
        imm = line.imm if line.label is None else line.label.address - len(self.slots)
        signed = imm - (1 << 64) if imm >= 1 << 63 else imm
        self.slots.append(SLOT.pack(line.code, line.d, line.a, line.b, signed))
        if line.pair is not None:
            self.slots.append(PAIR.pack(*line.pair))

    def _flatten(self, block: Block, stores: bool) -> list[_Line | _Label]:
        lines: list[_Line | _Label] = []
        copied = not stores
        for item in block:
            if not copied and _contains_store(item):
                # In front of what computes the operands, so that this can be joined with its reader.
                lines.insert(_end_of_effects(lines), _Line(_begin(self.program.words)))
                copied = True
            self._flatten_item(item, lines)
        if stores:
            if not copied:
                lines.append(_Line(_begin(self.program.words)))
            lines.append(_Line(Code.DONE))
        return lines

    def _flatten_item(self, item: Ins | Branch, lines: list[_Line | _Label]) -> None:
        """Append an item; with a stack of its own, because branches may nest deeper than Python recurses."""
        work: list[Ins | Branch | _Line | _Label] = [item]
        while work:
            current = work.pop()
            if isinstance(current, Branch):
                otherwise, end = _Label(), _Label()
                skip = [_Line(Code.JUMP, label=end)] if current.orelse else []
                test = _Line(Code.JUMP_ZERO, a=current.cond, op=Op.REQUIRE, label=otherwise)
                parts = [test, *current.then, *skip, otherwise, *current.orelse, end]
                work.extend(reversed(parts))
            elif isinstance(current, Ins):
                self._translate(current, lines)
            else:
                lines.append(current)

    def _translate(self, ins: Ins, lines: list[_Line | _Label]) -> None:
        leaves = self.program.leaves
        if ins.op is Op.TEST:
            _add_test(lines, leaves[ins.a], ins.imm)
        elif ins.op is Op.SETC:
            _add_put(lines, leaves[ins.a], ins.imm)
        elif ins.op is Op.LOAD:
            x = leaves[ins.imm]
            lines.append(_Line(Code.LOAD, ins.d, x.word, x.shift, (1 << x.bits) - 1, Op.LOAD))
        elif ins.op is Op.STORE:
            x = leaves[ins.imm]
            lines.append(_Line(Code.STORE, x.word, ins.a, x.shift, (1 << x.bits) - 1, Op.STORE))
        else:
            lines.append(_Line(Code[ins.op.name], ins.d, ins.a, ins.b, ins.imm, ins.op))


def _begin(words: int) -> Code:
    return {1: Code.BEGIN1, 2: Code.BEGIN2, 3: Code.BEGIN3, 4: Code.BEGIN4}.get(words, Code.BEGIN)


def _end_of_effects(lines: Sequence[_Line | _Label]) -> int:
    """Where the operations at the end of the lines begin that only compute."""
    end = len(lines)
    while end > 0 and isinstance(line := lines[end - 1], _Line) and line.op in PURE:
        end -= 1
    return end


def _contains_store(item: Ins | Branch) -> bool:
    work = [item]
    while work:
        current = work.pop()
        if isinstance(current, Branch):
            work.extend(current.then)
            work.extend(current.orelse)
        elif current.op in STORING:
            return True
    return False


def _run(lines: Sequence[_Line | _Label], code: Code, word: int) -> _Line | None:
    """The line for that word in the run of equal instructions at the end; they may be done in any order."""
    for line in reversed(lines):
        if isinstance(line, _Label) or line.code is not code:
            return None
        if line.d == word:
            return line
    return None


def _add_test(lines: list[_Line | _Label], leaf: Leaf, imm: int) -> None:
    if not 0 <= imm < 1 << leaf.bits:
        lines.append(_Line(Code.NEVER))
        return
    _add_masked_test(lines, leaf.word, ((1 << leaf.bits) - 1) << leaf.shift, imm << leaf.shift)


def _add_masked_test(lines: list[_Line | _Label], word: int, mask: int, value: int) -> None:
    line = _run(lines, Code.TEST, word)
    if line is None or line.pair is None:
        lines.append(_Line(Code.TEST, word, pair=(mask, value)))
    elif (line.pair[1] ^ value) & line.pair[0] & mask:
        lines.append(_Line(Code.NEVER))
    else:
        line.pair = (line.pair[0] | mask, line.pair[1] | value)


def _add_put(lines: list[_Line | _Label], leaf: Leaf, imm: int) -> None:
    mask = ((1 << leaf.bits) - 1) << leaf.shift
    value = imm << leaf.shift & mask
    line = _run(lines, Code.PUT, leaf.word)
    if line is None or line.pair is None:
        lines.append(_Line(Code.PUT, leaf.word, pair=(mask, value)))
    else:
        line.pair = (line.pair[0] | mask, line.pair[1] & ~mask | value)


def _drop_unread(lines: list[_Line | _Label]) -> None:
    """Drop what sets a register that no later line reads (later in the text: there are no loops)."""
    read: set[int] = set()
    kept: list[_Line | _Label] = []
    for line in reversed(lines):
        if isinstance(line, _Line) and line.op is not None:
            if line.op in PURE and line.d not in read:
                continue
            if line.op in READS_A:
                read.add(line.a)
            if line.op in READS_B:
                read.add(line.b)
        kept.append(line)
    lines[:] = reversed(kept)


def _fused(lines: Sequence[_Line | _Label]) -> list[_Line | _Label]:
    """Joins neighbours: what feeds only the next line is done by the next line.

    For instance LOAD, EQI, JUMP_ZERO becomes JUMP_IS_NOT, and BAND of two tests of a word one test.
    """
    reads: Counter[int] = Counter()
    writes: Counter[int] = Counter()
    for line in lines:
        if isinstance(line, _Line) and line.op is not None:
            reads.update(_registers_read(line))
            writes.update([line.d] if line.op in PURE else [])
    out: list[_Line | _Label] = []
    for line in lines:
        current = line
        while isinstance(current, _Line):  # what two lines became may be joined with the line before them
            feeders = _feeders(out, current, reads, writes)
            joined = _join(feeders, current)
            if joined is None:
                break
            del out[len(out) - len(feeders) :]
            current = joined
        if isinstance(current, _Line) and current.code is Code.TEST and current.pair is not None:
            _add_masked_test(out, current.d, *current.pair)
        else:
            out.append(current)
    return out


def _feeders(out: Sequence[_Line | _Label], line: _Line, reads: Counter[int], writes: Counter[int]) -> list[_Line]:
    """The lines just before `line` that compute what it reads, if that is read nowhere else."""
    wanted = _registers_read(line)
    found: list[_Line] = []
    for before in reversed(out[len(out) - len(wanted) :] if len(out) >= len(wanted) else ()):
        if isinstance(before, _Label) or before.op not in PURE or before.d not in wanted:
            return []
        if reads[before.d] != 1 or writes[before.d] != 1:
            return []
        found.insert(0, before)
    return found


def _join(feeders: Sequence[_Line], line: _Line) -> _Line | None:
    """One line for the feeders and the line, or None."""
    codes = tuple(feeder.code for feeder in feeders)
    first = feeders[0] if feeders else line
    if codes == (Code.LOAD,) and line.code in (Code.EQI, Code.NOT, Code.JUMP_ZERO, Code.REQUIRE):
        return _join_load(first, line)
    if codes == (Code.IS,) and line.code is Code.REQUIRE:
        return _Line(Code.TEST, first.a, pair=first.pair)
    if codes == (Code.IS,) and line.code in (Code.JUMP_ZERO, Code.JUMP_NONZERO):
        code = Code.JUMP_IS_NOT if line.code is Code.JUMP_ZERO else Code.JUMP_IS
        return _Line(code, a=first.a, pair=first.pair, label=line.label)
    if codes == (Code.NOT,) and line.code is Code.JUMP_ZERO:
        return _Line(Code.JUMP_NONZERO, a=first.a, op=Op.REQUIRE, label=line.label)
    if codes == (Code.IS, Code.IS) and line.code is Code.BAND:
        return _join_tests(first, feeders[1], line.d)
    return None


def _join_load(load: _Line, line: _Line) -> _Line | None:
    if line.code in (Code.EQI, Code.NOT):
        wanted = line.imm if line.code is Code.EQI else 0
        if not 0 <= wanted <= load.imm:
            # A leaf of 64 bits has its sign in its highest bit; any other leaf is never negative.
            return None if load.imm >> 63 else _Line(Code.CONST, line.d, op=Op.CONST)
        return _Line(Code.IS, line.d, load.a, op=Op.LOAD, pair=(load.imm << load.b, wanted << load.b))
    if line.code is Code.JUMP_ZERO:
        return _Line(Code.JUMP_IS, a=load.a, pair=(load.imm << load.b, 0), label=line.label)
    return None


def _join_tests(one: _Line, two: _Line, register: int) -> _Line | None:
    if one.a != two.a or one.pair is None or two.pair is None:
        return None
    if (one.pair[1] ^ two.pair[1]) & one.pair[0] & two.pair[0]:
        return _Line(Code.CONST, register, op=Op.CONST)
    pair = (one.pair[0] | two.pair[0], one.pair[1] | two.pair[1])
    return _Line(Code.IS, register, one.a, op=Op.LOAD, pair=pair)


def _assign_registers(lines: Sequence[_Line | _Label]) -> int:
    """Replace virtual registers by real ones; how many are needed.

    A register is taken from the first line that mentions it to the last: every run of the block is a
    subsequence of the lines, so this is safe with branches, too.
    """
    last: dict[int, int] = {}
    for number, line in enumerate(lines):
        for register in _mentioned(line):
            last[register] = number
    real: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for number, line in enumerate(lines):
        if isinstance(line, _Label) or line.op is None:
            continue
        for register in set(_registers_read(line)):
            if last[register] == number:  # the line reads before it writes, so it may write there itself
                heapq.heappush(free, real[register])
        if line.op in READS_A:
            line.a = real[line.a]
        if line.op in READS_B:
            line.b = real[line.b]
        if line.op in PURE:
            if line.d not in real:
                if not free:
                    heapq.heappush(free, count)
                    count += 1
                real[line.d] = heapq.heappop(free)
            line.d = real[line.d]
    if count > MAX_REGISTERS:
        raise ValueError(f"a block needs {count} registers at a time, more than {MAX_REGISTERS}")
    return count


def _registers_read(line: _Line) -> list[int]:
    found = [line.a] if line.op in READS_A else []
    if line.op in READS_B:
        found.append(line.b)
    return found


def _mentioned(line: _Line | _Label) -> list[int]:
    if isinstance(line, _Label) or line.op is None:
        return []
    return [*_registers_read(line), line.d] if line.op in PURE else _registers_read(line)
