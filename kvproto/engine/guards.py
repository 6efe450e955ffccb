"""Finds the conditions that engine.c decides by table look-up instead of running code.

A guard is a condition at the head of an action that depends on one small leaf: a set of values that pass.
Guards of all actions are decided at once, see `find_candidates` in engine.c.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvproto.engine.program import Block, Branch, Ins, Leaf, Op
from kvproto.engine.rules import BINARY, GUARDING, PURE

GUARD = struct.Struct("=IIII4Q")
"""Action, window, shift in the window, bits, set of values that pass: `guard` of engine.c."""

GUARD_BITS = 8
"""Guards look at leaves of at most so many bits; windows are at most so wide (WINDOW_BITS in engine.c)."""

MANY_ACTIONS = 512
"""With more actions the rows of a window are long, so windows of several leaves are kept narrow."""

EVALUATED_BITS = 6
"""A computed condition becomes a guard by trying all values of its leaf; this bounds the work."""

ALL_ONES = (1 << 64) - 1
ALL_VALUES = (1 << (1 << GUARD_BITS)) - 1


@dataclass(frozen=True, slots=True)
class _Known:
    """A register that depends on one leaf: its value for each value of the leaf (no leaf: a constant)."""

    leaf: int | None
    values: tuple[int, ...]


EVALUATE: dict[Op, Callable[[int, int, int], int]] = {
    Op.MOVE: lambda a, _b, _imm: a,
    Op.ADD: lambda a, b, _imm: a + b,
    Op.SUB: lambda a, b, _imm: a - b,
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
    Op.HAS: lambda a, b, _imm: (a >> b) & 1 if 0 <= b < 64 else 0,
    Op.ADDI: lambda a, _b, imm: a + imm,
    Op.EQI: lambda a, _b, imm: int(a == imm),
    Op.LTI: lambda a, _b, imm: int(a < imm),
    Op.NOT: lambda a, _b, _imm: int(a == 0),
    Op.BIT: lambda a, _b, _imm: 1 << a if 0 <= a < 63 else 0,
    Op.POPCOUNT: lambda a, _b, _imm: a.bit_count(),
}
"""What may be evaluated ahead.  A value that the rules forbid (say a negative shift) cannot occur where the
code runs, so what is answered for it does not matter; what could fail or grow is left out."""


def split_guards(block: Block, leaves: Sequence[Leaf]) -> tuple[dict[int, int], Block]:
    """The guards at the head of an action (leaf -> bit set of values that pass) and the rest of it.

    Only up to the first store, fault or branch: what comes later is not decided by the state alone.
    """
    guards: dict[int, int] = {}
    known: dict[int, _Known] = {}
    rest: list[Ins | Branch] = []
    for position, item in enumerate(block):
        if isinstance(item, Branch) or item.op not in PURE | GUARDING:
            rest.extend(block[position:])
            break
        passing = _passing(item, known, leaves)
        if passing is None:
            rest.append(item)
        else:
            leaf, values = passing
            guards[leaf] = guards.get(leaf, ALL_VALUES) & values
        if item.op in PURE:
            value = _evaluated(item, known, leaves)
            if value is None:
                known.pop(item.d, None)
            else:
                known[item.d] = value
    return guards, tuple(rest)


def _passing(item: Ins, known: dict[int, _Known], leaves: Sequence[Leaf]) -> tuple[int, int] | None:
    """The leaf and the set of its values for which a TEST or REQUIRE passes, if a guard can say it."""
    if item.op is Op.TEST and leaves[item.a].bits <= GUARD_BITS:
        return item.a, 1 << item.imm if 0 <= item.imm < 1 << leaves[item.a].bits else 0
    if item.op is Op.REQUIRE and item.a in known:
        leaf, values = known[item.a].leaf, known[item.a].values
        if leaf is not None:
            return leaf, sum(1 << number for number, value in enumerate(values) if value != 0)
    return None


def _evaluated(item: Ins, known: dict[int, _Known], leaves: Sequence[Leaf]) -> _Known | None:
    if item.op is Op.CONST:
        return _Known(None, (item.imm,))
    if item.op is Op.LOAD:
        bits = leaves[item.imm].bits
        return _Known(item.imm, tuple(range(1 << bits))) if bits <= EVALUATED_BITS else None
    function = EVALUATE.get(item.op)
    a = known.get(item.a)
    b = known.get(item.b) if item.op in BINARY else _Known(None, (0,))
    if function is None or a is None or b is None:
        return None
    if a.leaf is not None and b.leaf is not None and a.leaf != b.leaf:
        return None
    size = max(len(a.values), len(b.values))
    left = a.values if a.leaf is not None else a.values * size
    right = b.values if b.leaf is not None else b.values * size
    leaf = a.leaf if a.leaf is not None else b.leaf
    return _Known(leaf, tuple(function(x, y, item.imm) for x, y in zip(left, right, strict=True)))


def guard_table(
    guards: Sequence[dict[int, int]], leaves: Sequence[Leaf]
) -> tuple[tuple[tuple[int, int, int], ...], list[bytes]]:
    """Windows that cover all guarded leaves, and the guards as engine.c takes them."""
    used = {leaf for action in guards for leaf in action}
    widest = GUARD_BITS if len(guards) <= MANY_ACTIONS else GUARD_BITS // 2
    windows: list[tuple[int, int, int]] = []
    window_of: dict[int, int] = {}
    for leaf in sorted(used, key=lambda number: (leaves[number].word, leaves[number].shift)):
        x = leaves[leaf]
        word, shift, bits = windows[-1] if windows else (-1, 0, 0)
        reach = x.shift + x.bits - shift
        if x.word == word and reach <= max(bits, widest):
            windows[-1] = (word, shift, max(bits, reach))
        else:
            windows.append((x.word, x.shift, x.bits))
        window_of[leaf] = len(windows) - 1
    table = []
    for action, mine in enumerate(guards):
        for leaf, values in mine.items():
            x, window = leaves[leaf], window_of[leaf]
            allowed = [values >> 64 * part & ALL_ONES for part in range(4)]
            table.append(GUARD.pack(action, window, x.shift - windows[window][1], x.bits, *allowed))
    return tuple(windows), table
