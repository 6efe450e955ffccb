"""The least of all shortest runs that break a claim: fewest changes of machine, then first in alphabetical order.

All states up to the depth of the violation are explored, level by level.  Backwards through the levels, the least
number of changes is worked out for every state and machine that acts next; forwards, of the steps that keep to the
least number the one whose text comes first is taken.  So the answer is exact, and not only among reorderings of one
run.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kvproto.diagnostics import KvError
from kvproto.engine.beginning import beginning
from kvproto.engine.evaluate import State
from kvproto.engine.explorer import Explorer
from kvproto.engine.outcome import Counterexample, Options
from kvproto.engine.reduction import NO_PARTIAL_ORDER, NO_SYMMETRY
from kvproto.engine.starting import call
from kvproto.engine.tiers import choose_tier
from kvproto.ir.nodes import Claim, System
from kvproto.whatif.budget import NotKnownError, Purse
from kvproto.whatif.watched import INSIDE, SPOILT, Watched, watched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Costs = NDArray[np.uint16]

PIECE = 1 << 13
"""States expanded between two looks at the budget."""

NEVER = (1 << 16) - 1
"""The cost of what does not lead to a violation in time."""


def least_run(system: System, claim: Claim, most: int, purse: Purse | None = None) -> Counterexample | None:
    """The least of the shortest runs of at most `most` steps that break the claim; None if there is none.

    Raises NotKnownError.
    """
    seen = watched(system, claim)
    purse = purse or Purse()
    start = beginning(seen.system, seen.folded, seen.lowered.layout, lambda: bool(purse.late()))
    if claim.name in start.failed:
        return Counterexample(claim, start.failed[claim.name], ())
    options = Options(memory_limit=purse.budget.memory)
    try:
        explorer = choose_tier(seen.folded, seen.lowered, options, NO_SYMMETRY, NO_PARTIAL_ORDER).explorer
        explorer.start(start.states)
    except (KvError, MemoryError):
        raise NotKnownError("out of memory") from None
    try:
        levels = _Levels(seen, explorer, purse)
        if not levels.find(most):
            return None
        return _Choice(system, claim, levels).run()
    except MemoryError:
        raise NotKnownError("out of memory") from None
    finally:
        explorer.close()


class _Levels:
    """The states by their distance from the initial ones, up to the first level with a violation."""

    def __init__(self, seen: Watched, explorer: Explorer, purse: Purse) -> None:
        self.seen = seen
        self.explorer = explorer
        self.purse = purse
        self.begins = [0, explorer.states()]
        """The states of level i are those from begins[i] up to begins[i + 1]."""
        self.goals: bytes = b""
        """Which states of the last level violate the claim."""

    def find(self, most: int) -> bool:
        """Go on until a level has a violation; false if none of the first `most` levels after the start has one."""
        while True:
            first, last = self.begins[-2:]
            if first == last:
                return False
            if self.seen.only_ends:
                self._expand(last)
            self.goals = self._violations(first, last)
            if 1 in self.goals:
                return True
            if len(self.begins) - 2 == most:
                return False
            self._expand(last)
            self.begins.append(self.explorer.states())

    def _expand(self, last: int) -> None:
        """Expand the states of the last level, if that has not been done."""
        while self.explorer.expanded() < last:
            self.purse.look(self.explorer.states())
            if not self.explorer.advance(min(PIECE, last - self.explorer.expanded())):
                raise NotKnownError("memory limit")
            if self.seen.goes_wrong(self.explorer):
                raise NotKnownError("the model itself goes wrong before the violation")

    def _violations(self, first: int, last: int) -> bytes:
        spoilt = self.explorer.test(SPOILT, first, last)
        if not self.seen.only_ends or 1 not in spoilt:
            return spoilt
        offsets = self.explorer.edges(first, last).offsets
        inside = self.explorer.test(INSIDE, first, last)
        stuck = (begin == end for begin, end in pairwise(offsets))
        return bytes(bad == 1 and here == 1 and dead for bad, here, dead in zip(spoilt, inside, stuck, strict=True))


@dataclass(frozen=True, slots=True)
class _Arcs:
    """The steps from one level to the next: from which state, by which instance, to which state of the level."""

    sources: NDArray[np.int64]
    instances: NDArray[np.uint32]
    targets: NDArray[np.int64]


class _Choice:
    """Costs of states, and the way of the least cost."""

    def __init__(self, system: System, claim: Claim, levels: _Levels) -> None:
        import numpy as np

        self.np = np
        self.system = system
        self.claim = claim
        self.levels = levels
        instances = levels.seen.lowered.instances
        machines = list(dict.fromkeys(action.machine for action, _ in instances))
        self.machine = np.array([machines.index(action.machine) for action, _ in instances], dtype=np.int64)
        self.machines = len(machines)
        self.texts = [call(action, args) for action, args in instances]
        self.costs = self._backwards()

    def _arcs(self, level: int) -> _Arcs:
        """The steps from a level to the next."""
        np, begins = self.np, self.levels.begins
        first, last, end = begins[level : level + 3]
        edges = self.levels.explorer.edges(first, last)
        offsets = np.frombuffer(edges.offsets, dtype=np.uint64).astype(np.int64)
        sources = np.repeat(np.arange(last - first), offsets[1:] - offsets[:-1])
        targets = np.frombuffer(edges.targets, dtype=np.uint32).astype(np.int64)
        instances = np.frombuffer(edges.actions, dtype=np.uint32)
        on = (targets >= last) & (targets < end)
        return _Arcs(sources[on], instances[on], targets[on] - last)

    def _backwards(self) -> list[Costs]:
        """For each level, state and machine: the least number of changes if that machine takes the next step."""
        np = self.np
        goals = np.frombuffer(self.levels.goals, dtype=np.uint8) == 1
        after = np.where(goals[:, None], 0, NEVER).astype(np.uint16).repeat(self.machines, axis=1)
        found: list[Costs] = []
        for level in range(len(self.levels.begins) - 3, -1, -1):
            self.levels.purse.look(0)
            arcs = self._arcs(level)
            size = self.levels.begins[level + 1] - self.levels.begins[level]
            costs = np.full((size, self.machines), NEVER, dtype=np.uint16)
            machines = self.machine[arcs.instances]
            np.minimum.at(costs, (arcs.sources, machines), after[arcs.targets, machines])
            found.append(costs)
            after = self._joined(costs)
        return found[::-1]

    def _joined(self, costs: Costs) -> Costs:
        """The least cost from a state on, by the machine that took the step before."""
        best = costs.min(axis=1)
        change = self.np.where(best < NEVER, best + 1, NEVER).astype(self.np.uint16)
        return self.np.minimum(costs, change[:, None])

    def run(self) -> Counterexample:
        """The least run; of several with the same steps, that from the first initial state."""
        first = [int(costs.min()) for costs in self.costs[:1]]
        starts = self.np.flatnonzero(self.costs[0].min(axis=1) == first[0]) if first else [self.levels.goals.index(1)]
        here = {int(state): int(state) for state in starts}
        left, steps = sum(first), list[int]()
        for level in range(len(self.costs)):
            instance, here, left = self._step(level, here, left, steps)
            steps.append(instance)
        return self._found(min(here.values()), steps)

    def _step(self, level: int, here: dict[int, int], left: int, steps: list[int]) -> tuple[int, dict[int, int], int]:
        """The next step, where it leads, and how many changes may still come.

        The steps so far are possible from several states, which are kept with the initial states they come from.
        """
        first, last, end = self.levels.begins[level : level + 3]
        ways: dict[tuple[str, int], dict[int, int]] = {}
        for state, init in here.items():
            edges = self.levels.explorer.edges(first + state, first + state + 1)
            for instance, target in zip(edges.actions, edges.targets, strict=True):
                if (
                    last <= target < end
                    and self._paid(instance, steps) + self._ahead(level, target - last, instance) == left
                ):
                    known = ways.setdefault((self.texts[instance], instance), {})
                    known[target - last] = min(init, known.get(target - last, init))
        _, instance = chosen = min(ways)
        return instance, ways[chosen], left - self._paid(instance, steps)

    def _paid(self, instance: int, steps: list[int]) -> int:
        """Whether the machine changes with the step."""
        return int(bool(steps) and self.machine[instance] != self.machine[steps[-1]])

    def _ahead(self, level: int, target: int, instance: int) -> int:
        """The least number of changes after a step into a state of the next level."""
        if level + 1 == len(self.costs):
            return 0 if self.levels.goals[target] == 1 else NEVER
        row = self.costs[level + 1][target]
        return min(int(row[self.machine[instance]]), int(row.min()) + 1, NEVER)

    def _found(self, init: int, steps: list[int]) -> Counterexample:
        """The run on the original system."""
        lowered = self.levels.seen.lowered
        state: State = lowered.layout.unpack(self.levels.explorer.packed(init))
        size = len(state) - len(dict.fromkeys(self.levels.seen.marks.values()))
        actions = {action.name: action for action in self.system.actions}
        taken = [lowered.instances[number] for number in steps]
        return Counterexample(self.claim, state[:size], tuple((actions[action.name], args) for action, args in taken))
