"""State graphs: the numbers of a search, Graphviz's own reading of the file, and what a picture says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from export_models import HEAD, MODELS, text_of
from export_runs import model_in

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import building_blocks, find
from kvproto.trace import codec
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace

nx = pytest.importorskip("networkx", reason="networkx, of the extra `graph`, is not installed")
pytest.importorskip("graphviz", reason="graphviz, of the extra `graph`, is not installed")

from kvproto.formats.dot import dot, svg  # noqa: E402
from kvproto.formats.graph import Drawn, drawn, graph  # noqa: E402
from kvproto.whatif.runs import NoSuchRunError  # noqa: E402

TRACES = Path(__file__).parents[2] / "traces"

COUNTER = (
    HEAD
    + '''
class State(Record):
    n: Int(0, 4)
    who: Opt(A)

@action(m)
def up(s):
    """It counts."""
    require(s.n < 4)
    s.n += 1

@action(m)
def down(s):
    """It goes back."""
    require(s.n > 0)
    assert s.n != 4, "four is the end"
    s.n -= 1

@invariant("three is never reached")
def below(s):
    return s.n < 3

model = Model("counter", "it counts", state=State, parts=[__name__])
'''
)


LAID_OUT = 300
"""Edges: Graphviz reads a file by laying it out, which takes minutes where there are many."""


LARGE = ("an array indexed with itself", "records, rows and copies")
"""Models with more states than the reference evaluator should be asked for here."""


def every_state(system: System) -> Result:
    """A complete search without reductions."""
    return search(system, Options(keep_going=True, symmetry=False, por=False))


def kinds(shown: Any, kind: str) -> list[int]:
    """The nodes of one kind."""
    return [number for number, of in shown.nodes(data="kind") if of == kind]


def shipped(target: str, **sets: Any) -> System:
    """A shipped model."""
    found = find(target)
    return build(found.model, choose(found.model, preset=found.preset, sets=sets))


def reread(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges as Graphviz reads them.  Skips the test where it is not installed."""
    needs_dot()
    done = subprocess.run(["dot", "-Tdot_json"], input=text, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    whole = json.loads(done.stdout)
    return whole.get("objects", []), whole.get("edges", [])


def needs_dot() -> None:
    """Skip the test where the program is missing."""
    if shutil.which("dot") is None:
        pytest.skip("the program `dot` of Graphviz is not installed")


def agrees(system: System) -> None:
    """States and steps are those of a search, and Graphviz finds as many nodes and edges in the file."""
    result = every_state(system)
    found = graph(system)
    failing = kinds(found, "failure")

    assert result.states == len(kinds(found, "state"))
    assert result.outside == len(kinds(found, "outside"))
    assert result.transitions == found.number_of_edges() - len(failing)
    broken = {claim for _, names in found.nodes(data="violates") for claim in names}
    claims = {f.claim.name: f for f in result.findings if f.claim.kind in ("invariant", "assert", "deadlock")}
    assert {name for name, f in claims.items() if f.verdict == "violated"} == broken
    starts = [number for number, initial in found.nodes(data="initial") if initial]
    assert len(nx.descendants(found, starts[0]) | set(starts)) <= len(found)
    assert set(found) == set(starts) | {n for start in starts for n in nx.descendants(found, start)}
    text = dot(Drawn(system, found, ""))
    assert text == dot(Drawn(system, graph(system), ""))
    if found.number_of_edges() > LAID_OUT:
        return
    nodes, edges = reread(text)
    assert len(nodes) == len(found)
    assert len(edges) == found.number_of_edges()


@pytest.mark.parametrize("target", [t for t in building_blocks() if t not in ("blocks.control_channel",)])
def test_building_blocks(target: str) -> None:
    agrees(shipped(target))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in LARGE])
def test_small_models(name: str, tmp_path: Path) -> None:
    system = model_in(text_of(name), tmp_path)
    agrees(system)


def test_failing_steps_are_no_states(tmp_path: Path) -> None:
    system = model_in(COUNTER, tmp_path)
    agrees(system)
    found = drawn(system, most=200)

    (failing,) = kinds(found.graph, "failure")
    assert ("down.assert1",) == found.graph.nodes[failing]["violates"]
    assert "fails down.assert1" in dot(found)


def test_the_first_violation_is_drawn_bold_without_a_trace(tmp_path: Path) -> None:
    found = drawn(model_in(COUNTER, tmp_path), most=200)
    path = [number for number, on in found.graph.nodes(data="path") if on]

    assert [0, 1, 2, 3] == path
    assert 3 == sum(on for _, _, on in found.graph.edges(data="path"))
    text = dot(found)
    assert 3 == text.count("penwidth=3")
    assert re.search(r's0 \[label="0\\l" peripheries=2 style="rounded,bold"\]', text)
    assert re.search(r's3 \[label="3\\lviolates below\\ln: 3\\l" color="#D55E00" .*shape=octagon style=bold\]', text)


def traced(system: System, claim: str) -> Trace:
    """The counterexample to a claim."""
    run = every_state(system).finding(claim).counterexample
    assert run is not None
    return build_trace(system, run)


def test_a_trace_is_marked(tmp_path: Path) -> None:
    system = model_in(COUNTER, tmp_path)
    trace = traced(system, "down.assert1")
    found = drawn(system, most=200, trace=trace)
    path = [number for number, on in found.graph.nodes(data="path") if on]

    assert len(trace.steps) == len(path) - 1 == sum(on for _, _, on in found.graph.edges(data="path"))
    assert "" == found.left_out


def test_a_trace_of_another_model_is_refused(tmp_path: Path) -> None:
    trace = traced(model_in(COUNTER, tmp_path), "below")
    other = model_in(COUNTER.replace("s.n < 4", "s.n < 2").replace("n: Int(0, 4)", "n: Int(0, 5)"), tmp_path)
    for most in (200, 2):
        with pytest.raises(NoSuchRunError, match=r"step 3, up\(\), cannot happen"):
            drawn(other, most=most, trace=trace)


@pytest.mark.parametrize("name", ["below", "down.assert1"])
def test_around_a_trace(name: str, tmp_path: Path) -> None:
    system = model_in(COUNTER, tmp_path)
    trace = traced(system, name)
    found = drawn(system, most=4, trace=trace)
    whole = graph(system)

    path = [number for number, on in found.graph.nodes(data="path") if on]
    assert len(trace.steps) + 1 == len(path)
    assert "only the run" in found.left_out
    near = {n for number in path for n in found.graph.successors(number)}
    assert set(found.graph) == set(path) | near
    assert len(found.graph) <= len(whole)


def test_around_a_recorded_trace() -> None:
    trace = codec.read(TRACES / "sglang-0.5.19-writes_spare_other_requests.trace.json")
    model = find("sglang").model
    system = build(model, choose(model, preset=trace.preset, scope=trace.scope, sets=trace.parameters))
    found = drawn(system, most=200, trace=trace)
    path = [number for number, on in found.graph.nodes(data="path") if on]

    assert len(trace.steps) + 1 == len(path)
    assert path == nx.shortest_path(found.graph, path[0], path[-1])
    assert "writes_spare_other_requests" in found.graph.nodes[path[-1]]["violates"]
    assert all(found.graph.nodes[n]["open"] for n in found.graph if n not in path)
    few = drawn(system, most=40, trace=trace)
    assert 40 == len(few.graph)
    assert re.fullmatch(r"more than 40 states: only the run \(19\) and 21 of the \d+ one step .*", few.left_out)


def test_a_large_model_without_a_trace_shows_its_beginning() -> None:
    system = shipped("blocks.timers")
    found = drawn(system, most=30)

    assert 30 == len(found.graph)
    assert "more than 30 states: only the first 30 are shown" == found.left_out
    assert found.left_out in dot(found)
    cut = {number for number, more in found.graph.nodes(data="open") if more}
    whole = graph(system)
    assert cut == {number for number in found.graph if set(whole.successors(number)) - set(found.graph)}
    assert len(cut) == dot(found).count("dotted")


def test_exactly_as_many_states_as_may_be() -> None:
    system = shipped("blocks.transfer")

    assert "" == drawn(system, most=15).left_out
    assert "" != drawn(system, most=14).left_out


def test_labels_show_variables() -> None:
    system = shipped("blocks.transfer")
    text = dot(drawn(system, most=200), ["owner", "call[A]"])

    assert 15 == len(re.findall(r'label="\d+\\lowner\[0\]: \S+\\lowner\[1\]: \S+\\lcall\[A\]: \w+\\l"', text))
    with pytest.raises(KvError, match="KV022"):
        dot(drawn(system, most=200), ["owners"])


def test_an_error_of_the_model_is_explained(tmp_path: Path) -> None:
    system = model_in(COUNTER.replace("    require(s.n < 4)\n", ""), tmp_path)
    with pytest.raises(KvError, match="KV201"):
        graph(system)


HOSTILE = """a"b\\\\N\\\\l<i>&|{x}"""


def test_hostile_labels_are_text(tmp_path: Path) -> None:
    system = model_in(
        COUNTER.replace('A = Sort("A", size=3)', f"A = Sort('A', labels=['{HOSTILE}', '<b>', '%'], size=3)")
        + '''

@action(m)
def name(s, a: A):
    """Somebody."""
    require(s.who is None)
    s.who = a

model = Model("counter", "it counts", state=State, parts=[__name__])
''',
        tmp_path,
    )
    text = dot(drawn(system, most=200))
    nodes, edges = reread(text)
    word = 'a"b\\\\N\\\\l<i>&|{x}'  # a backslash stands doubled in the language of labels

    assert any(f"who: {word}\\l" in node["label"] for node in nodes)
    assert any(f"name({word})" == edge["label"] for edge in edges)
    drawing = svg(text)
    assert "a&quot;b\\N\\l&lt;i&gt;&amp;|{x}" in drawing
    assert "<i>" not in drawing


def test_pictures_are_the_same_every_time() -> None:
    needs_dot()
    text = dot(drawn(shipped("blocks.page_pool"), most=200))

    assert svg(text) == svg(text)
    assert 16 == svg(text).count('class="node"')
    assert 22 == svg(text).count('class="edge"')


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = dot(drawn(shipped("blocks.transfer"), most=200))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KvError, match=r"(?s)KV035.*apt-get install"):
        svg(text)
