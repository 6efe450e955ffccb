"""Which actions get into each other's way, and who can make a condition true: the tables that `stubborn` works with.

Everything is a *node*.  Node i < `actions` is action instance i.  The others stand for "this action, where it does
that", for a case in which an action is enabled, or for a fact: a way in which a claim is violated, or a probe true.
A node has *conditions*, each a cell and its allowed values.  What a set of nodes must contain along with a node is one
of the rows of its false conditions (whoever can make that one true), or its fallback row; see the package.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kvproto.engine.por.cells import Atom, Cells, Cover, Region, apart, hull, key, limited, meet, members, simplified
from kvproto.engine.por.commute import Commuting
from kvproto.engine.por.footprint import Effect, Footprint, footprint
from kvproto.engine.por.values import Values
from kvproto.engine.program import Block, Branch, Program

MOST_CONFLICTS = 8
"""Regions in which one pair of actions is dependent; more are taken as one."""

FEW_REGIONS = 24
"""Regions for a condition in an action: more cost time and do not tell much."""

MOST_FACTS = 96
"""Ways in which one claim can be violated; more are taken as one."""

MOST_ACTIONS, MOST_CODE, MOST_ENTRIES = 4096, 50_000, 1_000_000
"""Actions, instructions and entries of tables: making larger ones would take longer than it is worth."""

NOBODY = -1

Row = tuple[int, ...]


class TooLargeError(Exception):
    """The program has more actions, or they are more entangled, than the tables allow."""


@dataclass(slots=True)
class Relations:
    """The tables.  Rows are tuples of nodes."""

    actions: int
    cells: Cells
    conditions: list[tuple[int, int]] = field(default_factory=list)
    """Cell and allowed values."""
    enablers: list[Row] = field(default_factory=list)
    """For each condition the nodes of which one has to happen before it becomes true."""
    needs: list[Row] = field(default_factory=list)
    """For each node its conditions (by number)."""
    fallback: list[Row] = field(default_factory=list)
    final: list[Row] = field(default_factory=list)
    """For each node those of its conditions that nothing makes true: once they are false it never happens."""
    owner: list[int] = field(default_factory=list)
    """For a node that stands for an action under conditions, that action."""
    group: list[int] = field(default_factory=list)
    """For a fact the claim (then probe) it is about: nobody cares once that is settled."""
    dependent: list[Row] = field(default_factory=list)
    """For each action what must be there along with it while it is enabled."""


def relate(program: Program, sizes: Sequence[int] | None = None) -> Relations:
    """The tables of a program; `sizes` as in `Cells`.  Raises `TooLargeError`."""
    if len(program.actions) > MOST_ACTIONS:
        raise TooLargeError(f"it has {len(program.actions)} action instances")
    length = sum(_length(block) for block in (*program.actions, *program.questions()))
    if length > MOST_CODE:
        raise TooLargeError(f"its code has {length} instructions")
    return _Builder(program, sizes).build()


class _Builder:
    """Makes the tables."""

    def __init__(self, program: Program, sizes: Sequence[int] | None) -> None:
        self.program = program
        self.cells = Cells(program.leaves, sizes)
        acting = Values(self.cells, FEW_REGIONS)
        self.prints = [footprint(acting, block) for block in program.actions]
        self.asking = Values(self.cells)
        self.commuting = Commuting(program, self.cells, self.prints)
        self.effects: dict[int, list[tuple[int, Effect]]] = defaultdict(list)
        self.writes: dict[int, list[tuple[int, Effect]]] = defaultdict(list)
        for action, found in enumerate(self.prints):
            for effect in found.effects:
                self.effects[effect.cell].append((action, effect))
            for write in found.writes:
                self.writes[write.cell].append((action, write))
        self.result = Relations(len(program.actions), self.cells)
        self.entries = 0
        self.rows: list[dict[int, None]] = [{} for _ in program.actions]
        self._numbers: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        self._conditions: dict[tuple[int, int], int] = {}

    def build(self) -> Relations:
        """All tables."""
        for found in self.prints:
            self._new(hull(found.enabled) if found.enabled else {}, (), NOBODY, NOBODY)
        self._conflicts()
        self._facts()
        self._constraint()
        for action, found in enumerate(self.prints):
            self._fall_back(action, found)
        self._enable()
        self.result.final = [tuple(c for c in needs if not self.result.enablers[c]) for needs in self.result.needs]
        self.result.dependent = [tuple(row) for row in self.rows]
        return self.result

    # --- nodes ----------------------------------------------------------------------------------------

    def _new(self, region: Region, fallback: Row, owner: int, group: int) -> int:
        result = self.result
        limiting = ((cell, allowed) for cell, allowed in sorted(region.items()) if self.cells.values(cell) & ~allowed)
        result.needs.append(tuple(self._condition(cell, allowed) for cell, allowed in limiting))
        result.fallback.append(fallback)
        result.owner.append(owner)
        result.group.append(group)
        self._count(len(fallback) + 1)
        return len(result.needs) - 1

    def _count(self, entries: int) -> None:
        self.entries += entries
        if self.entries > MOST_ENTRIES:
            raise TooLargeError("its actions depend on each other in too many ways")

    def _condition(self, cell: int, allowed: int) -> int:
        found = self._conditions.get((cell, allowed))
        if found is None:
            found = self._conditions[cell, allowed] = len(self.result.conditions)
            self.result.conditions.append((cell, allowed))
        return found

    def _under(self, action: int, region: Region) -> int:
        """The node for an action in the states of a region, in which it is enabled."""
        enabled = self.prints[action].enabled
        if len(enabled) == 1 and key(enabled[0]) == key(region):
            return action
        name = action, key(region)
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = self._new(region, (action,), action, NOBODY)
        return found

    # --- dependence -----------------------------------------------------------------------------------

    def _conflicts(self) -> None:
        """Every pair of actions that, both enabled, do not commute, or of which one disables the other."""
        for (a, b), regions in self._clashes().items():
            exact = self.commuting.clashes(a, b)
            bad = simplified(regions if exact is None else exact, MOST_CONFLICTS)
            for one, two in ((a, b), (b, a)):
                always = hull(self.prints[one].enabled)
                for region in bad:
                    for case in self.prints[two].enabled:
                        there = meet(case, _without(region, always))
                        if there is not None and not apart(region, case):
                            self.rows[one][self._under(two, there)] = None

    def _clashes(self) -> dict[tuple[int, int], list[Region]]:
        """Where a pair of actions may clash, judged cell by cell."""
        found: dict[tuple[int, int], list[Region]] = defaultdict(list)
        readers: dict[int, list[tuple[int, int, list[Region]]]] = defaultdict(list)
        for action, seen in enumerate(self.prints):
            for (cell, table), where in seen.reads.items():
                readers[cell].append((action, table, where))
        for cell, effects in self.effects.items():
            for a, effect in effects:
                for b, table, where in readers[cell]:
                    if a != b:
                        bad = self._distinguished(effect, table)
                        found_here = self._regions(effect.where, cell, bad, where, self.prints[b].enabled)
                        self._note(found, a, b, found_here)
        for cell, writes in self.writes.items():
            for a, one in writes:
                for b, two in writes:
                    if a < b:
                        bad = self._not_commuting(one, two)
                        self._note(found, a, b, self._regions(one.where, cell, bad, [two.where], ({},)))
        return found

    def _note(self, found: dict[tuple[int, int], list[Region]], a: int, b: int, regions: Iterable[Region]) -> None:
        pair = (a, b) if a < b else (b, a)
        for region in regions:
            found[pair].append(region)
            if len(found[pair]) > 8 * MOST_CONFLICTS:
                found[pair] = list(simplified(found[pair], MOST_CONFLICTS))

    def _regions(self, where: Region, cell: int, bad: int, others: Iterable[Region], cases: Cover) -> Iterator[Region]:
        """The states of all these regions."""
        bad &= self.cells.values(cell)
        here = meet(where, {cell: bad}) if bad else None
        if here is None:
            return
        self._count(1)
        for other in others:
            both = meet(here, other)
            if both is not None:
                yield from (region for case in cases if (region := meet(both, case)) is not None)

    def _distinguished(self, effect: Effect, table: int) -> int:
        """The old values of the cell for which the effect may change what a table over the cell says."""
        every = self.cells.values(effect.cell)
        if effect.new is not None:
            return self.cells.changed(table, effect.new)
        if effect.source is None:
            return every
        cell, source = effect.source
        numbers = self.cells.tables[table]
        results = self.cells.classes(source, effect.where.get(cell, self.cells.values(cell)))
        said = {numbers[value] for value in results}
        return self.cells.where(table, lambda number: bool(said - {number}))

    def _not_commuting(self, one: Effect, two: Effect) -> int:
        """The old values of a cell for which it matters which of two effects comes first."""
        if one.new is None or two.new is None:
            return self.cells.values(one.cell)
        f, g = self.cells.tables[one.new], self.cells.tables[two.new]
        return sum(1 << at for at in range(len(f)) if f[g[at]] != g[f[at]])

    # --- who makes it happen --------------------------------------------------------------------------

    def _enable(self) -> None:
        """The enablers of all conditions; their nodes bring further conditions."""
        result = self.result
        while len(result.enablers) < len(result.conditions):
            cell, allowed = result.conditions[len(result.enablers)]
            regions: dict[int, list[Region]] = defaultdict(list)
            for action, effect in self.effects[cell]:
                region = self._entering(effect, allowed)
                if region is not None:
                    regions[action].append(region)
            result.enablers.append(self._row(regions))

    def _row(self, regions: dict[int, list[Region]]) -> Row:
        row = tuple(
            self._under(action, region)
            for action, found in regions.items()
            for region in simplified(found, MOST_CONFLICTS)
        )
        self._count(len(row))
        return row

    def _entering(self, effect: Effect, allowed: int) -> Region | None:
        """Where an effect can bring its cell to an allowed value from another one; None for nowhere."""
        cell, where = effect.cell, effect.where
        before = where.get(cell, self.cells.values(cell)) & ~allowed
        if effect.new is not None:
            becomes = self.cells.tables[effect.new]
            before &= sum(1 << at for at, value in enumerate(becomes) if allowed >> value & 1)
        if not before:
            return None
        if effect.source is not None:
            table = effect.source[1]
            into = self.cells.where(table, lambda value: bool(allowed >> value & 1))
            return meet(where, {effect.source[0]: into}) if into else None
        if effect.bits is not None:
            return self._entering_by_bits(effect, allowed)
        return where

    def _entering_by_bits(self, effect: Effect, allowed: int) -> Region | None:
        """The same for sets: a member that all allowed values have, or none of them, must be put there, or not."""
        region: Region | None = effect.where
        bits = effect.bits or ()
        for place in range(self.cells.cells[effect.cell].bits):
            bit = bits[place] if place < len(bits) else 0
            wanted = {value >> place & 1 for value in members(allowed)}
            if len(wanted) != 1 or region is None:
                continue
            (number,) = wanted
            if isinstance(bit, int):
                region = region if bit == number else None
            else:
                into = sum(1 << at for at, value in enumerate(self.cells.tables[bit[1]]) if value == number)
                region = meet(region, {bit[0]: into}) if into else None
        return region

    def _changers(self, atoms: Iterable[Atom], but: int = NOBODY) -> Row:
        """Whoever may change one of these atoms."""
        regions: dict[int, list[Region]] = defaultdict(list)
        for cell, table in sorted(atoms):
            for action, effect in self.effects[cell]:
                bad = self._distinguished(effect, table)
                region = meet(effect.where, {cell: bad}) if bad and action != but else None
                if region is not None:
                    regions[action].append(region)
        return self._row(regions)

    def _fall_back(self, action: int, found: Footprint) -> None:
        """An action that is not enabled: whatever makes one of its cases true."""
        changers = self._changers(found.control, but=action)
        if len(found.enabled) == 1:
            self.result.fallback[action] = changers
        else:
            cases = tuple(self._new(case, changers, NOBODY, NOBODY) for case in found.enabled)
            self.result.fallback[action] = cases

    # --- claims, probes and the constraint ------------------------------------------------------------

    def _facts(self) -> None:
        """A node for every way in which a claim is violated or a probe true."""
        groups = [(block, False) for block in self.program.claims] + [(block, True) for block in self.program.probes]
        for group, (block, wanted) in enumerate(groups):
            found = footprint(self.asking, block)
            changers = self._changers(found.control)
            for region, exact in _ways(found, wanted):
                self._fact(region, exact, found, changers, group)
            for region in simplified(found.failing, MOST_FACTS):
                self._fact(region, False, found, changers, group if wanted else NOBODY)

    def _fact(self, region: Region, exact: bool, found: Footprint, changers: Row, group: int) -> None:
        node = self._new(region, changers, NOBODY, group)
        if exact:
            atoms: Iterable[Atom] = [(cell, self._membership(cell, allowed)) for cell, allowed in region.items()]
        else:
            atoms = found.control
        for cell, table in atoms:
            for action, effect in self.effects[cell]:
                bad = self._distinguished(effect, table)
                if any(True for _ in self._regions(effect.where, cell, bad, [region], ({},))):
                    self.rows[action][node] = None

    def _membership(self, cell: int, allowed: int) -> int:
        size = 1 << self.cells.cells[cell].bits
        return self.cells.table(tuple(allowed >> value & 1 for value in range(size)))

    def _constraint(self) -> None:
        """Outside of the constraint nothing is enabled: whoever may leave it disables everybody."""
        if self.program.constraint is None:
            return
        found = footprint(self.asking, self.program.constraint)
        changers = self._changers(found.control)
        for region in simplified(found.failing, MOST_FACTS):
            self._fact(region, False, found, changers, NOBODY)
        leaving = sorted({self.result.owner[node] if self.result.owner[node] >= 0 else node for node in changers})
        everybody = tuple(range(len(self.prints)))
        for action in everybody:
            for node in changers:
                if action not in (node, self.result.owner[node]):
                    self.rows[action][node] = None
        for action in leaving:
            for region in self._moves(action, found.control):
                self.rows[action][self._new(region, everybody, NOBODY, NOBODY)] = None

    def _moves(self, action: int, atoms: Iterable[Atom]) -> Cover:
        regions = []
        for cell, table in atoms:
            for effect in self.prints[action].effects:
                bad = self._distinguished(effect, table) if effect.cell == cell else 0
                region = meet(effect.where, {cell: bad}) if bad else None
                if region is not None:
                    regions.append(region)
        return simplified(regions, MOST_CONFLICTS)


def _length(block: Block) -> int:
    count, work = 0, [block]
    while work:
        current = work.pop()
        count += len(current)
        work += [part for item in current if isinstance(item, Branch) for part in (item.then, item.orelse)]
    return count


def _without(region: Region, known: Region) -> Region:
    """The region without what is certain where `known` holds."""
    return {cell: allowed for cell, allowed in region.items() if cell not in known or known[cell] & ~allowed}


def _ways(found: Footprint, wanted: bool) -> Iterator[tuple[Region, bool]]:
    """Regions that cover the states for which a question is answered like this, and whether they hold nothing else."""
    for where, value in found.answers:
        yes, tight = (value.nonzero, value.tight[1]) if wanted else (value.zero, value.tight[0])
        alone = len(found.answers) == 1 and not found.failing
        ways, same = limited(yes, MOST_FACTS)
        for region in ways:
            for part in where:
                both = meet(region, part)
                if both is not None:
                    yield both, tight and same and alone and not part
