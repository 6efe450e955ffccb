"""Clauses made to order: those that hold in all seeds and exclude one given state.

A state is excluded by a clause that is false in it for some choice of the variables.  Of the literals that are true
there, some must not be true together in any row of the seeds: their negations are the clause.  Each row of the seeds
has to miss one of them, so the search branches over the few literals that the nearest row misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from kvproto.prove.inference.groundwork import Groundwork, Part
from kvproto.prove.inference.pool import Pool
from kvproto.prove.logic.evaluate import holds
from kvproto.prove.logic.formula import Same
from kvproto.prove.logic.theory import Clause, Structure
from kvproto.prove.mining.minimal import Literals, canonical, without_subsumed
from kvproto.prove.mining.rows import Bits, Numbers, distinct_rows, rows
from kvproto.prove.proof import Induction

_NODES = 300
"""Partial clauses that are looked at, for one choice of the variables."""


class Guide:
    """Proposes clauses of at most `longest` literals, about `count` for a state.

    Clauses over few variables come first: they say more, and there are fewer of them.
    """

    def __init__(self, work: Groundwork, longest: int, count: int):
        self.work, self.longest, self.count = work, longest, count
        self.views = [_View(work, part) for part in work.views()]

    def excluding(self, state: Structure) -> list[Literals]:
        """Short clauses that are false in the state, in a fixed order."""
        template = self.work.template
        here = rows(template, [state])
        found: dict[Literals, None] = {}
        for view in self.views:
            for clause in view.clauses(here, self.longest):
                found[canonical(template, clause)] = None
            if len(found) >= self.count:
                break
        return without_subsumed(template, list(found))[: self.count]


class _View:
    """The atoms over some of the variables, and the rows of the seeds as these atoms see them."""

    def __init__(self, work: Groundwork, part: Part):
        self.atoms = np.array(sorted({literal // 2 for literal in part} & work.changing), dtype=np.int64)
        self.same = [n for n, atom in enumerate(self.atoms) if isinstance(work.template.atoms[atom], Same)]
        self.truth = distinct_rows(work.truth[:, self.atoms])

    def clauses(self, here: Bits, longest: int) -> Iterator[list[int]]:
        """Clauses over these atoms that one of the rows makes false."""
        for row in distinct_rows(here[:, self.atoms]):
            if not row[self.same].any():
                for places in self._missing(row, longest):
                    yield [2 * int(self.atoms[n]) + int(row[n]) for n in places]

    def _missing(self, row: Bits, longest: int) -> Iterator[tuple[int, ...]]:
        """Sets of atoms of which every row of the seeds differs from this one in some."""
        differs = self.truth != row
        near = np.argsort(differs.sum(axis=1), kind="stable")
        if not len(near) or not differs[near[0]].any():
            return
        waiting: list[tuple[tuple[int, ...], Numbers]] = [((), near)]
        seen: set[frozenset[int]] = set()
        while waiting and len(seen) < _NODES:
            chosen, left = waiting.pop(0)
            if not len(left):
                yield chosen
            elif len(chosen) < longest:
                for place in np.flatnonzero(differs[left[0]]):
                    extended = (*chosen, int(place))
                    if frozenset(extended) not in seen:
                        seen.add(frozenset(extended))
                        waiting.append((extended, left[~differs[left, place]]))


class Support:
    """What the guide proposes for claims, for what supports claims, and so on to a depth.

    Claims have depth 0, and what excludes a state that breaks a clause of depth n has depth n + 1.  A clause of the
    last depth, and one that nobody asked for, is given up when a step breaks it.
    """

    def __init__(self, guide: Guide, wanted: Iterable[str], depth: int, states: int):
        self.guide, self.depth, self.left = guide, depth, states
        self.depths = dict.fromkeys(wanted, 0)

    def support(self, found: Induction, pool: Pool) -> list[Clause]:
        """Clauses that exclude the state before, if the step breaks one that is worth it."""
        broken = [name for name in self.depths if pool.has(name) and not holds(pool.clause(name).formula, found.after)]
        depth = min((self.depths[name] for name in broken), default=self.depth)
        if depth >= self.depth or self.left <= 0:
            return []
        return self.exclude(found.before, pool, depth + 1)

    def exclude(self, state: Structure, pool: Pool, depth: int = 1) -> list[Clause]:
        """Clauses that exclude a state that must not be."""
        self.left -= 1
        fresh = pool.add(self.guide.excluding(state)) if self.left >= 0 else []
        self.depths.update({clause.name: depth for clause in fresh})
        return fresh
