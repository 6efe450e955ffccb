"""What a block reads and writes, and under which conditions: one walk through its code, all ways at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.engine.por.cells import ALWAYS, EVERYWHERE, Atom, Cells, Cover, Region, cross, hull, simplified
from kvproto.engine.por.values import Atoms, Bit, Simple, Value, Values, constant, together, under, unknown
from kvproto.engine.program import Block, Branch, Ins, Op
from kvproto.engine.rules import PURE

MOST_WAYS = 12
"""A condition on the way to an instruction is kept as at most so many regions."""

DEEPEST = 80
"""Branches that nest deeper are not looked at: whatever such a block mentions, it may read and write."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell gets a value in the states of a region."""

    cell: int
    where: Region
    new: int | None = None
    """Table of the new value over the old one, if it depends on nothing else."""
    source: Simple | None = None
    """Otherwise another cell and a table of the new value over that, if it is so simple."""
    bits: tuple[Bit, ...] | None = None
    """Otherwise what each bit is, if known."""


@dataclass(slots=True)
class Footprint:
    """What a block needs to know and does.  `reads` says for each atom in which states it is looked at."""

    enabled: Cover = ()
    """States in which an action is enabled, or fails."""
    reads: dict[Atom, list[Region]] = field(default_factory=dict)
    control: set[Atom] = field(default_factory=set)
    """The atoms that decide on enabledness and on the way through the block."""
    writes: list[Effect] = field(default_factory=list)
    """What it puts into cells."""
    effects: list[Effect] = field(default_factory=list)
    """The same, where that is not what was there."""
    answers: list[tuple[Cover, Value]] = field(default_factory=list)
    """For blocks that answer: the value of each RET, and the states that come there."""
    failing: list[Region] = field(default_factory=list)
    """States in which it fails."""


def footprint(values: Values, block: Block) -> Footprint:
    """The footprint of an action or a question."""
    walk = _Walk(values)
    if _nesting(block) > DEEPEST:
        return _everything_mentioned(values.cells, block)
    end = walk.block(block, _Point(ALWAYS, {}, {}))
    walk.finish(end)
    return walk.found


def _nesting(block: Block) -> int:
    deepest = 0
    work: list[tuple[int, Block]] = [(0, block)]
    while work:
        depth, current = work.pop()
        deepest = max(deepest, depth)
        for item in current:
            if isinstance(item, Branch):
                work += [(depth + 1, item.then), (depth + 1, item.orelse)]
    return deepest


def _everything_mentioned(cells: Cells, block: Block) -> Footprint:
    found = Footprint(enabled=ALWAYS, failing=[EVERYWHERE])
    work: list[Block] = [block]
    while work:
        for item in work.pop():
            if isinstance(item, Branch):
                work += [item.then, item.orelse]
                continue
            if item.op in (Op.LOADX, Op.STOREX):
                mentioned = tuple(range(len(cells.cells)))
            elif item.op in (Op.LOAD, Op.STORE, Op.SETC, Op.TEST):
                mentioned = cells.of_leaf[item.imm if item.op in (Op.LOAD, Op.STORE) else item.a]
            else:
                continue
            for cell in mentioned:
                atom = (cell, cells.identities[cell])
                found.reads[atom] = [EVERYWHERE]
                found.control.add(atom)
                if item.op in (Op.STORE, Op.SETC, Op.STOREX):
                    found.writes.append(Effect(cell, EVERYWHERE))
    found.answers.append((ALWAYS, unknown(dict.fromkeys(found.reads, ALWAYS))))
    found.effects = list(found.writes)
    return found


@dataclass(slots=True)
class _Point:
    """A place in the code: states that come here, and what registers and changed cells hold."""

    where: Cover
    registers: dict[int, Value]
    contents: dict[int, Value]

    def copy(self, where: Cover) -> _Point:
        return _Point(where, dict(self.registers), dict(self.contents))


class _Walk:
    """Walks through a block."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.cells = values.cells
        self.found = Footprint()

    def block(self, block: Block, point: _Point) -> _Point:
        """Through all items; `where` is empty if no way leads to the end."""
        for item in block:
            if not point.where:
                break
            if isinstance(item, Branch):
                point = self._branch(item, point)
            else:
                self._step(item, point)
        return point

    # --- single instructions --------------------------------------------------------------------------

    def _step(self, ins: Ins, point: _Point) -> None:
        registers = point.registers
        match ins.op:
            case Op.CONST:
                registers[ins.d] = constant(ins.imm)
            case Op.LOAD:
                registers[ins.d] = self._load(ins.imm, point)
            case Op.LOADX:
                registers[ins.d] = self._load_any(ins, point)
            case Op.STORE:
                self._store(ins.imm, registers[ins.a], point)
            case Op.SETC:
                bits = self._width(ins.a)
                self._store(ins.a, constant(ins.imm & ((1 << bits) - 1)), point)
            case Op.STOREX:
                self._store_any(ins, point)
            case Op.TEST:
                bits = self._width(ins.a)
                loaded, zero = self._load(ins.a, point, signed=False), constant(0)
                fits = 0 <= ins.imm < 1 << bits
                self._require(self.values.operation(Op.EQI, loaded, zero, ins.imm) if fits else zero, point)
            case Op.REQUIRE:
                self._require(registers[ins.a], point)
            case Op.CHECK:
                value = registers[ins.a]
                self._look(value.all_atoms, point.where, control=True)
                self._fail(cross(point.where, value.zero, MOST_WAYS))
                point.where = cross(point.where, value.nonzero, MOST_WAYS)
            case Op.FAULT:
                self._fail(point.where)
                point.where = ()
            case Op.RET:
                value = registers[ins.a]
                self._look(value.all_atoms, point.where, control=True)
                self.found.answers.append((point.where, value))
                point.where = ()
            case _:
                assert ins.op in PURE
                registers[ins.d] = self.values.operation(
                    ins.op, registers[ins.a], registers.get(ins.b) or constant(0), ins.imm
                )

    def _require(self, value: Value, point: _Point) -> None:
        self._look(value.all_atoms, point.where, control=True)
        point.where = cross(point.where, value.nonzero, MOST_WAYS)

    def _fail(self, where: Cover) -> None:
        self.found.failing += where
        self.found.enabled += where

    def _look(self, atoms: Atoms, where: Cover, *, control: bool) -> None:
        """Note that these atoms are looked at."""
        for atom, cover in under(atoms, where).items():
            self.found.reads.setdefault(atom, []).extend(cover)
            if control:
                self.found.control.add(atom)

    # --- memory ---------------------------------------------------------------------------------------

    def _width(self, leaf: int) -> int:
        cells = self.cells.of_leaf[leaf]
        return self.cells.cells[cells[0]].bits if len(cells) == 1 else len(cells)

    def _content(self, cell: int, point: _Point) -> Value:
        return point.contents.get(cell) or self.values.identity(cell)

    def _load(self, leaf: int, point: _Point, *, signed: bool = True) -> Value:
        cells = self.cells.of_leaf[leaf]
        if len(cells) == 1:
            return self._content(cells[0], point)
        contents = [self._content(cell, point) for cell in cells]
        bits: list[Bit] = []
        for content in contents:
            simple = content.simple
            if simple is not None:
                bits.append(simple[1] if simple[0] < 0 else simple)
        negative = signed and len(cells) == 64  # the sign is in the highest bit, so it is no set of bits
        if len(bits) < len(contents) or negative:
            return unknown(together(*(content.all_atoms for content in contents)))
        return self.values.of_bits(bits)

    def _store(self, leaf: int, value: Value, point: _Point) -> None:
        for cell, content in self._spread(leaf, value).items():
            point.contents[cell] = content

    def _spread(self, leaf: int, value: Value) -> dict[int, Value]:
        """What the cells of a leaf hold after a store."""
        cells = self.cells.of_leaf[leaf]
        width = self._width(leaf)
        if len(cells) == 1:
            return {cells[0]: self._cut(value, width)}
        if value.known is not None:
            return {cell: constant(value.known >> at & 1) for at, cell in enumerate(cells)}
        if value.bits is not None:
            bits = (*value.bits, *[0] * width)
            return {cell: self.values.of_bit(bits[at]) for at, cell in enumerate(cells)}
        if value.cases is not None:
            one = constant(1)
            shifted = (self.values.operation(Op.HAS, value, constant(at), 0) for at in range(width))
            return {cell: self.values.operation(Op.BAND, bit, one, 0) for cell, bit in zip(cells, shifted, strict=True)}
        return {cell: unknown(value.atoms, truth=True) for cell in cells}

    def _cut(self, value: Value, width: int) -> Value:
        """The value as a cell of so many bits holds it."""
        if value.bits is not None:
            return value if len(value.bits) <= width else self.values.of_bits(value.bits[:width])
        if value.cases is None or all(self._fits(simple, width) for _, simple in value.cases):
            return value
        return self.values.operation(Op.BAND, value, constant((1 << width) - 1), 0)

    def _fits(self, simple: Simple, width: int) -> bool:
        numbers = (simple[1],) if simple[0] < 0 else self.cells.tables[simple[1]]
        return all(0 <= number >> width == 0 for number in numbers)

    def _targets(self, index: Value, imm: int, where: Cover) -> list[int]:
        """The leaves that an index may choose."""
        if index.cases is None:
            span = self.values.span(index)
            first, last = (0, len(self.cells.of_leaf) - 1) if span is None else (span[0] + imm, span[1] + imm)
            return list(range(max(first, 0), min(last + 1, len(self.cells.of_leaf))))
        limits = hull(where)
        numbers: set[int] = set()
        for region, (cell, table) in index.cases:
            if cell < 0:
                numbers.add(table)
                continue
            allowed = limits.get(cell, self.cells.values(cell)) & region.get(cell, self.cells.values(cell))
            numbers.update(self.cells.classes(table, allowed))
        return sorted(number + imm for number in numbers if 0 <= number + imm < len(self.cells.of_leaf))

    def _chosen(self, index: Value, imm: int, leaf: int) -> Value:
        return self.values.operation(Op.EQI, index, constant(0), leaf - imm)

    def _load_any(self, ins: Ins, point: _Point) -> Value:
        index = point.registers[ins.a]
        self._look(index.all_atoms, point.where, control=True)
        targets = self._targets(index, ins.imm, point.where)
        if index.cases is None or not targets:
            return unknown(together(index.all_atoms, *(self._load(leaf, point).all_atoms for leaf in targets)))
        value = self._load(targets[-1], point)
        for leaf in reversed(targets[:-1]):
            value = self.values.choose(self._chosen(index, ins.imm, leaf), self._load(leaf, point), value)
        return value

    def _store_any(self, ins: Ins, point: _Point) -> None:
        index, value = point.registers[ins.a], point.registers[ins.b]
        self._look(index.all_atoms, point.where, control=True)
        for leaf in self._targets(index, ins.imm, point.where):
            chosen = self._chosen(index, ins.imm, leaf)
            for cell, content in self._spread(leaf, value).items():
                point.contents[cell] = self.values.choose(chosen, content, self._content(cell, point))

    # --- branches -------------------------------------------------------------------------------------

    def _branch(self, branch: Branch, point: _Point) -> _Point:
        test = point.registers[branch.cond]
        if test.known is not None:
            return self.block(branch.then if test.known else branch.orelse, point)
        self._look(test.all_atoms, point.where, control=True)
        ways = [cross(point.where, cover, MOST_WAYS) for cover in (test.nonzero, test.zero)]
        ends = [
            self.block(block, point.copy(way)) for block, way in zip((branch.then, branch.orelse), ways, strict=True)
        ]
        alive = [end for end in ends if end.where]
        if len(alive) < 2:
            return alive[0] if alive else ends[0]
        then, orelse = ends
        passed = [end.where is way for end, way in zip(ends, ways, strict=True)]
        where = point.where if all(passed) else simplified((*then.where, *orelse.where), MOST_WAYS)
        # A register that only one way sets is read later only if that way was gone.
        registers = {**then.registers, **orelse.registers}
        for r in then.registers.keys() & orelse.registers.keys():
            if then.registers[r] is not orelse.registers[r]:
                registers[r] = self.values.choose(test, then.registers[r], orelse.registers[r])
        changed = then.contents.keys() | orelse.contents.keys()
        contents = {
            cell: self.values.choose(test, self._content(cell, then), self._content(cell, orelse)) for cell in changed
        }
        return _Point(where, registers, contents)

    # --- the end --------------------------------------------------------------------------------------

    def finish(self, end: _Point) -> None:
        """Take what is in the cells at the end of an action as its effects."""
        self.found.enabled = simplified((*self.found.enabled, *end.where), MOST_WAYS)
        if end.where:
            for cell, value in end.contents.items():
                self._effects(cell, value, end.where)
        for atom, regions in self.found.reads.items():
            self.found.reads[atom] = list(simplified(regions, MOST_WAYS))

    def _effects(self, cell: int, value: Value, done: Cover) -> None:
        if value == self.values.identity(cell):
            return
        if value.cases is None:
            self._look(value.atoms, done, control=False)
            for region in done:
                self._both(Effect(cell, region, bits=value.bits))
            return
        self._look(value.atoms, done, control=False)
        for region, simple in value.cases:
            if simple == (cell, self.cells.identities[cell]):
                continue
            for where in cross(done, (region,), MOST_WAYS):
                self._effect(cell, where, simple)

    def _effect(self, cell: int, where: Region, simple: Simple) -> None:
        if simple[0] not in (-1, cell):
            self._look({simple: ALWAYS}, (where,), control=False)
            self._both(Effect(cell, where, source=simple))
            return
        new = self.cells.constant(cell, simple[1]) if simple[0] < 0 else simple[1]
        # Where the value stays the same it may matter that it was written: if somebody else writes, too.
        self.found.writes.append(Effect(cell, where, new=new))
        identity = self.cells.identities[cell]
        moved = self.cells.changed(identity, new) & where.get(cell, self.cells.values(cell))
        if moved:
            self.found.effects.append(Effect(cell, {**where, cell: moved}, new=new))

    def _both(self, effect: Effect) -> None:
        self.found.writes.append(effect)
        self.found.effects.append(effect)
