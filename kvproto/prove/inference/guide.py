"""Clauses made to order: those that hold in all seeds and exclude one given state.

A state is excluded by a clause that is false in it for some choice of the variables.  Of the literals that are true
there, some must not be true together in any row of the seeds: their negations are the clause.  Each row of the seeds
has to miss one of them, so the search branches over the few literals that the nearest row misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from kvproto.prove.evaluate import holds
from kvproto.prove.formula import Same
from kvproto.prove.inference.groundwork import Groundwork
from kvproto.prove.inference.pool import Pool
from kvproto.prove.mining.minimal import Literals, canonical, without_subsumed
from kvproto.prove.mining.rows import Bits, rows
from kvproto.prove.proof import Induction
from kvproto.prove.theory import Clause, Structure

_ROWS = 200
"""Choices of the variables that are looked at, for one state."""


class Guide:
    """Proposes clauses of at most `longest` literals, `count` for a state."""

    def __init__(self, work: Groundwork, longest: int, count: int):
        self.work, self.longest, self.count = work, longest, count
        self.same = [n for n, atom in enumerate(work.template.atoms) if isinstance(atom, Same)]

    def excluding(self, state: Structure) -> list[Literals]:
        """The shortest clauses that are false in the state, in a fixed order."""
        template = self.work.template
        here = rows(template, [state])
        here = here[~here[:, self.same].any(axis=1)][:_ROWS]
        found: dict[Literals, None] = {}
        for row in here:
            for places in self._missing(row):
                found[canonical(template, [2 * n + int(row[n]) for n in places])] = None
        return without_subsumed(template, list(found))[: self.count]

    def _missing(self, row: Bits) -> Iterator[tuple[int, ...]]:
        """Sets of atoms of which every row of the seeds differs from this one in some."""
        differs = self.work.truth != row
        near = np.argsort(differs.sum(axis=1), kind="stable")
        differs = differs[near]
        if len(differs) and not differs[0].any():
            return
        seen: set[frozenset[int]] = set()
        yield from self._hitting(differs, np.ones(len(differs), dtype=np.bool_), (), seen)

    def _hitting(
        self, differs: Bits, left: Bits, chosen: tuple[int, ...], seen: set[frozenset[int]]
    ) -> Iterator[tuple[int, ...]]:
        open_ = int(np.argmax(left))
        if not left[open_]:
            yield tuple(sorted(chosen))
            return
        if len(chosen) == self.longest:
            return
        for place in np.flatnonzero(differs[open_]):
            extended = (*chosen, int(place))
            key = frozenset(extended)
            if key not in seen:
                seen.add(key)
                yield from self._hitting(differs, left & ~differs[:, place], extended, seen)


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
