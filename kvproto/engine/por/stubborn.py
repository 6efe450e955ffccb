"""Chooses for a state which of the enabled actions are enough: the reduction as the Python tiers run it.

c/por.h does the same; both go through nodes and rows in the same order, so that all tiers find the same states.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.engine.por.relations import NOBODY, Relations, Row

HOT = 16
"""Weight of a node whose action is enabled when a row is chosen: such nodes make the set bigger, others may not."""


class Chooser:
    """Looks for the smallest set of enabled actions that may stand for all of them."""

    def __init__(self, tables: Relations) -> None:
        self._tables = tables
        cells = tables.cells.cells
        self._places = [
            (64 * cells[cell].word + cells[cell].shift, (1 << cells[cell].bits) - 1, allowed)
            for cell, allowed in tables.conditions
        ]
        self.level = 0
        """Level of the search for which `begin_level` was called last."""
        self._settled: frozenset[int] = frozenset()

    def begin_level(self, level: int, found: Sequence[bool]) -> None:
        """A level begins; for each claim, then each probe, whether it had been found by then, and is of no interest."""
        self.level = level
        self._settled = frozenset(group for group, settled in enumerate(found) if settled)

    def choose(self, state: int, enabled: Sequence[int]) -> Sequence[int]:
        """The actions to take in a packed state; `enabled` (in order) are those that do something or fail."""
        best = enabled
        everybody = set(enabled)
        for start in enabled:
            if len(best) == 1:
                break
            found = self._closure(state, start, everybody, len(best))
            if found is not None:
                best = [action for action in enabled if action in found]
        return best

    def _closure(self, state: int, start: int, enabled: set[int], limit: int) -> set[int] | None:
        """What has to be there along with `start`; None if that are not fewer than `limit` enabled actions."""
        tables = self._tables
        taken, work, count = {start}, [start], 1
        while work:
            node = work.pop()
            row = tables.dependent[node] if node in enabled else self._row(state, node, taken, enabled)
            for other in row:
                if other in taken or tables.owner[other] in taken or tables.group[other] in self._settled:
                    continue
                taken.add(other)
                work.append(other)
                if other in enabled:
                    count += 1
                    if count >= limit:
                        return None
        return taken

    def _row(self, state: int, node: int, taken: set[int], enabled: set[int]) -> Row:
        """The cheapest way to have a node that is not enabled."""
        tables = self._tables
        best: Row | None = None
        cheapest = 0
        for condition in tables.needs[node]:
            if self._holds(state, condition):
                continue
            row = tables.enablers[condition]
            cost = self._cost(state, row, taken, enabled)
            if best is None or cost < cheapest:
                best, cheapest = row, cost
        fallback = tables.fallback[node]
        if best is None or self._cost(state, fallback, taken, enabled) < cheapest:
            return fallback
        return best

    def _cost(self, state: int, row: Row, taken: set[int], enabled: set[int]) -> int:
        owner = self._tables.owner
        cost = 0
        for node in row:
            action = owner[node] if owner[node] != NOBODY else node
            if node in taken or action in taken:
                continue
            if action in enabled:
                cost += HOT
            elif all(self._holds(state, condition) for condition in self._tables.final[node]):
                cost += 1
        return cost

    def _holds(self, state: int, condition: int) -> bool:
        shift, mask, allowed = self._places[condition]
        return bool(allowed >> (state >> shift & mask) & 1)
