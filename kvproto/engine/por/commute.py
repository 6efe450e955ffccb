"""Whether two actions commute, by running both in both orders: for pairs that seem dependent cell by cell.

Taking from a queue and adding to it, or adding to a counter from two sides, write the same cells and commute all the
same.  The two actions run on a *symbolic* state: cells hold numbers, tables over one original cell, or terms.  Whenever
the way depends on an original cell, its allowed values are split, until every run goes one way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvproto.engine.por.cells import Cells, Region, meet, members
from kvproto.engine.por.footprint import Footprint
from kvproto.engine.program import Block, Branch, Ins, Op, Program
from kvproto.engine.rules import BINARY, PURE

MOST_RUNS = 160
"""Cases looked at for one pair; with more it counts as dependent as it was."""

PROMISING = 64
"""Pairs that look at so many combinations of values may be decided in time, others are not tried."""

MOST_STEPS = 200_000
"""Instructions run for all pairs of a program together."""


@dataclass(frozen=True, slots=True)
class Table:
    """A number that depends on one original cell."""

    cell: int
    table: int


@dataclass(frozen=True, slots=True)
class Bits:
    """A wide leaf, lowest bit first: numbers, or what cells of one bit hold."""

    bits: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An operation that was not done."""

    op: Op
    a: Symbol
    b: Symbol
    imm: int


Symbol = int | Table | Bits | Term

NOT_ENABLED, DONE = -2, -1
"""Outcomes of a run; a fault has its number."""


class _SplitError(Exception):
    """The way depends on a cell: these are the sets of values to tell apart."""

    def __init__(self, cell: int, parts: Sequence[int]) -> None:
        super().__init__()
        self.cell = cell
        self.parts = parts


class _TooHardError(Exception):
    """Too many cases."""


class Commuting:
    """Answers for pairs of actions of one program."""

    def __init__(self, program: Program, cells: Cells, prints: Sequence[Footprint]) -> None:
        self._actions = program.actions
        self._cells = cells
        self._prints = prints
        self._steps = MOST_STEPS

    def clashes(self, a: int, b: int) -> list[Region] | None:
        """Regions with all states in which both are enabled and do not commute; None if that is too hard to tell."""
        cases = [meet(x, y) for x in self._prints[a].enabled for y in self._prints[b].enabled]
        work = [case for case in cases if case is not None]
        if sum(self._ways(a, b, case) for case in work) > PROMISING:
            return None
        bad: list[Region] = []
        runs = 0
        while work:
            region = work.pop()
            runs += 1
            if runs > MOST_RUNS or self._steps <= 0:
                return None
            try:
                if not self._commute(a, b, region):
                    bad.append(region)
            except _SplitError as split:
                parts = ({**region, split.cell: part} for part in split.parts)
                work += parts
            except _TooHardError:
                return None
        return bad

    def _ways(self, a: int, b: int, region: Region) -> int:
        """How many combinations of values the ways of both actions may depend on, as far as that is of interest."""
        tables: dict[int, list[int]] = {}
        for cell, table in self._prints[a].control | self._prints[b].control:
            tables.setdefault(cell, []).append(table)
        ways = 1
        for cell, looked in tables.items():
            values = members(region.get(cell, self._cells.values(cell)))
            ways *= len({tuple(self._cells.tables[table][value] for table in looked) for value in values})
            if ways > PROMISING:
                break
        return ways

    def _commute(self, a: int, b: int, region: Region) -> bool:
        first, second = self._run(a, {}, region), self._run(b, {}, region)
        if NOT_ENABLED in (first[0], second[0]) or (first[0] >= 0 and second[0] >= 0):
            return True
        after_first = self._run(b, first[1], region) if first[0] == DONE else None
        after_second = self._run(a, second[1], region) if second[0] == DONE else None
        if after_first is not None and after_first[0] != second[0]:
            return False
        if after_second is not None and after_second[0] != first[0]:
            return False
        if after_first is None or after_second is None:
            return True
        one, two = after_first[1], after_second[1]
        return all(self._same(self._held(one, cell), self._held(two, cell), region) for cell in one.keys() | two.keys())

    def _same(self, x: Symbol, y: Symbol, region: Region) -> bool:
        x, y = self._resolved(x, region), self._resolved(y, region)
        if x == y:
            return True
        if not (isinstance(x, Table) and isinstance(y, Table) and x.cell == y.cell):
            return False
        tables = self._cells.tables
        allowed = region.get(x.cell, self._cells.values(x.cell))
        equal = (
            sum(1 << at for at in range(len(tables[x.table])) if tables[x.table][at] == tables[y.table][at]) & allowed
        )
        if equal and equal != allowed:
            raise _SplitError(x.cell, (equal, allowed & ~equal))
        return bool(equal)

    # --- running --------------------------------------------------------------------------------------

    def _run(self, action: int, contents: dict[int, Symbol], region: Region) -> tuple[int, dict[int, Symbol]]:
        """The outcome of an action on what the cells hold, and what they hold then."""
        held = dict(contents)
        registers: dict[int, Symbol] = {}
        for ins in self._way(self._actions[action], registers, region):
            self._steps -= 1
            match ins.op:
                case Op.TEST:
                    loaded = self._load(ins.a, held, region)
                    if not self._true(self._operation(Op.EQI, loaded, 0, ins.imm, region), region):
                        return NOT_ENABLED, held
                case Op.REQUIRE:
                    if not self._true(registers[ins.a], region):
                        return NOT_ENABLED, held
                case Op.CHECK:
                    if not self._true(registers[ins.a], region):
                        return ins.imm, held
                case Op.FAULT:
                    return ins.imm, held
                case Op.SETC:
                    self._store(ins.a, ins.imm, held, region)
                case Op.STORE:
                    self._store(ins.imm, registers[ins.a], held, region)
                case Op.STOREX:
                    self._store(self._number(registers[ins.a], region) + ins.imm, registers[ins.b], held, region)
                case Op.LOAD:
                    registers[ins.d] = self._load(ins.imm, held, region)
                case Op.LOADX:
                    registers[ins.d] = self._load(self._number(registers[ins.a], region) + ins.imm, held, region)
                case Op.CONST:
                    registers[ins.d] = ins.imm
                case _:
                    assert ins.op in PURE
                    b = registers[ins.b] if ins.op in BINARY else 0
                    registers[ins.d] = self._operation(ins.op, registers[ins.a], b, ins.imm, region)
        return DONE, held

    def _way(self, block: Block, registers: dict[int, Symbol], region: Region) -> Iterator[Ins]:
        """The instructions of a block on the way that the region takes."""
        work = [iter(block)]
        while work:
            item = next(work[-1], None)
            if item is None:
                work.pop()
            elif isinstance(item, Branch):
                work.append(iter(item.then if self._true(registers[item.cond], region) else item.orelse))
            else:
                yield item

    def _held(self, held: dict[int, Symbol], cell: int) -> Symbol:
        content = held.get(cell)
        return Table(cell, self._cells.identities[cell]) if content is None else content

    def _load(self, leaf: int, held: dict[int, Symbol], region: Region) -> Symbol:
        if not 0 <= leaf < len(self._cells.of_leaf):
            raise _TooHardError
        cells = self._cells.of_leaf[leaf]
        if len(cells) == 1:
            return self._resolved(self._held(held, cells[0]), region)
        bits = tuple(self._resolved(self._held(held, cell), region) for cell in cells)
        numbers = [bit for bit in bits if isinstance(bit, int)]
        if len(bits) == 64:
            raise _TooHardError  # the highest bit is a sign, so this is no set of bits
        return Bits(bits) if len(numbers) < len(bits) else sum(bit << at for at, bit in enumerate(numbers))

    def _store(self, leaf: int, value: Symbol, held: dict[int, Symbol], region: Region) -> None:
        if not 0 <= leaf < len(self._cells.of_leaf):
            raise _TooHardError
        cells = self._cells.of_leaf[leaf]
        if len(cells) == 1:
            mask = (1 << self._cells.cells[cells[0]].bits) - 1
            held[cells[0]] = self._masked(value, mask, region)
            return
        for at, cell in enumerate(cells):
            if isinstance(value, int):
                held[cell] = value >> at & 1
            elif isinstance(value, Bits):
                held[cell] = value.bits[at] if at < len(value.bits) else 0
            else:
                bit = self._operation(Op.HAS, value, at, 0, region)
                held[cell] = self._operation(Op.BAND, bit, 1, 0, region)

    def _masked(self, value: Symbol, mask: int, region: Region) -> Symbol:
        """What a cell of at most 8 bits holds after a store."""
        if isinstance(value, int):
            return value & mask
        if isinstance(value, Table):
            numbers = self._cells.tables[value.table]
            if min(numbers) >= 0 and max(numbers) <= mask:
                return value
        return self._operation(Op.BAND, value, mask, 0, region)

    # --- symbols --------------------------------------------------------------------------------------

    def _resolved(self, symbol: Symbol, region: Region) -> Symbol:
        """A table as a number, where the region leaves only one."""
        if not isinstance(symbol, Table):
            return symbol
        allowed = region.get(symbol.cell)
        if allowed is None:
            return symbol
        found = self._cells.classes(symbol.table, allowed)
        return next(iter(found)) if len(found) == 1 else symbol

    def _operation(self, op: Op, a: Symbol, b: Symbol, imm: int, region: Region) -> Symbol:
        a, b = self._resolved(a, region), self._resolved(b, region)
        if op is Op.MOVE:
            return a
        if isinstance(a, int | Table) and isinstance(b, int | Table):
            cells = {x.cell for x in (a, b) if isinstance(x, Table)}
            if len(cells) <= 1:
                return self._on_one_cell(op, a, b, imm, cells.pop() if cells else -1, region)
        if isinstance(a, Bits):
            found = self._on_bits(op, a, b, imm, region)
            if found is not None:
                return found
        return Term(op, a, b, imm)

    def _on_one_cell(self, op: Op, a: int | Table, b: int | Table, imm: int, cell: int, region: Region) -> Symbol:
        cells = self._cells
        if cell < 0:
            one, two = (cells.table((x,)) for x in (a, b) if isinstance(x, int))
            return cells.tables[cells.computed(op, one, two, imm)][0]
        one, two = (cells.constant(cell, x) if isinstance(x, int) else x.table for x in (a, b))
        return self._resolved(Table(cell, cells.computed(op, one, two, imm)), region)

    def _on_bits(self, op: Op, a: Bits, b: Symbol, imm: int, region: Region) -> Symbol | None:
        """Operations of a set with a number."""
        if op is Op.EQI or op is Op.NOT:
            wanted = imm if op is Op.EQI else 0
            if wanted < 0 or wanted >> len(a.bits):
                return 0
            for at, bit in enumerate(a.bits):
                if self._number(bit, region) != wanted >> at & 1:
                    return 0
            return 1
        if not isinstance(b, int) or b < 0:
            return None
        if op is Op.HAS:
            return a.bits[b] if b < len(a.bits) else 0
        if op not in (Op.BAND, Op.BOR, Op.BANDN) or b >> len(a.bits):
            return None
        bits = (self._operation(op, bit, b >> at & 1, 0, region) for at, bit in enumerate(a.bits))
        return Bits(tuple(bits))

    def _true(self, symbol: Symbol, region: Region) -> bool:
        symbol = self._resolved(symbol, region)
        if isinstance(symbol, Table):
            allowed = region.get(symbol.cell, self._cells.values(symbol.cell))
            zero = self._cells.where(symbol.table, lambda number: number == 0) & allowed
            if zero and zero != allowed:
                raise _SplitError(symbol.cell, (zero, allowed & ~zero))
            return not zero
        return self._number(symbol, region) != 0

    def _number(self, symbol: Symbol, region: Region) -> int:
        """The symbol as a number; the region is split where it is none."""
        symbol = self._resolved(symbol, region)
        match symbol:
            case int():
                return symbol
            case Table(cell=cell, table=table):
                allowed = region.get(cell, self._cells.values(cell))
                parts = tuple(self._cells.classes(table, allowed).values())
                if len(parts) == 1:
                    return self._cells.tables[table][(parts[0] & -parts[0]).bit_length() - 1]
                raise _SplitError(cell, parts)
            case Bits(bits=bits):
                return sum(self._number(bit, region) << at for at, bit in enumerate(bits))
            case Term(op=op, a=a, b=b, imm=imm):
                one, two = self._number(a, region), self._number(b, region)
                result = self._operation(op, one, two, imm, region)
                assert isinstance(result, int)
                return result
