"""The graph of a search, in compressed rows, with what fairness needs to know of every step.

Memory: 9 bytes for each state and 6 for each step that changes something; the algorithms on it hold at most
`WORK_PER_STATE` more bytes for each state.  A memory limit counts all of it, and the states of the search too.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from kvproto.engine.explorer import Edges
from kvproto.engine.liveness.fairness import Group

PER_STATE, PER_STEP = 9, 6
"""Bytes of the graph."""

WORK_PER_STATE = 40
"""Bytes of work for each state: arrays of 4 bytes, and sets of states of one byte each."""

PIECE = 1 << 14
"""States whose successors are asked for at once."""

NONE = 0xFFFFFFFF
"""No state, no component."""

MOST_STATES = (1 << 31) - 1


class Explored(Protocol):
    """What is asked of an explorer whose states have been expanded, at least the first `expanded()` of them."""

    def states(self) -> int:
        """Distinct states."""

    def expanded(self) -> int:
        """States whose successors are known."""

    def transitions(self) -> int:
        """Successors generated."""

    def memory(self) -> int:
        """Bytes held."""

    def packed(self, state: int) -> int:
        """A state by number."""

    def path(self, state: int) -> tuple[int, list[int]]:
        """How a state was found."""

    def edges(self, first: int, last: int) -> Edges:
        """Transitions of the states first .. last - 1, to states that are known."""

    def test(self, predicate: int, first: int, last: int) -> bytes:
        """Value of a predicate in each of these states: 0, 1, or 2 where it goes wrong."""


class Unfinished(Exception):
    """The check cannot be carried through; the text says why."""


@dataclass(frozen=True)
class Graph:
    """States 0 .. `states` - 1; the steps of s are `offsets[s]` .. `offsets[s + 1] - 1`.

    A target from `states` up lies outside.  `labels` has a number for each step that stands for the groups (by number)
    `groups_of[label]`, label 0 for none; `restless` tells which states have an enabled step of any group; the first
    `initial` states are the initial ones.
    """

    states: int
    initial: int
    offsets: array[int]
    targets: array[int]
    labels: array[int]
    restless: bytearray
    groups: tuple[Group, ...]
    groups_of: tuple[tuple[int, ...], ...]

    def row(self, state: int) -> range:
        """Numbers of the steps of a state."""
        return range(self.offsets[state], self.offsets[state + 1])

    @cached_property
    def strong(self) -> bytes:
        """For each group whether it is strongly fair."""
        return bytes(group.strong for group in self.groups)

    def memory(self) -> int:
        """Bytes held."""
        return PER_STATE * self.states + PER_STEP * len(self.targets)


@dataclass
class Labels:
    """Numbers for the sets of groups that instances belong to."""

    numbers: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})

    def of_instances(self, groups: Sequence[Group], instances: int) -> array[int]:
        """The label of each instance."""
        mine: list[list[int]] = [[] for _ in range(instances)]
        for number, group in enumerate(groups):
            for member in group.members:
                mine[member].append(number)
        return array("H", (self.numbers.setdefault(tuple(m), len(self.numbers)) for m in mine))


class Taker(Protocol):
    """The part of `Kernels` that builds graphs."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        """Append the rows of the states from `first` on."""


@dataclass(frozen=True)
class Budget:
    """What a check may use: bytes, all told (None: no limit), and a question that names a reason to stop."""

    memory: int | None = None
    stop: Callable[[], str] = lambda: ""

    def look(self, held: int) -> None:
        """Raise Unfinished where there is a reason to stop, or if that many bytes are too many."""
        reason = self.stop()
        if reason:
            raise Unfinished(reason)
        if self.memory is not None and held > self.memory:
            # Rounded apart: what does not fit must not look as if it did.
            needed, allowed = -(-held >> 20), self.memory >> 20
            raise Unfinished(f"memory limit: the graph needs {needed} MiB, allowed are {allowed}")


def build_graph(explorer: Explored, instances: int, groups: tuple[Group, ...], taker: Taker, budget: Budget) -> Graph:
    """The graph of the expanded states.  Raises Unfinished."""
    states = explorer.expanded()
    if states > MOST_STATES:
        raise Unfinished(f"a graph of more than {MOST_STATES} states is not supported")
    held = explorer.memory() + (PER_STATE + WORK_PER_STATE) * states
    budget.look(held)
    labels = Labels()
    label_of = labels.of_instances(groups, instances)
    graph = Graph(
        states=states,
        initial=_initial(explorer, states),
        offsets=array("Q", [0]),
        targets=array("I"),
        labels=array("H"),
        restless=bytearray(),
        groups=groups,
        groups_of=tuple(labels.numbers),
    )
    for first in range(0, states, PIECE):
        taker.take(graph, first, explorer.edges(first, min(first + PIECE, states)), label_of)
        budget.look(held + PER_STEP * len(graph.targets))
    return graph


def _initial(explorer: Explored, states: int) -> int:
    """How many of these states are initial: they are the first ones, so halve the interval."""
    low, high = 0, states
    while low < high:
        middle = (low + high) // 2
        if explorer.path(middle)[1]:
            high = middle
        else:
            low = middle + 1
    return low


def truth(explorer: Explored, predicate: int, states: int) -> bytearray:
    """Value of a predicate in each state."""
    found = bytearray()
    for first in range(0, states, PIECE):
        found += explorer.test(predicate, first, min(first + PIECE, states))
    return found


def numbers(marks: bytes | bytearray) -> Iterable[int]:
    """The states whose byte is 1, in order."""
    at = marks.find(1)
    while at >= 0:
        yield at
        at = marks.find(1, at + 1)
