"""Chooses for a state which of the enabled actions are enough: the reduction as the Python tiers run it.

From each enabled action in turn everything is taken that has to be there along with it, depth first, until more enabled
actions have come in than a set needs that was found before.  Parts that bring no enabled action are recognised
(Tarjan's strongly connected components) and are not looked at again for the same state.

c/por.h does the same; both go through nodes and rows in the same order, so that all tiers find the same states.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.engine.por.relations import NOBODY, Relations, Row

HOT, WARM, COLD = 64, 1, 4
"""Costs of a node when a row is chosen: its action is enabled and the node is true, so that the set gets bigger; only
the action is enabled; neither.  What can never happen any more costs nothing."""

OPEN, TAKEN, HARMLESS = range(3)
"""What is known of a node: its component is not complete; it is in the set; it is, and brings no enabled action."""


class Chooser:
    """Looks for a small set of enabled actions that may stand for all of them."""

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
        everybody = set(enabled)
        harmless: dict[int, int] = {}
        tried: set[int] = set()
        best = enabled
        least = self._least(state, enabled)
        for start in reversed(enabled):  # what comes late in a life first: it is soon over
            if len(least[start]) >= len(best):
                continue
            closure = _Closure(self._tables, self._places, self._settled, state, everybody, tried, harmless)
            tried.add(start)
            if closure.complete(start, len(best)):
                best = [action for action in enabled if action in closure.known]
            harmless = closure.harmless()
        return best

    def _least(self, state: int, enabled: Sequence[int]) -> dict[int, set[int]]:
        """For each enabled action those that it needs along with it in any case, itself among them."""
        needed = {action: {action} for action in enabled}
        for action, mine in needed.items():
            for node in self._tables.dependent[action]:
                owner = self._tables.owner[node]
                other = node if owner == NOBODY else owner
                if other in needed and other not in mine and self._all_hold(state, self._tables.needs[node]):
                    mine.add(other)
        for middle in enabled:
            for mine in needed.values():
                if middle in mine:
                    mine |= needed[middle]
        return needed

    def _all_hold(self, state: int, conditions: Row) -> bool:
        for condition in conditions:
            shift, mask, allowed = self._places[condition]
            if not allowed >> (state >> shift & mask) & 1:
                return False
        return True


class _Closure:
    """What has to be there along with one enabled action of a state."""

    def __init__(
        self,
        tables: Relations,
        places: Sequence[tuple[int, int, int]],
        settled: frozenset[int],
        state: int,
        enabled: set[int],
        tried: set[int],
        harmless: dict[int, int],
    ) -> None:
        self.tables = tables
        self.places = places
        self.settled = settled
        self.state = state
        self.enabled = enabled
        self.tried = tried
        self.known = dict(harmless)
        self.index: dict[int, int] = {}
        self.low: dict[int, int] = {}
        self.hot: set[int] = set()
        """Nodes from which an enabled action was reached."""
        self.open: list[int] = []
        self.count = 0

    def harmless(self) -> dict[int, int]:
        """The nodes that bring no enabled action."""
        return {node: known for node, known in self.known.items() if known == HARMLESS}

    def complete(self, start: int, limit: int) -> bool:
        """Take all; False once that would be no fewer than `limit` enabled actions.

        It is no fewer, either, with an action from which the same was tried before.
        """
        path = [(start, iter(self._enter(start)))]
        while path:
            if self.count >= limit:
                return False
            node, row = path[-1]
            other = next(row, None)
            if other is None:
                path.pop()
                self._leave(node, path[-1][0] if path else NOBODY)
                continue
            if self.tables.group[other] in self.settled:
                continue
            owner = self.tables.owner[other]
            if owner in self.known:
                other = owner
            known = self.known.get(other)
            if known is None:
                if other in self.tried:
                    return False
                if not all(map(self._holds, self.tables.final[other])):
                    continue
                path.append((other, iter(self._enter(other))))
            elif known == OPEN:
                self.low[node] = min(self.low[node], self.index[other])
            elif known == TAKEN:
                self.hot.add(node)
        return True

    def _enter(self, node: int) -> Row:
        """A node is met; the row that it brings along."""
        self.known[node] = OPEN
        self.index[node] = self.low[node] = len(self.index)
        self.open.append(node)
        if node not in self.enabled:
            return self._row(node)
        self.count += 1
        self.hot.add(node)
        return self.tables.dependent[node]

    def _leave(self, node: int, above: int) -> None:
        """All that a node brings has been looked at."""
        if self.low[node] == self.index[node]:
            first = self.open.index(node)
            component = self.open[first:]
            del self.open[first:]
            known = HARMLESS if self.hot.isdisjoint(component) else TAKEN
            self.known.update(dict.fromkeys(component, known))
            if known == TAKEN and above != NOBODY:
                self.hot.add(above)
        elif above != NOBODY:
            self.low[above] = min(self.low[above], self.low[node])

    def _row(self, node: int) -> Row:
        """The cheapest way to have a node that is not enabled."""
        tables = self.tables
        best: Row | None = None
        cheapest = 0
        for condition in tables.needs[node]:
            if self._holds(condition):
                continue
            row = tables.enablers[condition]
            cost = self._cost(row)
            if best is None or cost < cheapest:
                best, cheapest = row, cost
            if cheapest == 0:
                return best
        fallback = tables.fallback[node]
        if best is None or self._cost(fallback) < cheapest:
            return fallback
        return best

    def _cost(self, row: Row) -> int:
        """What taking a row would cost."""
        cost = 0
        for node in row:
            owner = self.tables.owner[node]
            action = node if owner == NOBODY else owner
            if node in self.known or action in self.known:
                continue
            if all(map(self._holds, self.tables.final[node])):
                if action not in self.enabled:
                    cost += COLD
                else:
                    cost += HOT if all(map(self._holds, self.tables.needs[node])) else WARM
        return cost

    def _holds(self, condition: int) -> bool:
        shift, mask, allowed = self.places[condition]
        return bool(allowed >> (self.state >> shift & mask) & 1)
