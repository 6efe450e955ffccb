"""What can still happen from one state: whether the violation can be avoided there, and whether it can be missed.

The graph of all continuations is explored with violating states absorbing.  A continuation that ends goes to a state
without a step; one that goes on for ever stays in a strongly connected component in the end.  So the violation

- is *avoidable* (some continuation leads to where it cannot be reached any more) if there is a component that no step
  leaves and that holds no violation;
- is *forced* (every continuation runs into it) if every component without a violation is a single state, and a step
  leads out of it.  Nothing is said of fairness: a run that goes round for ever misses the violation.

A step that changes nothing is none, as everywhere in kvproto, and neither is one that fails another assertion.
A run that leaves the model's constraint ends there, without a violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import Args, State
from kvproto.engine.explorer import Edges, Explorer
from kvproto.engine.outcome import Options
from kvproto.engine.reduction import NO_PARTIAL_ORDER, NO_SYMMETRY
from kvproto.engine.tiers import choose_tier
from kvproto.ir.nodes import Action, Claim, System
from kvproto.whatif.budget import Budget, NotKnownError, Purse
from kvproto.whatif.escape import Escape
from kvproto.whatif.watched import GONE, INSIDE, SPOILT, watched

if TYPE_CHECKING:
    from kvproto.engine.liveness.graph import Graph
    from kvproto.engine.liveness.kernels import Kernels

PIECE = 1 << 13
"""States expanded between two looks at the budget."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can still happen from a state.

    `states` were looked at; `way` leads to where the violation cannot be reached any more, None where it always can.
    """

    avoidable: bool
    forced: bool
    states: int
    way: tuple[tuple[Action, Args], ...] | None


class Futures:
    """The continuations of states of one system, judged by one claim about states or steps."""

    def __init__(self, system: System, claim: Claim, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.purse = Purse(self.budget)
        self.watched = watched(system, claim)
        self.escape = Escape(system, claim)
        self.lowered = self.watched.lowered

    def of(self, state: State) -> Outlook:
        """What can still happen from a state that does not violate the claim.  Raises NotKnownError."""
        try:
            return self._explored(state)
        except NotKnownError:
            way = self.escape.way(state)
            if way is None:
                raise
            return Outlook(True, False, len(way) + 1, way)

    def _explored(self, state: State) -> Outlook:
        """The same by looking at all that can follow."""
        options = Options(memory_limit=self.budget.memory)
        try:
            explorer = choose_tier(self.watched.folded, self.lowered, options, NO_SYMMETRY, NO_PARTIAL_ORDER).explorer
        except KvError as problem:
            raise NotKnownError(problem.diagnostic.message) from None
        try:
            explorer.start([self.watched.packed(state)])
            safe = self._explore(explorer)
            if safe is not None:
                return Outlook(True, False, explorer.states(), self._way(explorer, safe))
            return self._judged(explorer)
        except MemoryError:
            raise NotKnownError("out of memory") from None
        finally:
            explorer.close()

    def _explore(self, explorer: Explorer) -> int | None:
        """Find all continuations, or an end without violation.  Raises NotKnownError."""
        while explorer.frontier():
            if not explorer.advance(PIECE):
                raise NotKnownError("memory limit")
            if self.watched.goes_wrong(explorer):
                raise NotKnownError("in some continuation the model itself goes wrong (kvproto check --keep-going)")
            end = explorer.deadlock()
            if end is not None:
                return end
            if explorer.frontier():
                self.purse.look(explorer.states())
        return None

    def _judged(self, explorer: Explorer) -> Outlook:
        """The answer, from the graph of everything that can follow."""
        from kvproto.engine.liveness import Budget as GraphBudget
        from kvproto.engine.liveness.fair import intersection
        from kvproto.engine.liveness.graph import Unfinished, build_graph, truth
        from kvproto.engine.liveness.verdicts import best_kernels

        rows, kernels = _Rows(explorer), best_kernels()
        budget = GraphBudget(self.budget.memory, self.purse.late)
        try:
            graph = build_graph(rows, len(self.lowered.instances), (), kernels, budget)
        except Unfinished as problem:
            raise NotKnownError(str(problem)) from None
        gone = truth(explorer, GONE, graph.states)
        bad = truth(explorer, SPOILT, graph.states)
        if self.watched.only_ends:
            bad = intersection(intersection(bad, rows.ends), truth(explorer, INSIDE, graph.states))
        safe, missed = _ends(graph, kernels, bad, gone)
        way = None if safe is None else self._way(explorer, safe)
        return Outlook(safe is not None, not missed, graph.states, way)

    def _way(self, explorer: Explorer, state: int) -> tuple[tuple[Action, Args], ...]:
        return tuple(self.lowered.instances[number] for number in explorer.path(state)[1])


class _Rows:
    """An explorer of which only a graph is wanted; it notes which states have no step, not even an idle one."""

    def __init__(self, explorer: Explorer) -> None:
        self.states, self.expanded, self.transitions = explorer.states, explorer.expanded, explorer.transitions
        self.memory, self.packed, self.path, self.test = explorer.memory, explorer.packed, explorer.path, explorer.test
        self._edges = explorer.edges
        self.ends = bytearray()

    def edges(self, first: int, last: int) -> Edges:
        """The transitions of the states, which are asked for in order."""
        found = self._edges(first, last)
        self.ends += bytes(begin == end for begin, end in pairwise(found.offsets))
        return found


def _ends(graph: Graph, kernels: Kernels, bad: bytearray, gone: bytearray) -> tuple[int | None, bool]:
    """The first state where no violation can be reached any more, and whether some run misses all violations."""
    import numpy as np

    parts = kernels.components(graph, bytearray(1 - mark for mark in gone))
    number = np.frombuffer(parts.number, dtype=np.uint32).astype(np.int64)
    members = np.frombuffer(parts.members, dtype=np.uint32)
    targets = np.frombuffer(graph.targets, dtype=np.uint32)
    offsets = np.frombuffer(graph.offsets, dtype=np.uint64).astype(np.int64)
    sources = np.repeat(np.arange(graph.states, dtype=np.uint32), offsets[1:] - offsets[:-1])
    count = int(number[members].max()) + 1
    real = np.frombuffer(gone, dtype=np.uint8)[targets] == 0
    leaving = real & (number[sources] != number[targets])
    left, spoilt = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    left[number[sources[leaving]]] = True
    spoilt[number[members[np.frombuffer(bad, dtype=np.uint8)[members] == 1]]] = True
    size = np.bincount(number[members], minlength=count)
    safe = ~left & ~spoilt
    missed = ~spoilt & (~left | (size > 1))
    first = members[safe[number[members]]]
    return (int(first.min()) if len(first) else None), bool(missed.any())
