"""Claims about runs, judged on the graph of a finished search.

Exact: there is no bound on the length of a run or of a cycle.  A claim holds if no fair run breaks it, and each run
that is reported was executed by the reference evaluator and its fairness checked there by definition (`lasso.confirm`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NoReturn

from kvproto.engine.evaluate import Args, Fault, Machine, State
from kvproto.engine.liveness.fair import ONLY_DONE, fair_states, intersection, inverted
from kvproto.engine.liveness.fairness import groups
from kvproto.engine.liveness.graph import Budget, Explored, Graph, Unfinished, build_graph, numbers, truth
from kvproto.engine.liveness.kernels import IN, Kernels, PythonKernels
from kvproto.engine.liveness.lasso import Lasso, confirm
from kvproto.engine.liveness.predicates import Choice, plan
from kvproto.engine.liveness.runs import Route, Run, shortest
from kvproto.engine.lower import Lowered
from kvproto.engine.native import Unavailable, load_engine
from kvproto.ir.nodes import LIVENESS, Claim, Expr, System


@dataclass(frozen=True, slots=True)
class LivenessFinding:
    """The verdict on a claim about runs: a lasso if it is violated, the reason if it is inconclusive."""

    claim: Claim
    verdict: Literal["holds", "violated", "inconclusive"]
    lasso: Lasso | None = None
    reason: str = ""


class ConditionFault(Exception):
    """A condition of a claim goes wrong in some state (by number): an error of the model."""

    def __init__(self, claim: Claim, state: int, fault: Fault) -> None:
        super().__init__(fault.message)
        self.claim = claim
        self.state = state
        self.fault = fault


def check(
    system: System,
    lowered: Lowered,
    explorer: Explored,
    claims: Sequence[Claim],
    *,
    budget: Budget | None = None,
    kernels: Kernels | None = None,
) -> list[LivenessFinding]:
    """Judge the claims about runs among `claims`, in order, by all runs through the states that are expanded.

    `lowered` and `explorer` are of a search without symmetry or any other reduction; its predicates include those of
    `predicates(system, claims)`.  Where a search was cut short, runs inside of what it has expanded are still found,
    and no claim is said to hold.  Raises ConditionFault where a condition of a claim goes wrong.
    """
    asked = [claim for claim in claims if claim.kind in LIVENESS]
    if not asked:
        return []
    run = _Check(system, lowered, explorer, budget or Budget(), kernels or best_kernels())
    return run.findings(asked)


def best_kernels() -> Kernels:
    """The loops in C where the library loads, else those in Python."""
    engine = load_engine()
    if isinstance(engine, Unavailable) or not hasattr(engine.library, "kv_graph_take"):
        return PythonKernels()
    from kvproto.engine.liveness.kernels_c import CKernels

    return CKernels(engine.library)


class _Check:
    def __init__(
        self,
        system: System,
        lowered: Lowered,
        explorer: Explored,
        budget: Budget,
        kernels: Kernels,
    ) -> None:
        self.system = system
        self.lowered = lowered
        self.explorer = explorer
        self.budget = budget
        self.numbers = {predicate: number for number, predicate in enumerate(lowered.predicates)}
        self.kernels = kernels
        self.groups = groups(system, lowered.instances)
        self.everywhere = bytearray()
        self.concerned = Counter(member for group in self.groups for member in group.members)

    def findings(self, claims: Sequence[Claim]) -> list[LivenessFinding]:
        """A verdict on each claim; where there is no going on, the remaining ones are inconclusive."""
        done: list[LivenessFinding] = []
        try:
            wanted = plan(claims)
            graph = build_graph(self.explorer, len(self.lowered.instances), self.groups, self.kernels, self.budget)
            if self.system.constraint is not None:
                self.everywhere = truth(self.explorer, self.numbers[self.system.constraint], graph.states)
            else:
                self.everywhere = bytearray([IN]) * graph.states
            for claim in claims:
                done.append(self._judged(graph, claim, [choice for choice in wanted if choice.claim is claim]))
        except Unfinished as reason:
            done += [LivenessFinding(claim, "inconclusive", reason=str(reason)) for claim in claims[len(done) :]]
        except MemoryError:
            done += [LivenessFinding(claim, "inconclusive", reason="out of memory") for claim in claims[len(done) :]]
        return done

    def _judged(self, graph: Graph, claim: Claim, wanted: list[Choice]) -> LivenessFinding:
        for choice in wanted:
            run = self._violation(graph, choice)
            if run is not None:
                lasso = self._lasso(run, choice.args)
                confirm(self.system, claim, lasso)
                return LivenessFinding(claim, "violated", lasso)
        if self.explorer.expanded() < self.explorer.states():
            return LivenessFinding(claim, "inconclusive", reason="the search is not complete")
        return LivenessFinding(claim, "holds")

    def _violation(self, graph: Graph, choice: Choice) -> Run | None:
        """A fair run that breaks the claim for one choice of its parameters."""
        self._pause()
        everywhere = self.everywhere
        missed = intersection(everywhere, inverted(self._where(choice, choice.goal)))
        match choice.claim.kind:
            case "eventually":
                within = self._reached(graph, missed, bytearray([IN]) * graph.initial)
                return self._run(graph, within, Route(within))
            case "leads_to":
                assert choice.trigger is not None
                pending = intersection(missed, self._where(choice, choice.trigger))
                within = self._reached(graph, missed, pending)
                return self._run(graph, within, Route(everywhere, within, pending))
            case "always_eventually":
                return self._run(graph, missed, Route(everywhere))
            case _:
                return self._run(graph, everywhere, Route(everywhere), missed)

    def _run(self, graph: Graph, within: bytearray, route: Route, must: bytearray | None = None) -> Run | None:
        """A run that takes the route, stays inside for ever, and comes by `must` again and again."""
        if IN not in (within if must is None else must):
            return None
        fair = fair_states(graph, self.kernels, within, must, self._pause)
        return shortest(graph, self.kernels, route, fair, must) if IN in fair else None

    def _reached(self, graph: Graph, within: bytearray, sources: bytearray) -> bytearray:
        """What can be reached from the sources inside of a set."""
        mask = bytearray(within)
        self.kernels.reach(graph, mask, array("I", numbers(sources)))
        return bytearray(mask.translate(ONLY_DONE))

    def _where(self, choice: Choice, predicate: Expr) -> bytearray:
        """In which states a predicate is true."""
        found = truth(self.explorer, self.numbers[predicate], self.explorer.expanded())
        if found.strip(b"\0\1"):
            self._raise_fault(choice, found)
        return found

    def _raise_fault(self, choice: Choice, found: bytearray) -> NoReturn:
        """A condition goes wrong in some state; the reference evaluator says how."""
        number = next(number for number, value in enumerate(found) if value > 1)
        for condition in choice.conditions():
            try:
                Machine(self.system).holds(condition, self._state(number))
            except Fault as fault:
                raise ConditionFault(choice.claim, number, fault) from None
        raise AssertionError(f"the reference checker evaluates {choice.claim.name} in every state")

    def _pause(self) -> None:
        self.budget.look(0)

    # --- from numbers to what they stand for ----------------------------------------------------------

    def _lasso(self, run: Run, args: Args) -> Lasso:
        states = [*run.stem, *run.cycle[1:]]
        steps = [self._instance(*pair) for pair in pairwise(states)]
        instances = tuple(self.lowered.instances[number] for number in steps)
        return Lasso(args, self._state(states[0]), instances, len(run.stem) - 1)

    def _instance(self, state: int, after: int) -> int:
        """The instance to show for a step: the first one of most fairness groups."""
        edges = self.explorer.edges(state, state + 1)
        found = [action for action, to in zip(edges.actions, edges.targets, strict=True) if to == after]
        return max(found, key=lambda action: self.concerned[action])

    def _state(self, number: int) -> State:
        return self.lowered.layout.unpack(self.explorer.packed(number))
