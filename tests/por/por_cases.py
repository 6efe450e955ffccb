"""Programs made for one point of partial-order reduction each, and ways to search them."""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.engine.c_explorer import CExplorer, EngineUnavailable
from kvproto.engine.explorer import Explorer
from kvproto.engine.por import Chooser, Relations
from kvproto.engine.por.relations import relate
from kvproto.engine.program import Block, Branch, Ins, Leaf, Op, Program
from kvproto.engine.tier0 import PythonExplorer

FALSE: Block = (Ins(Op.CONST, d=0, imm=0), Ins(Op.RET, a=0))
"""As a terminal predicate: every state without a successor is a deadlock."""


def leaves(*bits: int) -> tuple[Leaf, ...]:
    """Leaves of so many bits, one behind the other."""
    return tuple(Leaf(0, sum(bits[:at]), width) for at, width in enumerate(bits))


def step(*tests: tuple[int, int], then: Sequence[tuple[int, int]]) -> Block:
    """Where leaves have certain values, give leaves values."""
    return (
        *(Ins(Op.TEST, a=leaf, imm=value) for leaf, value in tests),
        *(Ins(Op.SETC, a=leaf, imm=value) for leaf, value in then),
    )


def never(*values: tuple[int, int]) -> Block:
    """A claim: the leaves do not all have these values."""
    items: list[Ins | Branch] = []
    found = -1
    for at, (leaf, value) in enumerate(values):
        items += [Ins(Op.LOAD, d=3 * at, imm=leaf), Ins(Op.EQI, d=3 * at + 1, a=3 * at, imm=value)]
        if at:
            items.append(Ins(Op.BAND, d=3 * at + 2, a=3 * at + 1, b=found))
        found = 3 * at + 2 if at else 1
    last = 3 * len(values)
    return (*items, Ins(Op.NOT, d=last, a=found), Ins(Op.RET, a=last))


def independent(processes: int, steps: int) -> Program:
    """Processes that have nothing to do with each other, each with so many steps."""
    bits = steps.bit_length()
    actions = tuple(
        step((process, at), then=[(process, at + 1)]) for process in range(processes) for at in range(steps)
    )
    return Program(1, leaves(*[bits] * processes), actions, (), FALSE, 0)


def put_off() -> Program:
    """One process goes round and round; the other one has a single step, which violates the claim."""
    hit = step((0, 0), then=[(0, 1)])
    ring = (step((1, 0), then=[(1, 1)]), step((1, 1), then=[(1, 2)]), step((1, 2), then=[(1, 0)]))
    return Program(1, leaves(1, 2), (hit, *ring), (never((0, 1)),), None, 0)


def meeting() -> Program:
    """Two processes that are in their middle at once in some orders only, which the claim forbids."""
    actions = (
        step((0, 0), then=[(0, 1)]),
        step((0, 1), then=[(0, 2)]),
        step((1, 0), then=[(1, 1)]),
        step((1, 1), then=[(1, 2)]),
    )
    return Program(1, leaves(2, 2), actions, (never((0, 1), (1, 1)),), FALSE, 0)


def watcher() -> Program:
    """The same, but a third process looks for it: it can take its step only while both are in their middle."""
    two = meeting()
    third = step((0, 1), (1, 1), (2, 0), then=[(2, 1)])
    return Program(1, leaves(2, 2, 1), (third, *two.actions), (never((2, 1)),), FALSE, 0)


def last_writer() -> Program:
    """Two processes write one leaf; it is a deadlock if the second one writes last."""
    terminal = (Ins(Op.LOAD, d=0, imm=2), Ins(Op.EQI, d=1, a=0, imm=1), Ins(Op.RET, a=1))
    actions = (step((0, 0), then=[(0, 1), (2, 1)]), step((1, 0), then=[(1, 1), (2, 2)]))
    return Program(1, leaves(1, 1, 2), actions, (), terminal, 0)


def failing() -> Program:
    """A step fails only between two steps of another process."""
    fragile = (
        Ins(Op.TEST, a=1, imm=0),
        Ins(Op.LOAD, d=0, imm=0),
        Ins(Op.EQI, d=1, a=0, imm=1),
        Ins(Op.NOT, d=2, a=1),
        Ins(Op.CHECK, a=2, imm=0),
        Ins(Op.SETC, a=1, imm=1),
    )
    actions = (fragile, step((0, 0), then=[(0, 1)]), step((0, 1), then=[(0, 2)]))
    return Program(1, leaves(2, 1), actions, (), FALSE, 1)


def fenced() -> Program:
    """A state constraint that one order of two steps leaves early."""
    inside = never((0, 2), (1, 0))
    actions = (
        step((0, 0), then=[(0, 1)]),
        step((0, 1), then=[(0, 2)]),
        step((1, 0), then=[(1, 1)]),
        step((1, 1), (0, 2), then=[(1, 2)]),
    )
    return Program(1, leaves(2, 2), actions, (never((1, 2)),), None, 0, constraint=inside)


def queue(capacity: int, count: int) -> Program:
    """A process puts numbers into a queue, another one takes them out; too many at once are a fault."""
    length, first, sent, taken = 0, 1, 1 + capacity, 2 + capacity
    bits = count.bit_length()
    put: list[Ins | Branch] = [Ins(Op.LOAD, d=0, imm=sent), Ins(Op.LTI, d=1, a=0, imm=count), Ins(Op.REQUIRE, a=1)]
    put += [Ins(Op.LOAD, d=2, imm=length), Ins(Op.LTI, d=3, a=2, imm=capacity), Ins(Op.CHECK, a=3, imm=0)]
    put += [Ins(Op.STOREX, a=2, b=0, imm=first), Ins(Op.ADDI, d=4, a=2, imm=1), Ins(Op.STORE, a=4, imm=length)]
    put += [Ins(Op.ADDI, d=5, a=0, imm=1), Ins(Op.STORE, a=5, imm=sent)]
    take: list[Ins | Branch] = [Ins(Op.LOAD, d=0, imm=length), Ins(Op.REQUIRE, a=0), Ins(Op.LOAD, d=1, imm=first)]
    for at in range(first, first + capacity - 1):
        take += [Ins(Op.LOAD, d=2 + at, imm=at + 1), Ins(Op.STORE, a=2 + at, imm=at)]
    last = 2 + capacity + first
    take += [Ins(Op.SETC, a=first + capacity - 1, imm=0), Ins(Op.ADDI, d=last, a=0, imm=-1)]
    take += [Ins(Op.STORE, a=last, imm=length), Ins(Op.STORE, a=1, imm=taken)]
    places = leaves(capacity.bit_length(), *[bits] * (capacity + 2))
    return Program(1, places, (tuple(put), tuple(take)), (), FALSE, 1)


CASES = {
    "independent": independent(3, 3),
    "put off": put_off(),
    "meeting": meeting(),
    "watcher": watcher(),
    "last writer": last_writer(),
    "failing": failing(),
    "fenced": fenced(),
    "queue": queue(3, 3),
    "full queue": queue(2, 4),
}


# --- searching -------------------------------------------------------------------------------------------


def has_engine() -> bool:
    """Whether the C engine works here."""
    try:
        CExplorer(Program(1, (Leaf(0, 0, 1),), (), (), None, 0)).close()
    except EngineUnavailable:
        return False
    return True


def explore(explorer: Explorer, initial: Sequence[int], limit: int | None = None) -> bool:
    """Search until nothing is left; False beyond the limit."""
    explorer.start(initial)
    while explorer.frontier():
        if limit is not None and explorer.states() > limit:
            return False
        explorer.advance(100)
    return True


def in_full(program: Program, initial: Sequence[int] = (0,), limit: int | None = None) -> Explorer | None:
    """A search of all states, None beyond the limit."""
    explorer = CExplorer(program) if has_engine() else PythonExplorer(program)
    return explorer if explore(explorer, initial, limit) else None


def reduced(program: Program, initial: Sequence[int] = (0,), tables: Relations | None = None) -> PythonExplorer:
    """A reduced search in Python; with tables that may be wrong it may miss things."""
    explorer = PythonExplorer(program, chooser=Chooser(tables or relate(program)))
    explore(explorer, initial)
    return explorer


def verdicts(explorer: Explorer, program: Program) -> dict[str, object]:
    """Everything that a reduction must not change."""
    return {
        "violated": [explorer.violation(claim) is not None for claim in range(len(program.claims))],
        "witnessed": [explorer.witness(probe) is not None for probe in range(len(program.probes))],
        "faults": [hit.fault for hit in explorer.faults()],
        "deadlock": explorer.deadlock() is not None,
        "fired": [count > 0 for count in explorer.fired()],
    }


def history(explorer: Explorer) -> dict[str, object]:
    """Everything that must be the same in all tiers."""
    return {
        "states": [explorer.packed(state) for state in range(explorer.states())],
        "paths": [explorer.path(state) for state in range(explorer.states())],
        "transitions": explorer.transitions(),
        "fired": explorer.fired(),
        "faults": explorer.faults(),
        "deadlock": explorer.deadlock(),
        "level": explorer.level(),
        "depth": explorer.depth(),
        "outside": explorer.outside(),
    }
