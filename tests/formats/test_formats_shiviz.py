"""ShiViz: the log is taken apart by its own regular expression, and its clocks say what came before what."""

from __future__ import annotations

import json
import re
from pathlib import Path

import networkx as nx
import pytest
from formats_samples import (
    HOSTILE,
    LONG,
    RECORDED,
    ascii_name,
    hostile_trace,
    long_report,
    long_trace,
    recorded,
    relaxed,
)
from hypothesis import given
from trace_strategies import containing, traces, transfers

from kvproto.formats.happens import clocks, edges
from kvproto.formats.shiviz import shiviz
from kvproto.report import Report, report
from kvproto.trace.trace import Trace

Event = tuple[str, dict[str, int], str]


def events(text: str) -> list[Event]:
    """The log as ShiViz takes it apart: the first line is the expression, everything behind the second is log."""
    parser, divider, log = text.split("\n", 2)
    assert divider == ""
    # Named groups are written differently in Python.
    matches = re.compile(parser.replace("(?<", "(?P<")).finditer(log)
    found = [(match["host"], json.loads(match["clock"]), match["event"]) for match in matches]
    assert len(log.splitlines()) == 2 * len(found)
    return found


def precedes(one: dict[str, int], other: dict[str, int]) -> bool:
    """The order of vector clocks."""
    return one != other and all(count <= other.get(host, 0) for host, count in one.items())


def graph_of(shown: Report) -> nx.DiGraph:
    """Steps with what connects them, found in another way than the export does: by looking back from each step."""
    steps, graph = shown.trace.steps, nx.DiGraph()
    graph.add_nodes_from(range(1, len(steps) + 1))
    for number, step in enumerate(steps, 1):
        earlier = range(number - 1, 0, -1)
        graph.add_edges_from((n, number) for n in earlier if steps[n - 1].lane == step.lane)
        for path in step.reads:
            wrote = (n for n in earlier if path in steps[n - 1].writes or path in steps[n - 1].delta)
            graph.add_edges_from((n, number) for n in list(wrote)[:1])
    graph.add_edges_from((m.sent, m.taken) for m in shown.messages if m.taken)
    graph.add_edges_from((f.posted, f.ended) for f in shown.flights if f.posted and f.ended)
    return graph


def agrees(shown: Report) -> None:
    """The clocks of the log order exactly the steps between which there is a path."""
    text = shiviz(shown)
    found = events(text)
    graph = graph_of(shown)

    assert text == shiviz(shown)
    assert [row.number for row in shown.rows] == [int(event.split(" ", 1)[0]) for _, _, event in found]
    assert nx.is_directed_acyclic_graph(graph)
    own: dict[str, int] = {}
    for host, clock, _ in found:
        own[host] = own.get(host, 0) + 1
        assert own[host] == clock[host]
    for target in graph:
        before = nx.ancestors(graph, target)
        assert before == {n for n in graph if precedes(found[n - 1][1], found[target - 1][1])}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_clocks_of_recorded_traces(path: Path) -> None:
    agrees(recorded(path))


@relaxed
@given(traces() | transfers() | containing())
def test_clocks_of_any_trace(trace: Trace) -> None:
    agrees(report(trace))


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_hostile_names(word: str) -> None:
    shown = report(hostile_trace(word))
    agrees(shown)
    hosts = [host for host, _, _ in events(shiviz(shown))]

    assert hosts[0] == hosts[1] != hosts[2]


def test_lanes_that_differ_in_a_space_stay_apart() -> None:
    found = events(shiviz(report(long_trace(40))))

    assert ["lane_0", "lane_1", "lane_2", "lane_3"] == [host for host, _, _ in found[:4]]


def test_a_long_trace() -> None:
    shown = long_report()
    found = events(shiviz(shown))

    assert len(found) == LONG == len(clocks(shown))
    # Every step reads what the one before it wrote, so each knows of all.
    assert {f"lane_{at}": LONG // 4 for at in range(4)} == found[-1][1]
    assert {(at, at + 1) for at in range(1, LONG)} <= set(edges(shown))
