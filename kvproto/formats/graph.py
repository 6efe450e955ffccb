"""The reachable states of a small model as a networkx graph, by the reference evaluator.

A picture of a state graph says something as long as one can follow its lines.  So a graph has a most of states: where
there are more, it is what lies around one run, or what is found first.

Nodes are numbers in order of discovery.  They have the attributes `kind` (`state`; `outside` of the model's constraint;
`failure`, no state, where a step fails an assertion), `state`, `initial`, `violates` (names of claims), `open` (its
successors are not all there), `parent` (the node from which it was found first, None at the start) and `path` (it is on
the run).  Edges have `action`, `args`, `call` and `path`; there are as many between two nodes as there are steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx  # type: ignore[import-untyped]

from kvproto.engine.evaluate import Args, Fault, Machine, State, choices
from kvproto.engine.search import search
from kvproto.ir.nodes import Action, System
from kvproto.ir.types import label
from kvproto.trace.printable import printable, shown
from kvproto.trace.trace import Trace
from kvproto.whatif.runs import NoSuchRunError, state_of, steps_of


@dataclass(frozen=True, slots=True)
class Drawn:
    """A graph, and in words what of the model it leaves out ("" if nothing)."""

    system: System
    graph: nx.MultiDiGraph
    left_out: str


def graph(system: System) -> nx.MultiDiGraph:
    """All reachable states and all steps between them.  Raises KvError for an error of the model."""
    return _grown(system, None).graph


def drawn(system: System, *, most: int, trace: Trace | None = None) -> Drawn:
    """At most `most` states: all of them, or those around the run of the trace, or those found first.

    Without a trace the run is one to the first violation, if there is one.  Raises NoSuchRunError if the trace is no
    run of the system, and KvError for an error of the model.
    """
    run = (state_of(system, trace), steps_of(system, trace)) if trace is not None else None
    whole = _grown(system, most)
    if len(whole.numbers) <= most:
        _mark(whole, run or _first_violation(whole))
        return Drawn(system, whole.graph, "")
    if run is not None:
        return _around(system, *run, most)
    return _beginning(whole, most)


Run = tuple[State, Sequence[tuple[Action, Args]]]


def call(action: Action, args: Args) -> str:
    """`land(A, 0)`: arguments in the words of traces."""
    named = zip(args, action.params, strict=True)
    return f"{printable(action.name)}({', '.join(shown(label(arg, param.type)) for arg, param in named)})"


class _Growing:
    """A graph that grows by states and by the steps from them."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.graph = nx.MultiDiGraph()
        self.numbers: dict[State, int] = {}
        self.machine = Machine(system)
        self.instances = [(action, args) for action in system.actions for args in choices(action.params)]
        self.invariants = [claim for claim in system.claims if claim.kind == "invariant"]
        self.deadlock = next((claim for claim in system.claims if claim.kind == "deadlock"), None)

    def start(self) -> None:
        """Take the initial states."""
        for state in self.machine.initial():
            self.graph.nodes[self.node(state, None)]["initial"] = True

    def node(self, state: State, parent: int | None) -> int:
        """The number of a state, which may be new."""
        if state not in self.numbers:
            holds, constraint = self.machine.holds, self.system.constraint
            broken = tuple(c.name for c in self.invariants if c.cond is not None and not holds(c.cond, state))
            inside = constraint is None or holds(constraint, state)
            number = self.numbers[state] = len(self.graph)
            self._add(number, "state" if inside else "outside", state, parent, broken)
            self.graph.nodes[number]["open"] = inside
        return self.numbers[state]

    def _add(self, number: int, kind: str, state: State, parent: int | None, violates: tuple[str, ...]) -> None:
        about = {"kind": kind, "state": state, "parent": parent, "violates": violates}
        self.graph.add_node(number, initial=False, open=False, path=False, **about)

    def expand(self, number: int) -> None:
        """Add all steps from a state, once."""
        about = self.graph.nodes[number]
        if not about["open"]:
            return
        about["open"] = False
        for action, args in self.instances:
            try:
                after = self.machine.step(action.params, action.body, about["state"], args)
            except Fault as fault:
                if not fault.claim:
                    raise
                self._fail(number, action, args, fault.claim)
                continue
            if after is not None:
                self._edge(number, self.node(after, number), action, args)
        if self.deadlock is not None and self.graph.out_degree(number) == 0 and not self._proper(about["state"]):
            about["violates"] = (*about["violates"], self.deadlock.name)

    def _proper(self, state: State) -> bool:
        """Whether nothing has to happen any more."""
        assert self.deadlock is not None
        return self.deadlock.cond is not None and self.machine.holds(self.deadlock.cond, state)

    def _fail(self, number: int, action: Action, args: Args, claim: str) -> None:
        """A step that fails an assertion ends in a node that is no state."""
        end = len(self.graph)
        self._add(end, "failure", self.graph.nodes[number]["state"], number, (claim,))
        self._edge(number, end, action, args)

    def _edge(self, source: int, target: int, action: Action, args: Args) -> None:
        self.graph.add_edge(source, target, action=action.name, args=args, call=call(action, args), path=False)


def _grown(system: System, most: int | None) -> _Growing:
    """Breadth first, until there is nothing left or one state too many."""
    growing = _Growing(system)
    try:
        growing.start()
        at = 0
        while at < len(growing.graph) and (most is None or len(growing.numbers) <= most):
            growing.expand(at)
            at += 1
    except Fault:
        # The search meets the same error, and explains it with the run that leads to it.
        search(system)
        raise
    return growing


def _first_violation(growing: _Growing) -> Run | None:
    """A shortest run to the state, or the failing step, that was found first among those that violate a claim."""
    nodes = growing.graph.nodes
    end = next((number for number in nodes if nodes[number]["violates"]), None)
    if end is None:
        return None
    path = [end]
    while (parent := nodes[path[-1]]["parent"]) is not None:
        path.append(parent)
    path.reverse()
    actions = {action.name: action for action in growing.system.actions}
    steps = []
    for source, target in pairwise(path):
        first = growing.graph.get_edge_data(source, target)[0]
        steps.append((actions[first["action"]], first["args"]))
    return nodes[path[0]]["state"], steps


def _mark(growing: _Growing, run: Run | None) -> None:
    """Mark the nodes and edges of a run.  Raises NoSuchRunError if it is none."""
    if run is None:
        return
    at, nodes = growing.numbers.get(run[0], -1), growing.graph.nodes
    if at < 0 or not nodes[at]["initial"]:
        raise NoSuchRunError("its first state is no initial state of the model")
    nodes[at]["path"] = True
    for number, (action, args) in enumerate(run[1], 1):
        edges = growing.graph.out_edges(at, data=True)
        taken = [edge for edge in edges if (edge[2]["action"], edge[2]["args"]) == (action.name, args)]
        if not taken:
            raise NoSuchRunError(f"step {number}, {call(action, args)}, cannot happen in the model")
        _, at, about = taken[0]
        about["path"] = nodes[at]["path"] = True


def _around(system: System, init: State, steps: Sequence[tuple[Action, Args]], most: int) -> Drawn:
    """The run and the states one step away from it, as many as there may be."""
    growing = _Growing(system)
    growing.start()
    for state in _states(growing.machine, init, steps):
        growing.expand(growing.node(state, None))
    _mark(growing, (init, steps))
    graph = growing.graph
    run = [number for number, path in graph.nodes(data="path") if path]
    near = {target for source in run for target in graph.successors(source)} - set(run)
    kept = sorted(near)[: max(most - len(run), 0)]
    graph.remove_nodes_from([number for number in graph if number not in {*run, *kept}])
    some = f"the {len(near)}" if len(kept) == len(near) else f"{len(kept)} of the {len(near)}"
    words = f"more than {most} states: only the run ({len(run)}) and {some} one step away from it are shown"
    return Drawn(system, graph, words)


def _states(machine: Machine, init: State, steps: Sequence[tuple[Action, Args]]) -> Iterator[State]:
    """The states of the run, as far as it is one; a step that fails an assertion leads to none."""
    state: State | None = init
    yield init
    for action, args in steps:
        try:
            state = machine.step(action.params, action.body, state, args) if state is not None else None
        except Fault:
            return
        if state is not None:
            yield state


def _beginning(growing: _Growing, most: int) -> Drawn:
    """The states found first."""
    late = list(growing.numbers.values())[most:]
    for number in late:
        for source in list(growing.graph.predecessors(number)):
            growing.graph.nodes[source]["open"] = True
    growing.graph.remove_nodes_from(late)
    return Drawn(growing.system, growing.graph, f"more than {most} states: only the first {most} are shown")
