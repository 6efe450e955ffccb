"""What the operations of a `Program` read and write, and the rules a program must keep.

Both compiled tiers refuse a program that breaks a rule, so a bug in the lowering shows up before a search.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.engine.program import Block, Branch, Ins, Op, Program

STORING = frozenset({Op.STORE, Op.STOREX, Op.SETC})
GUARDING = frozenset({Op.TEST, Op.REQUIRE})
BINARY = frozenset(Op(number) for number in range(Op.ADD, Op.HAS + 1))
UNARY = frozenset({Op.MOVE, Op.ADDI, Op.MULI, Op.EQI, Op.LTI, Op.NOT, Op.BIT, Op.POPCOUNT, Op.LOWBIT})
PURE = BINARY | UNARY | {Op.CONST, Op.LOAD, Op.LOADX}
"""Operations that do nothing but set r[d]."""
READS_A = BINARY | UNARY | {Op.LOADX, Op.STORE, Op.STOREX, Op.REQUIRE, Op.CHECK, Op.RET}
READS_B = BINARY | {Op.STOREX}


def registers_read(item: Ins | Branch) -> set[int]:
    """The registers that an instruction reads, or a branch anywhere inside of it."""
    read: set[int] = set()
    work = [item]
    while work:
        current = work.pop()
        if isinstance(current, Branch):
            read.add(current.cond)
            work.extend((*current.then, *current.orelse))
            continue
        if current.op in READS_A:
            read.add(current.a)
        if current.op in READS_B:
            read.add(current.b)
    return read


def validate(program: Program) -> None:
    """Raise `ValueError` for a program that breaks the rules of `program.py` in a way that can be seen."""
    if not 1 <= program.words < 65536:
        raise ValueError(f"a state cannot have {program.words} words")
    for number, x in enumerate(program.leaves):
        inside = 0 <= x.word < program.words and x.shift >= 0 and x.bits >= 1 and x.shift + x.bits <= 64
        if not inside:
            raise ValueError(f"leaf {number} lies outside of the state: {x}")
    if len(program.actions) >= 1 << 31:
        raise ValueError(f"{len(program.actions)} actions are too many")
    for number, block in enumerate(program.actions):
        _validate_block(program, block, frozenset({Op.RET}), f"action {number}")
    for name, block in _named_questions(program):
        _validate_block(program, block, STORING | GUARDING, name)
        if not _returns(block):
            raise ValueError(f"{name} can end without RET")


def _named_questions(program: Program) -> Iterator[tuple[str, Block]]:
    groups = (("claim", program.claims), ("probe", program.probes), ("predicate", program.predicates))
    for kind, blocks in groups:
        for number, block in enumerate(blocks):
            yield f"{kind} {number}", block
    if program.terminal is not None:
        yield "the terminal predicate", program.terminal
    if program.constraint is not None:
        yield "the constraint", program.constraint


def _validate_block(program: Program, block: Block, banned: frozenset[Op], name: str) -> None:
    written: set[int] = set()
    work = list(reversed(block))
    while work:
        item = work.pop()
        if isinstance(item, Branch):
            work.extend(reversed((*item.then, *item.orelse)))
            read = {item.cond}
        else:
            complaint = "is not allowed" if item.op in banned else _operand_complaint(program, item)
            if complaint:
                raise ValueError(f"{name}: {item.op.name} {complaint}")
            read = registers_read(item)
        if not read <= written:
            raise ValueError(f"{name}: register {min(read - written)} is read before it is set")
        if isinstance(item, Ins) and item.op in PURE:
            written.add(item.d)


def _operand_complaint(program: Program, ins: Ins) -> str:
    """What is wrong with leaf, fault and immediate numbers of an instruction; empty if nothing is."""
    op, imm, leaves = ins.op, ins.imm, len(program.leaves)
    if op in (Op.SETC, Op.TEST):  # any immediate will do: it is cut, or never equal
        return "" if 0 <= ins.a < leaves else f"of leaf {ins.a}, there are {leaves}"
    if op in (Op.LOAD, Op.STORE) and not 0 <= imm < leaves:
        return f"of leaf {imm}, there are {leaves}"
    if op in (Op.FAULT, Op.CHECK) and not 0 <= imm < program.faults:
        return f"of fault {imm}, there are {program.faults}"
    return "" if -(1 << 63) <= imm < 1 << 63 else f"of {imm}, which does not fit 64 bits"


def _returns(block: Block) -> bool:
    """Whether every way through the block meets RET or FAULT.  Without recursion: blocks may nest deeply."""
    verdicts: list[bool] = []
    work: list[tuple[Block, bool]] = [(block, False)]
    while work:
        current, seen = work.pop()
        branches = [x for x in current if isinstance(x, Branch)]
        if any(isinstance(x, Ins) and x.op in (Op.RET, Op.FAULT) for x in current):
            verdicts.append(True)
        elif not seen:
            work.append((current, True))
            for x in branches:
                work.extend(((x.then, False), (x.orelse, False)))
        else:
            count = 2 * len(branches)
            sides = verdicts[len(verdicts) - count :]
            del verdicts[len(verdicts) - count :]
            verdicts.append(any(sides[i] and sides[i + 1] for i in range(0, count, 2)))
    return verdicts[0]
