"""Graphs drawn by hand: verdicts and runs, in every tier; and that broken checks are noticed on them."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from cases import CASES, Case
from graphs import system_of
from living import everywhere, judged

from kvproto.engine.liveness.graph import Edges, Graph
from kvproto.engine.liveness.kernels import DONE, IN, OUT, Components, Kernels, PythonKernels
from kvproto.engine.liveness.lasso import NotConfirmed
from kvproto.engine.liveness.reference import find_lasso


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_and_run(case: Case) -> None:
    system = system_of(case.drawing)

    (finding,) = everywhere(system)
    meant = find_lasso(system, system.claims[0])

    assert (case.run is None) == (meant is None)
    assert finding.verdict == ("holds" if case.run is None else "violated")
    if case.run is not None:
        assert finding.lasso is not None
        assert case.run == ([action.name for action, _ in finding.lasso.steps], finding.lasso.loop)
        assert case.args == finding.lasso.args


# --- broken checks ---------------------------------------------------------------------------------------


class NoSecondLook(PythonKernels):
    """A component that a strongly fair group spoils is dropped as a whole."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        super().judge(graph, mask, parts, must)
        mask[:] = mask.replace(bytes([IN]), bytes([OUT]))
        return 0


class StrongIsWeak(PythonKernels):
    """A strongly fair group asks no more than a weakly fair one."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        groups = tuple(replace(g, fairness=replace(g.fairness, kind="weak")) for g in graph.groups)
        return super().judge(replace(graph, groups=groups), mask, parts, must)


class StrongIsIgnored(PythonKernels):
    """Strongly fair groups are forgotten."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        kept = tuple(tuple(g for g in groups if not graph.strong[g]) for groups in graph.groups_of)
        return super().judge(replace(graph, groups_of=kept), mask, parts, must)


class WeakIsIgnored(PythonKernels):
    """Weakly fair groups are forgotten."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        kept = tuple(tuple(g for g in groups if graph.strong[g]) for groups in graph.groups_of)
        return super().judge(replace(graph, groups_of=kept), mask, parts, must)


class NeverStops(PythonKernels):
    """Runs go on for ever."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        left = super().judge(graph, mask, parts, must)
        for state in parts.members:
            if mask[state] == DONE and parts.number.count(parts.number[state]) == 1:
                mask[state] = OUT
        return left


class StopsAnywhere(PythonKernels):
    """Runs stop where they like."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        super().take(graph, first, edges, label_of)
        graph.restless[:] = bytes(len(graph.restless))


class SelfLoops(PythonKernels):
    """Steps that change nothing count."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        for i in range(len(edges.offsets) - 1):
            row = slice(edges.offsets[i], edges.offsets[i + 1])
            graph.targets.extend(edges.targets[row])
            graph.labels.extend(label_of[action] for action in edges.actions[row])
            graph.offsets.append(len(graph.targets))
            graph.restless.append(any(label_of[action] for action in edges.actions[row]))


class EnabledInside(PythonKernels):
    """Steps that lead out of a component do not count as enabled."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        offsets, targets, labels = array("Q", [0]), array("I"), array("H")
        for state in range(graph.states):
            for edge in graph.row(state):
                target = graph.targets[edge]
                if target < graph.states and parts.number[target] == parts.number[state]:
                    targets.append(target)
                    labels.append(graph.labels[edge])
            offsets.append(len(targets))
        return super().judge(replace(graph, offsets=offsets, targets=targets, labels=labels), mask, parts, must)


class NoMust(PythonKernels):
    """`eventually_always` is not asked for a state where the condition is false."""

    def judge(self, graph: Graph, mask: bytearray, parts: Components, must: bytearray | None) -> int:
        return super().judge(graph, mask, parts, None)


class OneComponent(PythonKernels):
    """Everything is one component."""

    def components(self, graph: Graph, mask: bytearray) -> Components:
        members = array("I", (state for state in range(graph.states) if mask[state] == IN))
        return Components(array("I", bytes(4 * graph.states)), members)


class LabelsForgotten(PythonKernels):
    """A group has only its first instance."""

    def take(self, graph: Graph, first: int, edges: Edges, label_of: array[int]) -> None:
        seen: set[int] = set()
        firsts = array("H", (0 if label in seen else (seen.add(label) or label) for label in label_of))
        super().take(graph, first, edges, firsts)


BROKEN: list[type[PythonKernels]] = [
    NoSecondLook,
    StrongIsWeak,
    StrongIsIgnored,
    WeakIsIgnored,
    NeverStops,
    StopsAnywhere,
    SelfLoops,
    EnabledInside,
    NoMust,
    OneComponent,
    LabelsForgotten,
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_check_is_noticed(broken: type[PythonKernels]) -> None:
    noticed = [case.name for case in CASES if not right(case, broken())]

    assert noticed, broken.__doc__


def right(case: Case, kernels: Kernels) -> bool:
    """Whether the verdict is the right one."""
    try:
        (finding,) = judged(system_of(case.drawing), kernels=kernels)
    except (NotConfirmed, AssertionError):
        return False
    return (case.run is None) == (finding.verdict == "holds")
