"""A short fair run: a stem to where a fair run can stay, and a cycle there, both as states.

Of the runs that stop and those that go round, the one with fewer steps is taken (one that stops, if they are equal).
The stem is a shortest one.  The cycle goes, breadth first, to the nearest state where something is done for a
group that is still open, and so on, then back.  States are numbered alike in every tier, so the run is the same in all.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from kvproto.engine.liveness.fair import intersection, inverted, without_lone_states
from kvproto.engine.liveness.graph import Graph, numbers
from kvproto.engine.liveness.kernels import IN, Components, Kernels, Reached


@dataclass(frozen=True)
class Route:
    """How a stem may go: inside of `before`; if given, from some state of `pending` on inside of `after`."""

    before: bytearray
    after: bytearray | None = None
    pending: bytearray | None = None


@dataclass(frozen=True)
class Run:
    """States: `stem` ends where `cycle` begins and ends; a cycle of one state is a stop."""

    stem: list[int]
    cycle: list[int]

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.stem) + len(self.cycle) - 2


def shortest(graph: Graph, kernels: Kernels, route: Route, fair: bytearray, must: bytearray | None) -> Run | None:
    """A short fair run into the fair states; None if the route leads to none of them."""
    stops = intersection(fair, inverted(graph.restless))
    if must is not None:
        stops = intersection(stops, must)
    stopping = _stem(graph, kernels, route, stops)
    parts = kernels.components(graph, bytearray(fair))
    going = _stem(graph, kernels, route, without_lone_states(fair, parts))
    if going is None or (stopping is not None and len(stopping) <= len(going) + 2):
        return None if stopping is None else Run(stopping, [stopping[-1]])
    run = Run(going, _Cycle(graph, kernels, parts, going[-1], must).found())
    if stopping is not None and len(stopping) - 1 <= len(run):
        return Run(stopping, [stopping[-1]])
    return run


def _stem(graph: Graph, kernels: Kernels, route: Route, goal: bytearray) -> list[int] | None:
    """The states of a shortest stem to a goal."""
    if 1 not in goal:
        return None
    initial = array("I", range(graph.initial))
    if route.after is None or route.pending is None:
        direct = kernels.reach(graph, bytearray(route.before), initial, goal=goal)
        return None if direct.found is None else direct.way(direct.found)
    first = kernels.reach(graph, bytearray(route.before), initial)
    # A search numbers states by level, so these come in order of distance.
    pending = array("I", numbers(route.pending))
    starts = array("I", (first.level[state] for state in pending))
    second = kernels.reach(graph, bytearray(route.after), pending, starts, goal)
    return None if second.found is None else _joined(first, second, second.found)


def _joined(first: Reached, second: Reached, state: int) -> list[int]:
    rest = second.way(state)
    return [*first.way(rest[0]), *rest[1:]]


class _Cycle:
    """A walk inside one component, from a state back to it, that leaves no group open."""

    def __init__(self, graph: Graph, kernels: Kernels, parts: Components, start: int, must: bytearray | None) -> None:
        self.graph = graph
        self.kernels = kernels
        self.start = start
        self.must = must
        self.inside = bytearray(graph.states)
        mine = parts.number[start]
        for state in parts.members:
            if parts.number[state] == mine:
                self.inside[state] = IN
        self.walk = [start]
        # Groups for which the walk has to do something yet, and those for which it has.
        self.open = self._enabled(start)
        self.settled = {g for g in range(len(graph.groups)) if not graph.strong[g] and g not in self.open}
        self.visited = must is None or bool(must[start])

    def found(self) -> list[int]:
        """The states of the walk."""
        while self.open or not self.visited or len(self.walk) == 1 or self.walk[-1] != self.start:
            if self.open or not self.visited:
                self._advance()
            else:
                self._return()
        return self.walk

    def _advance(self) -> None:
        """Go where something is done for what is open."""
        wanted = bytes(group in self.open for group in range(len(self.graph.groups)))
        goal = self.kernels.mark(self.graph, self.inside, wanted) if self.open else bytearray(self.graph.states)
        if not self.visited and self.must is not None:
            for state in numbers(intersection(self.inside, self.must)):
                goal[state] = 1
        self._go(goal)
        for edge in self.graph.row(self.walk[-1]):
            target = self.graph.targets[edge]
            groups = self.graph.groups_of[self.graph.labels[edge]]
            if self._holds(target) and self.open.intersection(groups):
                self._step(target)
                return

    def _go(self, goal: bytearray) -> None:
        sources = array("I", [self.walk[-1]])
        reached = self.kernels.reach(self.graph, bytearray(self.inside), sources, goal=goal)
        assert reached.found is not None, "a fair component has what its groups need"
        for state in reached.way(reached.found)[1:]:
            self._step(state)

    def _return(self) -> None:
        """Go back to where the walk began, by at least one step."""
        home = bytearray(self.graph.states)
        home[self.start] = 1
        if self.walk[-1] != self.start:
            self._go(home)
            return
        targets = (self.graph.targets[edge] for edge in self.graph.row(self.start))
        sources = array("I", (target for target in targets if self._holds(target)))
        reached = self.kernels.reach(self.graph, bytearray(self.inside), sources, goal=home)
        assert reached.found is not None, "a component of several states has a cycle"
        for state in reached.way(reached.found):
            self._step(state)

    def _step(self, target: int) -> None:
        """Take a step, and note what it does."""
        graph, state = self.graph, self.walk[-1]
        for edge in graph.row(state):
            if graph.targets[edge] == target:
                self.settled.update(graph.groups_of[graph.labels[edge]])
        offered = self._enabled(target)
        self.settled.update(g for g in self.open if not graph.strong[g] and g not in offered)
        self.open |= {g for g in offered if graph.strong[g]}
        self.open -= self.settled
        self.walk.append(target)
        self.visited = self.visited or (self.must is not None and bool(self.must[target]))

    def _enabled(self, state: int) -> set[int]:
        """Groups with an enabled step."""
        graph = self.graph
        return {group for edge in graph.row(state) for group in graph.groups_of[graph.labels[edge]]}

    def _holds(self, state: int) -> bool:
        """Whether the state is in the component."""
        return state < self.graph.states and self.inside[state] == IN
