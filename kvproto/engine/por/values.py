"""Values of registers and cells, as functions of the state in which an action begins.

A `Value` is a list of cases, each a region and what the value is there: a table over one cell, or a constant.  Cases
cover all states and may overlap; in a state the value is that of some case whose region holds.  Where there would
be too many cases only the atoms remain that the value depends on.  Truth is kept apart from cases, because
conditions come as long conjunctions: `zero` and `nonzero` cover the states where the value is 0, or is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvproto.engine.por.cells import (
    ALWAYS,
    EVERYWHERE,
    Atom,
    Cells,
    Cover,
    Region,
    cross,
    crossed,
    limited,
    meet,
    members,
    simplified,
)
from kvproto.engine.program import Op
from kvproto.engine.rules import BINARY

MOST_CASES = 16
"""A value with more cases is only known by its atoms."""

MOST_REGIONS = 192
"""A condition that would be covered by more regions is covered by one: enough for long claims."""

TRUTHS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.HAS, Op.EQI, Op.LTI, Op.NOT})
"""Operations that give 0 or 1."""

Simple = tuple[int, int]
"""(cell, table), or (-1, number) for a constant."""

Cases = tuple[tuple[Region, Simple], ...]

Span = tuple[int, int]

Bit = int | Atom
"""0, 1, or an atom with a table of zeros and ones."""

Atoms = Mapping[Atom, Cover]
"""What is looked at, and in which states: a condition that is false already makes others not matter."""

NO_ATOMS: Atoms = {}

Judged = tuple[Cover, bool]
"""Regions with certain states, and whether they contain no others."""

TIGHT = (True, True)

MOST_OCCASIONS = 4
"""More regions in which an atom matters are taken as one."""


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a number.

    `atoms` decide which case holds, and what the value is where there are no cases.
    """

    cases: Cases | None
    zero: Cover
    nonzero: Cover
    truth: bool
    """Whether it is certainly 0 or 1."""
    tight: tuple[bool, bool] = (False, False)
    """Whether `zero`, and whether `nonzero`, contain nothing else."""
    atoms: Atoms = field(default_factory=dict)
    bits: tuple[Bit, ...] | None = None
    """What each bit is, lowest first, if that is known although there are no cases: for sets."""
    span: Span | None = None
    """The smallest and the largest number it can be, if nothing better is known."""

    @property
    def simple(self) -> Simple | None:
        """The only case, if that is all there is to say."""
        if self.cases is not None and len(self.cases) == 1 and not self.cases[0][0] and not self.atoms:
            return self.cases[0][1]
        return None

    @property
    def known(self) -> int | None:
        """The number, if it is the same in all states."""
        simple = self.simple
        return simple[1] if simple is not None and simple[0] < 0 else None

    @property
    def all_atoms(self) -> Atoms:
        """Everything that the value depends on."""
        if self.cases is None:
            return self.atoms
        return together(self.atoms, *({simple: (region,)} for region, simple in self.cases if simple[0] >= 0))


def constant(number: int) -> Value:
    """A number known beforehand."""
    zero, nonzero = ((), ALWAYS) if number else (ALWAYS, ())
    return Value(((EVERYWHERE, (-1, number)),), zero, nonzero, number in (0, 1), TIGHT)


def unknown(atoms: Atoms, *, truth: bool = False) -> Value:
    """Something that depends on these atoms."""
    return Value(None, ALWAYS, ALWAYS, truth=truth, atoms=atoms)


def together(*parts: Atoms) -> Atoms:
    """All of these."""
    some = [part for part in parts if part]
    if len(some) <= 1:
        return some[0] if some else NO_ATOMS
    result: dict[Atom, Cover] = {}
    for part in some:
        for atom, cover in part.items():
            mine = result.get(atom)
            result[atom] = cover if mine is None else simplified((*mine, *cover), MOST_OCCASIONS)
    return result


def under(atoms: Atoms, cover: Cover) -> Atoms:
    """These, as far as they matter in the states of a cover."""
    if cover == ALWAYS:
        return atoms
    limited = ((atom, cross(mine, cover, MOST_OCCASIONS)) for atom, mine in atoms.items())
    return {atom: cover for atom, cover in limited if cover}


class Values:
    """Operations on values over the cells of a program; covers have at most so many regions."""

    def __init__(self, cells: Cells, most: int = MOST_REGIONS) -> None:
        self.cells = cells
        self.most = most
        self._made: dict[Simple, Value] = {}

    # --- making ---------------------------------------------------------------------------------------

    def identity(self, cell: int) -> Value:
        """The cell as it was when the action began."""
        return self.of_simple((cell, self.cells.identities[cell]))

    def of_simple(self, simple: Simple) -> Value:
        """A table over one cell, or a constant."""
        cell, table = simple
        if cell < 0:
            return constant(table)
        found = self._made.get(simple)
        if found is None:
            numbers = [self.cells.tables[table][at] for at in members(self.cells.values(cell))]
            zero = self.cells.where(table, lambda number: number == 0) & self.cells.values(cell)
            nonzero = self.cells.values(cell) & ~zero
            if len(set(numbers)) == 1:
                found = constant(numbers[0])
            else:
                covers = ({cell: zero},) if zero else (), ({cell: nonzero},) if zero else ALWAYS
                found = Value(((EVERYWHERE, simple),), *covers, set(numbers) <= {0, 1}, TIGHT)
            self._made[simple] = found
        return found

    def of_bits(self, bits: Sequence[Bit]) -> Value:
        """The number with these bits."""
        fixed = [bit for bit in bits if isinstance(bit, int)]
        if len(fixed) == len(bits):
            return constant(sum(bit << at for at, bit in enumerate(fixed)))
        zero, nonzero, tight = self._equal_bits(bits, 0)
        atoms = {bit: ALWAYS for bit in bits if not isinstance(bit, int)}
        return Value(None, zero, nonzero, len(bits) == 1, tight, atoms, tuple(bits))

    def of_bit(self, bit: Bit) -> Value:
        """A single bit as a number."""
        return constant(bit) if isinstance(bit, int) else self.of_simple(bit)

    def of_cases(self, cases: Iterable[tuple[Region, Simple]], atoms: Atoms) -> Value:
        """A value by cases; equal ones are joined."""
        grouped: dict[Simple, list[Region]] = {}
        for region, simple in cases:
            grouped.setdefault(simple, []).append(region)
        joined = [(r, s) for s, regions in grouped.items() for r in simplified(regions, MOST_CASES)]
        truth = all(self.of_simple(simple).truth for simple in grouped)
        if len(joined) > MOST_CASES:
            rest = unknown(together(atoms, *({s: (r,)} for r, s in joined if s[0] >= 0)), truth=truth)
            ends = [self._ends(simple) for simple in grouped]
            return replace(rest, span=(min(low for low, _ in ends), max(high for _, high in ends)))
        parts = [(region, self.of_simple(simple)) for region, simple in joined]
        zero, nonzero = (
            simplified([b for r, v in parts for p in getattr(v, side) if (b := meet(r, p)) is not None], self.most)
            for side in ("zero", "nonzero")
        )
        return Value(tuple(joined), zero, nonzero, truth=truth, atoms=atoms)

    # --- combining ------------------------------------------------------------------------------------

    def choose(self, test: Value, then: Value, orelse: Value) -> Value:
        """`then` where `test` is not 0, else `orelse`."""
        if then == orelse:
            return then
        if test.known is not None:
            return then if test.known else orelse
        table = self._one_table(test.simple, then.simple, orelse.simple)
        if table is not None:
            return self.of_simple(table)
        sides = ((test.nonzero, then), (test.zero, orelse))
        atoms = together(test.all_atoms, *(under(value.atoms, cover) for cover, value in sides))
        if then.cases is None or orelse.cases is None:
            found = unknown(together(atoms, *(under(value.all_atoms, cover) for cover, value in sides)))
            found = replace(found, span=_hull_of(self.span(then), self.span(orelse)))
        else:
            parts = [(part, case) for cover, value in sides for part in cover for case in value.cases or ()]
            cases = [(m, s) for part, (r, s) in parts if (m := meet(part, r)) is not None]
            found = self.of_cases(cases, atoms)
        zero, nonzero = (
            self.either(
                *(self.both(part, truth) for part, truth in zip((_true(test), _false(test)), ways, strict=True))
            )
            for ways in ((_false(then), _false(orelse)), (_true(then), _true(orelse)))
        )
        return _judged(found, zero, nonzero, truth=then.truth and orelse.truth)

    def _one_table(self, test: Simple | None, then: Simple | None, orelse: Simple | None) -> Simple | None:
        """A choice between tables over the cell that the test looks at."""
        if test is None or then is None or orelse is None:
            return None
        if then[0] not in (-1, test[0]) or orelse[0] not in (-1, test[0]):
            return None
        picks = self.cells.tables[test[1]]
        one, two = (self._numbers(simple, len(picks)) for simple in (then, orelse))
        return test[0], self.cells.table(tuple(x if pick else y for pick, x, y in zip(picks, one, two, strict=True)))

    def _numbers(self, simple: Simple, size: int) -> tuple[int, ...]:
        return (simple[1],) * size if simple[0] < 0 else self.cells.tables[simple[1]]

    def operation(self, op: Op, a: Value, b: Value, imm: int) -> Value:
        """The result of a computing operation; `b` does not matter where it takes one operand."""
        if op is Op.MOVE:
            return a
        if op in BINARY:
            found = self._logical(op, a, b) or self._bitwise(op, a, b) or self._binary(op, a, b)
        else:
            found = self._of_set(op, a, imm) or self._unary(op, a, imm)
        if found.cases is None and not found.truth and found.bits is None:
            return replace(found, span=span_of(op, self.span(a), self.span(b), imm))
        return found

    def span(self, value: Value) -> Span | None:
        """The smallest and the largest number that a value can be, None if nobody knows."""
        if value.cases is not None:
            ends = [self._ends(simple) for _, simple in value.cases] or [(0, 0)]
            return min(low for low, _ in ends), max(high for _, high in ends)
        if value.truth:
            return 0, 1
        return value.span if value.bits is None else (0, (1 << len(value.bits)) - 1)

    def _ends(self, simple: Simple) -> Span:
        cell, table = simple
        if cell < 0:
            return table, table
        numbers = [self.cells.tables[table][at] for at in members(self.cells.values(cell))]
        return min(numbers), max(numbers)

    def _unary(self, op: Op, a: Value, imm: int) -> Value:
        if a.simple is not None:
            return self.of_simple(self._applied(op, a.simple, (-1, 0), imm))
        if a.cases is None:
            result = unknown(a.atoms, truth=op in TRUTHS)
        else:
            result = self.of_cases(((r, self._applied(op, s, (-1, 0), imm)) for r, s in a.cases), a.atoms)
        return _judged(result, _true(a), _false(a), truth=True) if op is Op.NOT else result

    def _binary(self, op: Op, a: Value, b: Value) -> Value:
        if a.simple is not None and b.simple is not None and _one_cell(a.simple, b.simple):
            return self.of_simple(self._applied(op, a.simple, b.simple, 0))
        nothing = unknown(together(a.all_atoms, b.all_atoms), truth=op in TRUTHS)
        if a.cases is None or b.cases is None:
            return nothing
        cases: list[tuple[Region, Simple]] = []
        looked: dict[Simple, list[Region]] = {}
        pairs = ((meet(r, q), x, y) for r, x in a.cases for q, y in b.cases)
        for both, x, y in pairs:
            if both is None:
                continue
            split = self._split(op, x, y)
            if len(cases) + len(split) > 4 * MOST_CASES:
                return nothing
            for s in (x, y):
                if any(s[0] in region for region, _ in split):
                    looked.setdefault(s, []).append(both)
            cases += [(region, s) for part, s in split if (region := meet(both, part)) is not None]
        splits = {atom: simplified(regions, MOST_OCCASIONS) for atom, regions in looked.items()}
        return self.of_cases(cases, together(a.atoms, b.atoms, splits))

    def _split(self, op: Op, x: Simple, y: Simple) -> list[tuple[Region, Simple]]:
        """The operation on two simple values; by cases of one of them where they look at different cells."""
        if _one_cell(x, y):
            return [(EVERYWHERE, self._applied(op, x, y, 0))]
        left, right = (self.cells.classes(s[1], self.cells.values(s[0])) for s in (x, y))
        if len(left) <= len(right):
            return [({x[0]: part}, self._applied(op, (-1, number), y, 0)) for number, part in left.items()]
        return [({y[0]: part}, self._applied(op, x, (-1, number), 0)) for number, part in right.items()]

    def _applied(self, op: Op, x: Simple, y: Simple, imm: int) -> Simple:
        """The operation on simple values over at most one cell."""
        cell = max(x[0], y[0])
        if cell < 0:
            one, two = (self.cells.table((s[1],)) for s in (x, y))
            return -1, self.cells.tables[self.cells.computed(op, one, two, imm)][0]
        one, two = (self.cells.constant(cell, s[1]) if s[0] < 0 else s[1] for s in (x, y))
        table = self.cells.computed(op, one, two, imm)
        numbers = self.cells.tables[table]
        return (-1, numbers[0]) if len(set(numbers)) == 1 else (cell, table)

    # --- conditions and sets --------------------------------------------------------------------------

    def _logical(self, op: Op, a: Value, b: Value) -> Value | None:
        """`and` and `or` of conditions over different cells: their cases are not multiplied."""
        if op not in (Op.BAND, Op.BOR) or not a.truth or not b.truth:
            return None
        if a.simple is not None and b.simple is not None and _one_cell(a.simple, b.simple):
            return None
        if op is Op.BAND:
            zero, nonzero = self.either(_false(a), _false(b)), self.both(_true(a), _true(b))
        else:
            zero, nonzero = self.both(_false(a), _false(b)), self.either(_true(a), _true(b))
        cases = (*((region, (-1, 0)) for region in zero[0]), *((region, (-1, 1)) for region in nonzero[0]))
        few = cases if len(cases) <= MOST_CASES else None
        # As if `b`, which comes first in what lowering writes, were looked at first, and `a` only if that decides.
        second = under(a.all_atoms, b.nonzero if op is Op.BAND else b.zero)
        found = unknown(together(b.all_atoms, second))
        return _judged(replace(found, cases=few), zero, nonzero, truth=True)

    def _bits_of(self, value: Value) -> tuple[Bit, ...] | None:
        """The bits of a number that is not negative; None where they are not known one by one."""
        simple = value.simple
        if value.bits is not None or simple is None:
            return value.bits
        numbers = self._numbers(simple, 1)
        if min(numbers) < 0:
            return None
        picks = [tuple(number >> at & 1 for number in numbers) for at in range(max(numbers).bit_length())]
        return tuple(p[0] if len(set(p)) == 1 else (simple[0], self.cells.table(p)) for p in picks)

    def _bitwise(self, op: Op, a: Value, b: Value) -> Value | None:
        """Operations on sets whose members are known one by one."""
        if a.bits is None and b.bits is None and not self._disjoint(op, a, b):
            return None
        one, two = self._bits_of(a), self._bits_of(b)
        if op is Op.HAS and b.known is not None and one is not None:
            return self.of_bit(one[b.known]) if 0 <= b.known < len(one) else constant(0)
        if op not in (Op.BAND, Op.BOR, Op.BXOR, Op.BANDN) or one is None or two is None:
            return None
        width = max(len(one), len(two))
        bits: list[Bit] = []
        for x, y in zip(_padded(one, width), _padded(two, width), strict=True):
            left, right = ((-1, bit) if isinstance(bit, int) else bit for bit in (x, y))
            if not _one_cell(left, right):
                return None
            cell, number = self._applied(op, left, right, 0)
            bits.append(number & 1 if cell < 0 else (cell, number))
        return self.of_bits(bits)

    def _disjoint(self, op: Op, a: Value, b: Value) -> bool:
        """Whether two members of different cells are put together: the beginning of a set."""
        if op is not Op.BOR or a.simple is None or b.simple is None or _one_cell(a.simple, b.simple):
            return False
        return not a.truth or not b.truth

    def _of_set(self, op: Op, a: Value, imm: int) -> Value | None:
        """Moving a set by some places, and comparing it with another one."""
        if a.bits is None:
            return None
        if op is Op.MULI and imm > 0 and imm & (imm - 1) == 0:
            return self.of_bits((*[0] * (imm.bit_length() - 1), *a.bits))
        if op not in (Op.EQI, Op.NOT):
            return None
        same, other, (tight, certain) = self._equal_bits(a.bits, imm if op is Op.EQI else 0)
        return Value(None, other, same, True, (certain, tight), a.atoms)

    def _equal_bits(self, bits: Sequence[Bit], number: int) -> tuple[Cover, Cover, tuple[bool, bool]]:
        """Where the bits are those of a number, and where not; and whether that is all there is in these covers."""
        if number < 0 or number >> len(bits):
            return (), ALWAYS, TIGHT
        same: Judged = ALWAYS, True
        other: Judged = (), True
        for at, bit in enumerate(bits):
            value = self.of_bit(bit)
            ways = (_true(value), _false(value)) if number >> at & 1 else (_false(value), _true(value))
            same, other = self.both(same, ways[0]), self.either(other, ways[1])
        return same[0], other[0], (same[1], other[1])

    def both(self, one: Judged, two: Judged) -> Judged:
        """The states in both covers."""
        cover, same = crossed(one[0], two[0], self.most)
        return cover, same and one[1] and two[1]

    def either(self, one: Judged, two: Judged) -> Judged:
        """The states in one of two covers."""
        cover, same = limited((*one[0], *two[0]), self.most)
        return cover, same and one[1] and two[1]


def _true(value: Value) -> Judged:
    return value.nonzero, value.tight[1]


def _false(value: Value) -> Judged:
    return value.zero, value.tight[0]


def _judged(value: Value, zero: Judged, nonzero: Judged, *, truth: bool) -> Value:
    """The value with better knowledge of where it is 0."""
    tight = zero[1], nonzero[1]
    return replace(value, zero=zero[0], nonzero=nonzero[0], truth=truth, tight=tight)


def span_of(op: Op, a: Span | None, b: Span | None, imm: int) -> Span | None:
    """The smallest and the largest result of an operation on numbers from these spans."""
    if a is None or (b is None and op in BINARY):
        return None
    low, high = a
    match op:
        case Op.ADDI:
            return low + imm, high + imm
        case Op.MULI:
            return min(low * imm, high * imm), max(low * imm, high * imm)
        case Op.POPCOUNT:
            return 0, max(high, 0).bit_length()
        case Op.LOWBIT:
            return 0, max(high.bit_length() - 1, 0)
    assert b is not None or op not in BINARY
    if b is None:
        return None
    match op:
        case Op.ADD:
            return low + b[0], high + b[1]
        case Op.SUB:
            return low - b[1], high - b[0]
        case Op.MIN:
            return min(low, b[0]), min(high, b[1])
        case Op.MAX:
            return max(low, b[0]), max(high, b[1])
        case Op.MUL:
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case Op.MOD if b[0] > 0:
            return 0, b[1] - 1
        case Op.BAND | Op.BOR | Op.BXOR if low >= 0 and b[0] >= 0:
            return 0, min(high, b[1]) if op is Op.BAND else (1 << max(high, b[1]).bit_length()) - 1
        case _:
            return None


def _hull_of(one: Span | None, two: Span | None) -> Span | None:
    return None if one is None or two is None else (min(one[0], two[0]), max(one[1], two[1]))


def _one_cell(x: Simple, y: Simple) -> bool:
    return x[0] < 0 or y[0] < 0 or x[0] == y[0]


def _padded(bits: tuple[Bit, ...], width: int) -> tuple[Bit, ...]:
    return bits + (0,) * (width - len(bits))
