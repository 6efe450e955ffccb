"""Other orders of the steps of one run: those that do not touch what another one needs may change places.

A step depends on an earlier one if one of them writes what the other one reads or writes.  Every order that keeps
dependent steps as they are is a run, in which each step reads the same values and so does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvproto.trace.trace import Step

MOST_SETS = 50_000
"""So many sets of steps that may come first are looked at; of runs with more an order is chosen step by step."""


@dataclass(frozen=True, slots=True)
class Order:
    """Numbers of steps in their new order; `exact` if no order has fewer changes of machine, or comes before it."""

    steps: tuple[int, ...]
    exact: bool


def best_order(steps: Sequence[Step], texts: Sequence[str], most: int = MOST_SETS) -> Order:
    """The order with the fewest changes of machine; of several the one whose texts come first in the alphabet."""
    task = _Task([step.lane for step in steps], texts, needs_of(steps))
    sets = task.sets(most)
    return Order(task.greedy(), False) if sets is None else Order(task.exact(sets), True)


def needs_of(steps: Sequence[Step]) -> list[int]:
    """For each step the set of earlier steps (as bits) that it depends on."""
    found = []
    for at, step in enumerate(steps):
        needs = 0
        for before, other in enumerate(steps[:at]):
            touched, written = {*other.reads, *other.writes}, set(other.writes)
            if written & {*step.reads, *step.writes} or touched & set(step.writes):
                needs |= 1 << before
        found.append(needs)
    return found


class _Task:
    """One run to put in order; sets of steps are numbers, with a bit for each step."""

    def __init__(self, lanes: Sequence[str], texts: Sequence[str], needs: Sequence[int]) -> None:
        self.lanes, self.texts, self.needs = lanes, texts, needs
        self.all = (1 << len(lanes)) - 1

    def ready(self, done: int) -> list[int]:
        """The steps that may come next."""
        return [n for n, needs in enumerate(self.needs) if not done >> n & 1 and not needs & ~done]

    def sets(self, most: int) -> list[int] | None:
        """Every set of steps that may come first, small ones first; None if there are more than `most`."""
        found, level = list[int](), {0}
        while level:
            found += level
            if len(found) > most:
                return None
            level = {done | 1 << n for done in level for n in self.ready(done)}
        return found

    def exact(self, sets: Sequence[int]) -> tuple[int, ...]:
        """The best order: the least number of changes still to come is known for every set, from the largest down."""
        cost: dict[int, dict[str, int]] = {}
        """For a set and the machine that steps next: changes of machine after that step has begun."""
        for done in reversed(sets):
            row: dict[str, int] = {}
            for n in self.ready(done):
                lane = self.lanes[n]
                row[lane] = min(row.get(lane, len(self.lanes)), self._after(cost, done | 1 << n, lane))
            cost[done] = row
        order, done, lane = list[int](), 0, ""
        while done != self.all:
            left = self._after(cost, done, lane)
            good = [
                n
                for n in self.ready(done)
                if self._changes(lane, n) + self._after(cost, done | 1 << n, self.lanes[n]) == left
            ]
            n = min(good, key=lambda n: (self.texts[n], n))
            order.append(n)
            done, lane = done | 1 << n, self.lanes[n]
        return tuple(order)

    def _changes(self, lane: str, n: int) -> int:
        return int(lane not in ("", self.lanes[n]))

    def _after(self, cost: dict[int, dict[str, int]], done: int, lane: str) -> int:
        """The least number of changes once these steps are done, the last by this machine ("": nobody's)."""
        row = cost[done]
        return min((changes + int(lane not in ("", other)) for other, changes in row.items()), default=0)

    def greedy(self) -> tuple[int, ...]:
        """An order in which every machine goes on as long as it can, and the one that can longest comes next."""
        order, done, lane = list[int](), 0, ""
        while done != self.all:
            runs = {other: self._run(done, other) for other in {self.lanes[n] for n in self.ready(done)}}
            lane = min(runs, key=lambda other: (other != lane, -len(runs[other]), self.texts[runs[other][0]]))
            order += runs[lane]
            done |= sum(1 << n for n in runs[lane])
        return tuple(order)

    def _run(self, done: int, lane: str) -> list[int]:
        """The steps that a machine can take without the others, one after the other."""
        steps = list[int]()
        while mine := [n for n in self.ready(done) if self.lanes[n] == lane]:
            n = min(mine, key=lambda n: (self.texts[n], n))
            steps.append(n)
            done |= 1 << n
        return steps
