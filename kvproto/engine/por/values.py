"""Values of registers and cells, as functions of the state in which an action begins.

A `Value` is a list of cases, each a region and what the value is there: a table over one cell, or a constant.  Cases
cover all states and may overlap; in a state the value is that of some case whose region holds.  Where there would be too
many cases only the atoms remain that the value depends on.  Truth is kept apart from cases, because conditions come as
long conjunctions: `zero` and `nonzero` cover the states where the value is 0, or is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kvproto.engine.por.cells import ALWAYS, EVERYWHERE, Atom, Cells, Cover, Region, cross, meet, simplified
from kvproto.engine.program import Op
from kvproto.engine.rules import BINARY

MOST_CASES = 16
"""A value with more cases is only known by its atoms."""

MOST_REGIONS = 192
"""A truth value whose cover would have more regions is covered by one."""

TRUTHS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.HAS, Op.EQI, Op.LTI, Op.NOT})
"""Operations that give 0 or 1."""

Simple = tuple[int, int]
"""(cell, table), or (-1, number) for a constant."""

Cases = tuple[tuple[Region, Simple], ...]

Bit = int | Atom
"""0, 1, or an atom with a table of zeros and ones."""

NO_ATOMS: frozenset[Atom] = frozenset()


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
    atoms: frozenset[Atom] = NO_ATOMS
    bits: tuple[Bit, ...] | None = None
    """What each bit is, lowest first, if that is known although there are no cases: for sets."""

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
    def all_atoms(self) -> frozenset[Atom]:
        """Everything that the value depends on."""
        return self.atoms | {simple for _, simple in self.cases or () if simple[0] >= 0}


def constant(number: int) -> Value:
    """A number known beforehand."""
    zero, nonzero = ((), ALWAYS) if number else (ALWAYS, ())
    return Value(((EVERYWHERE, (-1, number)),), zero, nonzero, truth=number in (0, 1))


def unknown(atoms: Iterable[Atom], *, truth: bool = False) -> Value:
    """Something that depends on these atoms."""
    return Value(None, ALWAYS, ALWAYS, truth=truth, atoms=frozenset(atoms))


class Values:
    """Operations on values over the cells of a program."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
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
            numbers = self.cells.tables[table]
            zero = self.cells.where(table, lambda number: number == 0)
            nonzero = self.cells.values(cell) & ~zero
            if len(set(numbers)) == 1:
                found = constant(numbers[0])
            else:
                covers = ({cell: zero},) if zero else (), ({cell: nonzero},) if zero else ALWAYS
                found = Value(((EVERYWHERE, simple),), *covers, truth=set(numbers) <= {0, 1})
            self._made[simple] = found
        return found

    def of_bits(self, bits: Sequence[Bit]) -> Value:
        """The number with these bits."""
        fixed = [bit for bit in bits if isinstance(bit, int)]
        if len(fixed) == len(bits):
            return constant(sum(bit << at for at, bit in enumerate(fixed)))
        zero, nonzero = self._equal_bits(bits, 0)
        atoms = frozenset(bit for bit in bits if not isinstance(bit, int))
        return Value(None, zero, nonzero, truth=len(bits) == 1, atoms=atoms, bits=tuple(bits))

    def of_bit(self, bit: Bit) -> Value:
        """A single bit as a number."""
        return constant(bit) if isinstance(bit, int) else self.of_simple(bit)

    def of_cases(self, cases: Iterable[tuple[Region, Simple]], atoms: frozenset[Atom]) -> Value:
        """A value by cases; equal ones are joined."""
        grouped: dict[Simple, list[Region]] = {}
        for region, simple in cases:
            grouped.setdefault(simple, []).append(region)
        joined = [(r, s) for s, regions in grouped.items() for r in simplified(regions, MOST_CASES)]
        truth = all(self.of_simple(simple).truth for simple in grouped)
        if len(joined) > MOST_CASES:
            return unknown(atoms | {s for s in grouped if s[0] >= 0}, truth=truth)
        parts = [(region, self.of_simple(simple)) for region, simple in joined]
        zero, nonzero = (
            simplified([b for r, v in parts for p in pick(v) if (b := meet(r, p)) is not None], MOST_REGIONS)
            for pick in (lambda value: value.zero, lambda value: value.nonzero)
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
        atoms = test.all_atoms | then.atoms | orelse.atoms
        if then.cases is None or orelse.cases is None:
            found = unknown(then.all_atoms | orelse.all_atoms | atoms)
        else:
            parts = [(part, case) for cover, value in sides for part in cover for case in value.cases or ()]
            cases = [(both, s) for part, (r, s) in parts if (both := meet(part, r)) is not None]
            found = self.of_cases(cases, atoms)
        zero, nonzero = (
            simplified([r for c, v in sides for r in cross(c, pick(v), MOST_REGIONS)], MOST_REGIONS)
            for pick in (lambda value: value.zero, lambda value: value.nonzero)
        )
        return replace(found, zero=zero, nonzero=nonzero, truth=then.truth and orelse.truth)

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
            return self._logical(op, a, b) or self._bitwise(op, a, b) or self._binary(op, a, b)
        return self._of_set(op, a, imm) or self._unary(op, a, imm)

    def _unary(self, op: Op, a: Value, imm: int) -> Value:
        if a.simple is not None:
            return self.of_simple(self._applied(op, a.simple, (-1, 0), imm))
        if a.cases is None:
            result = unknown(a.atoms, truth=op in TRUTHS)
        else:
            result = self.of_cases(((r, self._applied(op, s, (-1, 0), imm)) for r, s in a.cases), a.atoms)
        return replace(result, zero=a.nonzero, nonzero=a.zero) if op is Op.NOT else result

    def _binary(self, op: Op, a: Value, b: Value) -> Value:
        if a.simple is not None and b.simple is not None and _one_cell(a.simple, b.simple):
            return self.of_simple(self._applied(op, a.simple, b.simple, 0))
        nothing = unknown(a.all_atoms | b.all_atoms, truth=op in TRUTHS)
        if a.cases is None or b.cases is None:
            return nothing
        cases: list[tuple[Region, Simple]] = []
        atoms = set(a.atoms | b.atoms)
        pairs = ((meet(r, q), x, y) for r, x in a.cases for q, y in b.cases)
        for both, x, y in pairs:
            if both is None:
                continue
            split = self._split(op, x, y)
            if len(cases) + len(split) > 4 * MOST_CASES:
                return nothing
            atoms.update(s for s in (x, y) if any(s[0] in region for region, _ in split))
            cases += [(region, s) for part, s in split if (region := meet(both, part)) is not None]
        return self.of_cases(cases, frozenset(atoms))

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
        both, either = (lambda x, y: cross(x, y, MOST_REGIONS)), (lambda x, y: simplified((*x, *y), MOST_REGIONS))
        zero, nonzero = (either, both) if op is Op.BAND else (both, either)
        falses, trues = zero(a.zero, b.zero), nonzero(a.nonzero, b.nonzero)
        cases = (*((region, (-1, 0)) for region in falses), *((region, (-1, 1)) for region in trues))
        few = cases if len(cases) <= MOST_CASES else None
        return Value(few, falses, trues, truth=True, atoms=a.all_atoms | b.all_atoms)

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
        same, other = self._equal_bits(a.bits, imm if op is Op.EQI else 0)
        return Value(None, other, same, truth=True, atoms=a.atoms)

    def _equal_bits(self, bits: Sequence[Bit], number: int) -> tuple[Cover, Cover]:
        """Where the bits are those of a number, and where not."""
        if number < 0 or number >> len(bits):
            return (), ALWAYS
        same: Cover = ALWAYS
        other: list[Region] = []
        for at, bit in enumerate(bits):
            value = self.of_bit(bit)
            wanted, unwanted = (value.nonzero, value.zero) if number >> at & 1 else (value.zero, value.nonzero)
            same = cross(same, wanted, MOST_REGIONS)
            other += unwanted
        return same, simplified(other, MOST_REGIONS)


def _one_cell(x: Simple, y: Simple) -> bool:
    return x[0] < 0 or y[0] < 0 or x[0] == y[0]


def _padded(bits: tuple[Bit, ...], width: int) -> tuple[Bit, ...]:
    return bits + (0,) * (width - len(bits))
