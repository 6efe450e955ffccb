"""The loops over graphs: Python and C give the same answers, and components are what they should be."""

from __future__ import annotations

import random
from array import array

import pytest
from living import c_kernels

from kvproto.diagnostics import Loc
from kvproto.engine.explorer import Edges
from kvproto.engine.liveness.fairness import Group
from kvproto.engine.liveness.graph import Graph
from kvproto.engine.liveness.kernels import IN, Kernels, PythonKernels
from kvproto.ir.nodes import Fairness

INSTANCES = 6


def random_edges(rng: random.Random, states: int) -> Edges:
    edges = Edges(0, array("Q", [0]), array("I"), array("I"))
    density = rng.choice((0.5, 1, 2, 4))
    for state in range(states):
        for _ in range(round(rng.expovariate(1 / density))):
            near = (state + rng.randrange(1, 4)) % states if rng.random() < 0.5 else rng.randrange(states)
            edges.targets.append(state if rng.random() < 0.1 else near)
            edges.actions.append(rng.randrange(INSTANCES))
        edges.offsets.append(len(edges.targets))
    return edges


def random_groups(rng: random.Random) -> tuple[Group, ...]:
    found = []
    for number in range(rng.randrange(5)):
        kind = rng.choice(("weak", "strong"))
        members = tuple(sorted(rng.sample(range(INSTANCES), rng.randrange(1, 4))))
        found.append(Group(Fairness(kind, ("a",), (), Loc("g", 1)), (), members, str(number)))  # type: ignore[arg-type]
    return tuple(found)


def made(kernels: Kernels, edges: Edges, groups: tuple[Group, ...], states: int) -> Graph:
    """The graph of the first states of it, taken in two pieces; the others lie outside."""
    sets: dict[tuple[int, ...], int] = {(): 0}
    mine = [tuple(n for n, group in enumerate(groups) if i in group.members) for i in range(INSTANCES)]
    label_of = array("H", (sets.setdefault(these, len(sets)) for these in mine))
    graph = Graph(states, 1, array("Q", [0]), array("I"), array("H"), bytearray(), groups, tuple(sets))
    half = states // 2
    for first, last in ((0, half), (half, states)):
        start, end = edges.offsets[first], edges.offsets[last]
        offsets = array("Q", (at - start for at in edges.offsets[first : last + 1]))
        kernels.take(graph, first, Edges(first, offsets, edges.actions[start:end], edges.targets[start:end]), label_of)
    return graph


@pytest.fixture
def compiled() -> Kernels:
    found = c_kernels()
    if found is None:
        pytest.skip("no C compiler here")
    return found


@pytest.mark.parametrize("seed", range(60))
def test_c_and_python_agree(seed: int, compiled: Kernels) -> None:
    rng = random.Random(seed)
    states = rng.choice((1, 2, 5, 40, 300))
    edges, groups = random_edges(rng, states), random_groups(rng)
    known = states if rng.random() < 0.7 else max(1, states // 2)
    answers = []
    for kernels in (PythonKernels(), compiled):
        answers.append(all_answers(kernels, made(kernels, edges, groups, known), random.Random(seed)))

    assert answers[0] == answers[1]


def all_answers(kernels: Kernels, graph: Graph, rng: random.Random) -> list[object]:
    """What every function says, on the same random sets."""
    n = graph.states

    def some(percent: int) -> bytearray:
        return bytearray(int(rng.randrange(100) < percent) for _ in range(n))

    answers: list[object] = [graph.offsets, graph.targets, graph.labels, graph.restless]
    for percent in (100, 70):
        mask, must = some(percent), some(20)
        parts = kernels.components(graph, bytearray(mask))
        answers += [parts.number, parts.members]
        for duty in (None, must):
            judged = bytearray(mask)
            answers += [kernels.judge(graph, judged, parts, duty), judged]
        sources = array("I", sorted(rng.choices(range(n), k=3)))
        starts = array("I", sorted(rng.choices(range(4), k=3)))
        for given in (None, starts):
            for goal in (None, must):
                found = bytearray(mask)
                reached = kernels.reach(graph, found, sources, given, goal)
                answers += [reached.found, reached.parent, reached.level, found]
        answers.append(kernels.mark(graph, mask, bytes(rng.randrange(2) for _ in graph.groups)))
    answers.append(kernels.components(graph, bytearray(n)).members)
    return answers


@pytest.mark.parametrize("seed", range(30))
def test_components_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    states = rng.randrange(1, 25)
    kernels = PythonKernels()
    graph = made(kernels, random_edges(rng, states), (), states)
    mask = bytearray(int(rng.random() < 0.85) for _ in range(states))
    parts = kernels.components(graph, bytearray(mask))
    reach = [reachable(kernels, graph, mask, state) for state in range(states)]

    assert sorted(parts.members) == [state for state in range(states) if mask[state]]
    for one in parts.members:
        for other in parts.members:
            together = other in reach[one] and one in reach[other]
            assert together == (parts.number[one] == parts.number[other])


def reachable(kernels: Kernels, graph: Graph, mask: bytearray, state: int) -> set[int]:
    found = bytearray(mask)
    kernels.reach(graph, found, array("I", [state]))
    return {s for s in range(graph.states) if found[s] not in (0, IN)} if mask[state] else set()


def test_a_long_chain_needs_no_recursion(compiled: Kernels) -> None:
    states = 200_000
    targets = array("I", [*range(1, states), 0])
    edges = Edges(0, array("Q", range(states + 1)), array("I", bytes(4 * states)), targets)
    for kernels in (PythonKernels(), compiled):
        parts = kernels.components(made(kernels, edges, (), states), bytearray([IN]) * states)
        assert set(parts.number) == {0}
