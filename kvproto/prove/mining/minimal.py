"""All shortest clauses that hold in every row, up to a number of literals, by intersection of bit sets.

Each literal has the set of rows that make it false; a clause holds if the sets of its literals have no row in common.
Clauses that a shorter one makes superfluous, also after replacing variables, are left out, and of clauses that differ
by names only the first is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, groupby

import numpy as np

from kvproto.prove.mining.rows import Bits, Words, distinct_rows
from kvproto.prove.mining.template import Template

Literals = tuple[int, ...]
"""A clause: numbers of literals in ascending order."""

_GLANCE = 16
"""Words that are looked at first: most clauses fail there."""


def minimal_clauses(
    template: Template, truth: Bits, most: int, within: Collection[int] | None = None
) -> list[Literals]:
    """Valid clauses of at most `most` literals, without those that another one makes superfluous.

    `within` restricts the literals.
    """
    search = _Search(template, truth, template.usable if within is None else within)
    found: list[Literals] = []
    for length in range(1, most + 1):
        fresh = sorted({canonical(template, clause) for clause in search.of_length(length)})
        found += fresh
    return without_subsumed(template, found)


def canonical(template: Template, clause: Sequence[int]) -> Literals:
    """The clause under the first of all names for its variables."""
    best = tuple(sorted(clause))
    for table in template.renamings:
        image = [table[literal] for literal in clause]
        if None not in image:
            best = min(best, tuple(sorted(literal for literal in image if literal is not None)))
    return best


def without_subsumed(template: Template, clauses: Sequence[Literals]) -> list[Literals]:
    """Clauses that contain no instance of another one; shorter ones first."""
    kept: list[Literals] = []
    shorter: set[frozenset[int]] = set()
    ordered = sorted(dict.fromkeys(clauses), key=lambda literals: (len(literals), literals))
    for _, group in groupby(ordered, key=len):
        alike = [clause for clause in group if not _contains_one(clause, shorter)]
        owners: dict[frozenset[int], set[Literals]] = {}
        for clause in alike:
            for instance in instances_of(template, clause):
                owners.setdefault(instance, set()).add(clause)
        kept += (clause for clause in alike if owners[frozenset(clause)] == {clause})
        shorter.update(owners)
    return kept


def instances_of(template: Template, clause: Sequence[int]) -> set[frozenset[int]]:
    """What becomes of the clause when variables are replaced by others; instances that are true are left out."""
    found = {frozenset(clause)}
    for table in template.substitutions:
        image = [table[literal] for literal in clause]
        if None not in image:
            instance = frozenset(literal for literal in image if literal is not None)
            if not any(literal ^ 1 in instance for literal in instance):
                found.add(instance)
    return found


def subsumed(clause: Sequence[int], instances: set[frozenset[int]]) -> bool:
    """Whether the clause contains one of the instances."""
    return _contains_one(tuple(clause), instances)


def _contains_one(clause: Literals, instances: set[frozenset[int]]) -> bool:
    return any(frozenset(part) in instances for part in _parts(clause))


def _parts(clause: Literals) -> Iterator[Literals]:
    """All subsets but the empty one."""
    for mask in range(1, 1 << len(clause)):
        yield tuple(literal for place, literal in enumerate(clause) if mask >> place & 1)


class _Search:
    """Depth first over ascending literals; below a valid clause there is nothing to find."""

    def __init__(self, template: Template, truth: Bits, within: Collection[int]):
        asked = sorted({literal // 2 for literal in within})
        rows = distinct_rows(truth[:, asked])
        columns = np.zeros((2 * truth.shape[1], len(rows)), dtype=np.bool_)
        for place, atom in enumerate(asked):
            columns[2 * atom], columns[2 * atom + 1] = ~rows[:, place], rows[:, place]
        useful = [n for n in template.usable if n in within and not columns[n].all()]
        self.literals = np.array(useful, dtype=np.int64)
        self.fails = _packed(columns[self.literals])
        self.alone = np.zeros(len(useful), dtype=np.bool_)
        """Literals that hold in every row."""
        self.valid: set[frozenset[int]] = set()
        """Valid clauses of three literals or more, by place."""
        self.apart = ~(self.literals[:, None] ^ 1 == self.literals[None, :])
        """Which two literals can be in one clause: they are no valid clause and no opposites."""

    def of_length(self, length: int) -> list[Literals]:
        """Valid clauses of exactly this length that contain no shorter one."""
        everything = np.full(self.fails.shape[1], ~np.uint64(0), dtype=np.uint64)
        found = list(self._below((), everything, ~self.alone, length))
        for clause in found:
            if length == 1:
                self.alone[clause[0]] = True
            elif length == 2:
                self.apart[clause] = self.apart[clause[::-1]] = False
            else:
                self.valid.add(frozenset(clause))
        return [tuple(int(self.literals[place]) for place in clause) for clause in found]

    def _below(self, chosen: tuple[int, ...], common: Words, free: Bits, length: int) -> Iterator[tuple[int, ...]]:
        """Clauses that begin with what is chosen; `free` are the places that may follow."""
        if len(chosen) == length - 1:
            for last in self._closing(common, free):
                if not self._superfluous((*chosen, last)):
                    yield (*chosen, last)
            return
        for following in np.flatnonzero(free):
            extended = (*chosen, int(following))
            if not self._superfluous(extended):
                rest = free & self.apart[following]
                rest[: following + 1] = False
                yield from self._below(extended, common & self.fails[following], rest, length)

    def _closing(self, common: Words, free: Bits) -> list[int]:
        """Free literals whose rows have none in common with those given."""
        places = np.flatnonzero(free)
        open_ = places[~(self.fails[places, :_GLANCE] & common[:_GLANCE]).any(axis=1)]
        closed = open_[~(self.fails[open_, _GLANCE:] & common[_GLANCE:]).any(axis=1)]
        return [int(n) for n in closed]

    def _superfluous(self, chosen: tuple[int, ...]) -> bool:
        """Whether a valid clause of three or more is inside; the newest literal is in it."""
        if not self.valid or len(chosen) < 3:
            return False
        *others, newest = chosen
        return any(
            frozenset((*part, newest)) in self.valid
            for size in range(2, len(others) + 1)
            for part in combinations(others, size)
        )


def _packed(columns: Bits) -> Words:
    """Rows of bits as words of 64."""
    literals, count = columns.shape
    padded = np.zeros((literals, max(1, (count + 63) // 64) * 64), dtype=np.bool_)
    padded[:, :count] = columns
    return np.packbits(padded, axis=1).view(np.uint64)
