"""The loops over whole graphs, in Python; kvproto/engine/c/graph.h has the same in C, and gives the same answers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Protocol

from kvproto.engine.explorer import Edges
from kvproto.engine.liveness.graph import NONE, Graph

OUT, IN, DONE = 0, 1, 2
"""What a byte of a mask (a set of states) says of its state: out of the question; in it; in it and dealt with."""

TOP = NONE - 1


@dataclass(frozen=True)
class Components:
    """Strongly connected components: the number of each state's, and the states, component by component."""

    number: array[int]
    members: array[int]


@dataclass(frozen=True)
class Reached:
    """A breadth-first search: `found` is the first goal (None: there is none); a source is its own parent."""

    found: int | None
    parent: array[int]
    level: array[int]

    def way(self, state: int) -> list[int]:
        """The states from a source to `state`."""
        states = [state]
        while (parent := self.parent[state]) != state:
            state = parent
            states.append(state)
        return states[::-1]


class Kernels(Protocol):
    """What the algorithms ask of a graph."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        """Append the rows of the states from `first` on, without the steps that change nothing."""

    def components(self, graph: Graph, mask: bytearray) -> Components:
        """Strongly connected components of the states that are IN, numbered as they are completed."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        """Judge every component as a place to stay in (see `fair_states`); gives how many states are left IN."""

    def reach(
        self,
        graph: Graph,
        mask: bytearray,
        sources: array[int],
        starts: array[int] | None = None,
        goal: bytes | bytearray | None = None,
    ) -> Reached:
        """Search breadth first among the states that are IN; they become DONE as they are found.

        Source i has distance `starts[i]` (ascending; all 0 without `starts`).
        """

    def mark(self, graph: Graph, mask: bytearray, wanted: bytes) -> bytearray:
        """Mark the states that are IN and do something for the wanted groups.

        That is: a step of one of them stays IN, or a weakly fair one of them is not enabled.
        """


class PythonKernels:
    """The loops in Python."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        """Append the rows of the states from `first` on, without the steps that change nothing."""
        base = edges.offsets[0]
        for i in range(len(edges.offsets) - 1):
            restless = 0
            for e in range(edges.offsets[i] - base, edges.offsets[i + 1] - base):
                if edges.targets[e] != first + i:
                    graph.targets.append(edges.targets[e])
                    graph.labels.append(label_of[edges.actions[e]])
                    restless |= graph.labels[-1] != 0
            graph.offsets.append(len(graph.targets))
            graph.restless.append(restless)

    def components(self, graph: Graph, mask: bytearray) -> Components:
        """Strongly connected components of the states that are IN, numbered as they are completed."""
        return _Division(graph, mask).run()

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        """Judge every component as a place to stay in; gives how many states are left IN."""
        begin, left, members = 0, 0, parts.members
        while begin < len(members):
            end = begin
            while end < len(members) and parts.number[members[end]] == parts.number[members[begin]]:
                end += 1
            left += _judge(graph, mask, parts, list(members[begin:end]), must)
            begin = end
        return left

    def reach(
        self,
        graph: Graph,
        mask: bytearray,
        sources: array[int],
        starts: array[int] | None = None,
        goal: bytes | bytearray | None = None,
    ) -> Reached:
        """Search breadth first among the states that are IN; they become DONE as they are found."""
        parent, level = array("I", [NONE]) * graph.states, array("I", [NONE]) * graph.states
        queue: list[int] = []
        head = following = 0
        while head < len(queue) or following < len(sources):
            depth = level[queue[head]] if head < len(queue) else starts[following] if starts else 0
            while following < len(sources) and (starts[following] if starts else 0) <= depth:
                state = sources[following]
                if mask[state] == IN:
                    mask[state] = DONE
                    parent[state] = state
                    level[state] = starts[following] if starts else 0
                    queue.append(state)
                following += 1
            if head == len(queue):
                continue
            state = queue[head]
            head += 1
            if goal is not None and goal[state]:
                return Reached(state, parent, level)
            for target in graph.targets[graph.offsets[state] : graph.offsets[state + 1]]:
                if target < graph.states and mask[target] == IN:
                    mask[target] = DONE
                    parent[target] = state
                    level[target] = level[state] + 1
                    queue.append(target)
        return Reached(None, parent, level)

    def mark(self, graph: Graph, mask: bytearray, wanted: bytes) -> bytearray:
        """Mark the states that are IN and do something for the wanted groups."""
        marks = bytearray(graph.states)
        weak = sum(1 for group, asked in enumerate(wanted) if asked and not graph.strong[group])
        for state in range(graph.states):
            if mask[state] == IN:
                enabled, taken = set[int](), False
                for edge in graph.row(state):
                    mine = [group for group in graph.groups_of[graph.labels[edge]] if wanted[group]]
                    enabled.update(group for group in mine if not graph.strong[group])
                    target = graph.targets[edge]
                    taken = taken or (bool(mine) and target < graph.states and mask[target] == IN)
                marks[state] = taken or len(enabled) < weak
        return marks


def _judge(graph: Graph, mask: bytearray, parts: Components, states: list[int], must: bytearray | None) -> int:
    """Judge one component; gives how many of its states are left IN."""
    enabled: dict[int, int] = {}
    taken: set[int] = set()
    for state in states:
        mine: set[int] = set()
        for edge in graph.row(state):
            groups = graph.groups_of[graph.labels[edge]]
            target = graph.targets[edge]
            mine.update(groups)
            if target < graph.states and parts.number[target] == parts.number[state]:
                taken.update(groups)
        for group in mine:
            enabled[group] = enabled.get(group, 0) + 1
    missed = [group for group in enabled if group not in taken]
    starved = any(not graph.strong[group] and enabled[group] == len(states) for group in missed)
    starved = starved or (must is not None and not any(must[state] for state in states))
    spoilt = {group for group in missed if graph.strong[group]}
    left = 0
    for state in states:
        if starved:
            mask[state] = OUT
        elif not spoilt:
            mask[state] = DONE
        elif any(spoilt.intersection(graph.groups_of[graph.labels[edge]]) for edge in graph.row(state)):
            mask[state] = OUT
        else:
            left += 1
    return left


class _Division:
    """Pearce's one-pass variant of Tarjan's algorithm, without recursion.

    While it runs a state's `number` is 0 (not found), or the least index it is known to reach (found, still open).
    """

    def __init__(self, graph: Graph, mask: bytearray) -> None:
        self.graph = graph
        self.number = array("I", (0 if mark == IN else NONE for mark in mask))
        self.members = array("I")
        self.waiting: list[int] = []
        self.found = self.closed = 0

    def run(self) -> Components:
        """Divide the whole set."""
        for state in range(self.graph.states):
            if self.number[state] == 0:
                self.visit(state)
        for state in self.members:
            self.number[state] = TOP - self.number[state]
        return Components(self.number, self.members)

    def visit(self, start: int) -> None:
        """Visit all that the state reaches; each frame is a state, its next edge, and whether it is a root so far."""
        number, offsets, targets = self.number, self.graph.offsets, self.graph.targets
        frames = [[start, offsets[start], 1]]
        self.enter(start)
        while frames:
            frame = frames[-1]
            state, edge, _ = frame
            if edge < offsets[state + 1]:
                target = targets[edge]
                if target < self.graph.states and number[target] == 0:
                    frames.append([target, offsets[target], 1])  # the edge is looked at again when that is done
                    self.enter(target)
                    continue
                frame[1] += 1
                if target < self.graph.states and number[target] < number[state]:
                    number[state] = number[target]
                    frame[2] = 0
                continue
            frames.pop()
            if frame[2]:
                self.close(state)
            else:
                self.waiting.append(state)

    def enter(self, state: int) -> None:
        """A state is found."""
        self.found += 1
        self.number[state] = self.found

    def close(self, root: int) -> None:
        """The component of a root is complete."""
        low = self.number[root]
        while self.waiting and self.number[self.waiting[-1]] >= low:
            self.settle(self.waiting.pop())
        self.settle(root)
        self.closed += 1

    def settle(self, state: int) -> None:
        """A state's component is known."""
        self.number[state] = TOP - self.closed
        self.members.append(state)
        self.found -= 1
