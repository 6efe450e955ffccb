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

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from kvproto.diagnostics import KvError
from kvproto.engine.clock import Clock
from kvproto.engine.evaluate import Args, State
from kvproto.engine.explorer import Edges, Explorer
from kvproto.engine.lower import lower
from kvproto.engine.outcome import Options
from kvproto.engine.reduction import NO_PARTIAL_ORDER, NO_SYMMETRY
from kvproto.engine.tiers import choose_tier
from kvproto.ir.nodes import Action, Assert, Claim, Const, Expr, Logic, System, Unary
from kvproto.ir.types import BoolT
from kvproto.ir.walk import statements
from kvproto.passes import run as run_passes
from kvproto.whatif.marks import HERE, mark_is_set, marked, unmarked

if TYPE_CHECKING:
    from kvproto.engine.liveness.graph import Graph
    from kvproto.engine.liveness.kernels import Kernels

BROKEN, UNDONE = "(broken)", "(undone)"
"""Marks of states: the step to it has failed the claim; it has failed another assertion, so it was none."""

PIECE = 1 << 13
"""States expanded between two looks at the budget."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost: states of one graph, bytes, and seconds in all (None: no limit).

    Without a limit of time the same question always has the same answer.
    """

    states: int = 2_000_000
    memory: int | None = 4 << 30
    seconds: float | None = None


class NotKnownError(Exception):
    """The question cannot be answered within the budget, or at all; the text says why."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can still happen from a state.

    `states` were looked at; `way` leads to where the violation cannot be reached any more, None where it always can.
    """

    avoidable: bool
    forced: bool
    states: int
    way: tuple[tuple[Action, Args], ...] | None


SPOILT, GONE, INSIDE = range(3)
"""What is asked of every state: does it violate the claim, was the step to it none, may it be expanded."""


class Futures:
    """The continuations of states of one system, judged by one claim about states or steps."""

    def __init__(
        self, system: System, claim: Claim, budget: Budget | None = None, seconds: Callable[[], float] | None = None
    ) -> None:
        self.budget = budget or Budget()
        self.seconds = seconds or Clock().seconds
        self.only_ends = claim.kind == "deadlock"
        self.marks = _marks(system, claim)
        watched = replace(marked(system, self.marks), inits=(), fairness=())
        spoilt, gone = _spoilt(claim), mark_is_set(UNDONE) if UNDONE in self.marks.values() else _constant(value=False)
        # What is outside of the constraint is not expanded: so violating states are absorbing.
        inside = _and(watched.constraint, _not(gone if self.only_ends else spoilt))
        # The explorer looks out for an end without violation: it settles everything.
        good_end = Claim("good end", "deadlock", "", "", spoilt if self.only_ends else None, HERE)
        self.system = run_passes(replace(watched, claims=(good_end,), constraint=inside))
        self.lowered = lower(self.system, self.system.claims, predicates=(spoilt, gone, inside))

    def of(self, state: State) -> Outlook:
        """What can still happen from a state that does not violate the claim.  Raises NotKnownError."""
        options = Options(memory_limit=self.budget.memory)
        try:
            explorer = choose_tier(self.system, self.lowered, options, NO_SYMMETRY, NO_PARTIAL_ORDER).explorer
        except KvError as problem:
            raise NotKnownError(problem.diagnostic.message) from None
        try:
            explorer.start([self.lowered.layout.pack(unmarked(state, self.marks))])
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
            if any(not self.lowered.faults[hit.fault].claim for hit in explorer.faults()):
                raise NotKnownError("in some continuation the model itself goes wrong (kvproto check --keep-going)")
            end = explorer.deadlock()
            if end is not None:
                return end
            reason = self._late()
            if explorer.states() > self.budget.states:
                reason = f"more than {self.budget.states:,} states can follow"
            if reason and explorer.frontier():
                raise NotKnownError(reason)
        return None

    def _late(self) -> str:
        """Why there is no time left, if there is none."""
        limit = self.budget.seconds
        return f"not done within {limit:g} s" if limit is not None and self.seconds() > limit else ""

    def _judged(self, explorer: Explorer) -> Outlook:
        """The answer, from the graph of everything that can follow."""
        from kvproto.engine.liveness import Budget as GraphBudget
        from kvproto.engine.liveness.fair import intersection
        from kvproto.engine.liveness.graph import Unfinished, build_graph, truth
        from kvproto.engine.liveness.verdicts import best_kernels

        rows, kernels = _Rows(explorer), best_kernels()
        budget = GraphBudget(self.budget.memory, self._late)
        try:
            graph = build_graph(rows, len(self.lowered.instances), (), kernels, budget)
        except Unfinished as problem:
            raise NotKnownError(str(problem)) from None
        gone = truth(explorer, GONE, graph.states)
        bad = truth(explorer, SPOILT, graph.states)
        if self.only_ends:
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


# --- conditions ---------------------------------------------------------------------------------------------


def _marks(system: System, claim: Claim) -> dict[str, str]:
    """Which assertions are watched: that of the claim; where ends matter all, as a step that fails is no end."""
    if claim.kind == "assert":
        return {claim.name: BROKEN}
    names = {s.claim for a in system.actions for s in statements(a.body) if isinstance(s, Assert)}
    return dict.fromkeys(sorted(names), UNDONE) if claim.kind == "deadlock" else {}


def _spoilt(claim: Claim) -> Expr:
    """What violates the claim, in a state (or, of a deadlock, in an end)."""
    if claim.kind == "assert":
        return mark_is_set(BROKEN)
    return _constant(value=claim.kind == "deadlock") if claim.cond is None else _not(claim.cond)


def _constant(*, value: bool) -> Expr:
    return Const(BoolT(), value, HERE)


def _not(cond: Expr) -> Expr:
    return Unary(BoolT(), "not", cond, cond.loc)


def _and(left: Expr | None, right: Expr) -> Expr:
    return right if left is None else Logic(BoolT(), "and", (left, right), right.loc)
