"""Cells and regions: what the analysis of a program tells apart in a state.

A *cell* is a leaf of at most 8 bits, or one bit of a wider leaf.  A *table* gives a number for every value of a cell;
tables have numbers, and operations on them are done once.  A *region* is a set of states that limits each cell by
itself: for some cells the values that are allowed, as the bits of an integer.  Sets of states of any other form are
covered by a few regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvproto.engine.guards import EVALUATE
from kvproto.engine.program import Leaf, Op

CELL_BITS = 8

Region = Mapping[int, int]
"""Cell -> its allowed values.  Cells that are not mentioned may have any value; no value set is empty."""

EVERYWHERE: Region = {}

Cover = tuple[Region, ...]
"""Regions that together contain a set of states; none at all for the empty set."""

ALWAYS: Cover = (EVERYWHERE,)

Atom = tuple[int, int]
"""A cell and a table: the number that something needs to know of the cell."""


def _floordiv(a: int, b: int, _imm: int) -> int:
    return a // b if b else 0


def _mod(a: int, b: int, _imm: int) -> int:
    return a % b if b else 0


COMPUTE: dict[Op, Callable[[int, int, int], int]] = {
    **EVALUATE,
    Op.MUL: lambda a, b, _imm: a * b,
    Op.FLOORDIV: _floordiv,
    Op.MOD: _mod,
    Op.MULI: lambda a, _b, imm: a * imm,
    Op.LOWBIT: lambda a, _b, _imm: (a & -a).bit_length() - 1,
}
"""What operations give.  Operands that the rules forbid do not occur, so what is answered for them does not matter."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`bits` bits of a state word from bit `shift` up."""

    word: int
    shift: int
    bits: int


class Cells:
    """The cells of a program's leaves, and the tables over them.

    `sizes` says for each leaf how many values it ever has, from 0 up, if that is known to be less than its bits allow.
    """

    def __init__(self, leaves: Sequence[Leaf], sizes: Sequence[int] | None = None) -> None:
        self.cells: list[Cell] = []
        self.of_leaf: list[tuple[int, ...]] = []
        self._values: list[int] = []
        for number, x in enumerate(leaves):
            first = len(self.cells)
            if x.bits <= CELL_BITS:
                self.cells.append(Cell(x.word, x.shift, x.bits))
                self._values.append((1 << (1 << x.bits if sizes is None else sizes[number])) - 1)
            else:
                self.cells += [Cell(x.word, x.shift + at, 1) for at in range(x.bits)]
                self._values += [0b11] * x.bits
            self.of_leaf.append(tuple(range(first, len(self.cells))))
        self.tables: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._computed: dict[tuple[Op, int, int, int], int] = {}
        self._changes: dict[tuple[int, int], int] = {}
        self.identities = tuple(self.table(tuple(range(1 << cell.bits))) for cell in self.cells)

    def values(self, cell: int) -> int:
        """All values that a cell ever has, as a set."""
        return self._values[cell]

    def table(self, numbers: tuple[int, ...]) -> int:
        """The number of a table."""
        found = self._numbers.get(numbers)
        if found is None:
            found = self._numbers[numbers] = len(self.tables)
            self.tables.append(numbers)
        return found

    def constant(self, cell: int, value: int) -> int:
        """The table that is the same for every value of a cell."""
        return self.table((value,) * (1 << self.cells[cell].bits))

    def computed(self, op: Op, a: int, b: int, imm: int) -> int:
        """The table of an operation on two tables over one cell."""
        key = (op, a, b, imm)
        found = self._computed.get(key)
        if found is None:
            function = COMPUTE[op]
            pairs = zip(self.tables[a], self.tables[b], strict=True)
            found = self._computed[key] = self.table(tuple(function(x, y, imm) for x, y in pairs))
        return found

    def where(self, table: int, accepts: Callable[[int], bool]) -> int:
        """The values of the cell for which the table's number is accepted."""
        return sum(1 << at for at, number in enumerate(self.tables[table]) if accepts(number))

    def classes(self, table: int, allowed: int) -> dict[int, int]:
        """For each number in the table the values that give it, as far as they are allowed."""
        found: dict[int, int] = {}
        for at, number in enumerate(self.tables[table]):
            if allowed >> at & 1:
                found[number] = found.get(number, 0) | 1 << at
        return found

    def changed(self, atom_table: int, new: int) -> int:
        """The values of a cell for which replacing value v by `new[v]` changes what the atom's table says."""
        key = (atom_table, new)
        found = self._changes.get(key)
        if found is None:
            says, becomes = self.tables[atom_table], self.tables[new]
            found = sum(1 << at for at, value in enumerate(becomes) if says[at] != says[value])
            self._changes[key] = found
        return found


def members(values: int) -> list[int]:
    """The values in a set."""
    return [at for at in range(values.bit_length()) if values >> at & 1]


# --------------------------------------------------------------------------------------------- regions


def meet(one: Region, two: Region) -> Region | None:
    """The states in both, None if there are none."""
    if not two or one is two:
        return one
    if not one:
        return two
    result = dict(one)
    for cell, allowed in two.items():
        mine = result.get(cell)
        both = allowed if mine is None else mine & allowed
        if not both:
            return None
        result[cell] = both
    return result


def apart(one: Region, two: Region) -> bool:
    """Whether no state is in both."""
    if len(two) < len(one):
        one, two = two, one
    for cell, allowed in one.items():
        other = two.get(cell)
        if other is not None and not allowed & other:
            return True
    return False


def within(one: Region, two: Region) -> bool:
    """Whether every state of `one` is in `two`, as far as cells tell by themselves."""
    for cell, allowed in two.items():
        mine = one.get(cell)
        if mine is None or mine & ~allowed:
            return False
    return True


def hull(cover: Iterable[Region]) -> Region:
    """The smallest region with all of these."""
    regions = list(cover)
    first = regions[0]
    result = {}
    for cell in first:
        union = 0
        for region in regions:
            allowed = region.get(cell)
            if allowed is None:
                break
            union |= allowed
        else:
            result[cell] = union
    return result


def key(region: Region) -> frozenset[tuple[int, int]]:
    """Something equal for equal regions."""
    return frozenset(region.items())


def simplified(cover: Iterable[Region], most: int) -> Cover:
    """At most so many regions that contain all of these; the same set of states unless there are too many."""
    return limited(cover, most)[0]


def limited(cover: Iterable[Region], most: int) -> tuple[Cover, bool]:
    """The same, and whether it is the same set of states."""
    regions: list[Region] = []
    cut = False
    for region in cover:
        if not region:
            return ALWAYS, True
        if cut or len(regions) >= 2 * most + 8:  # trying to join them costs too much
            regions, cut = [hull([*regions, region])], True
        else:
            _put(regions, region)
    if cut or len(regions) > most:
        return (hull(regions),), False
    return tuple(regions), True


def _put(regions: list[Region], region: Region) -> None:
    """Add a region, joined with those that differ from it in one cell only."""
    while True:
        for at, other in enumerate(regions):
            if within(region, other):
                return
            joined = _joined(region, other)
            if joined is not None:
                del regions[at]
                region = joined
                break
        else:
            regions.append(region)
            return


def _joined(one: Region, two: Region) -> Region | None:
    """The union of both, if it is a region."""
    if within(two, one):
        return one
    if one.keys() != two.keys():
        return None
    differing = [cell for cell, allowed in one.items() if two[cell] != allowed]
    if len(differing) != 1:
        return None
    (cell,) = differing
    return {**one, cell: one[cell] | two[cell]}


def cross(one: Cover, two: Cover, most: int) -> Cover:
    """At most so many regions that contain the states that are in both."""
    return crossed(one, two, most)[0]


def crossed(one: Cover, two: Cover, most: int) -> tuple[Cover, bool]:
    """The same, and whether they contain nothing else."""
    if one == ALWAYS:
        return two, True
    if two == ALWAYS:
        return one, True
    tight = len(one) * len(two) <= 4 * most
    if not tight:  # too many to try all
        one, two = (one, (hull(two),)) if len(one) > len(two) else ((hull(one),), two)
    found = (meet(x, y) for x in one for y in two)
    cover, same = limited((region for region in found if region is not None), most)
    return cover, same and tight
