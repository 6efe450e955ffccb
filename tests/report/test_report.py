"""The report of a trace: messages, pages, sentences, sources; and it never fails on a strange file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_strategies import containing, traces, transfers

from kvproto.explain.events import name_of
from kvproto.replay import Divergence, replay
from kvproto.report import Change, Span, report
from kvproto.report.as_json import as_json
from kvproto.report.changes import changes
from kvproto.report.containers import Containers
from kvproto.report.sentences import sentence
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.printable import shown
from kvproto.trace.trace import ContainerView, Step, Trace, Vocabulary

RECORDED = sorted((ROOT / "traces").glob("*.trace.json"))


def recorded(name: str) -> Trace:
    return codec.read(ROOT / "traces" / f"{name}.trace.json")


@given(st.one_of(traces(), transfers(), containing()))
def test_cells_tell_owner_writers_and_flights_of_every_state(trace: Trace) -> None:
    found = report(trace)
    for pool, view in zip(found.pools, trace.vocabulary.pools, strict=True):
        for label in view.pages:
            for number, state in enumerate(found.states):
                cell = pool.at(label, number)
                assert cell.owner == name_of(state.get(view.owned(label)))
                assert cell.contents == tuple(name_of(state.get(path)) for path in view.contents(label).values())
                coming = [
                    f.request
                    for f in found.flights
                    if f.target is not None and (f.target.pool, f.target.label) == (pool.name, label)
                    if f.posted <= number and (f.ended is None or number < f.ended)
                ]
                assert sorted(cell.coming) == sorted(coming)


@given(st.one_of(traces(), transfers(), containing()))
def test_deltas_of_the_json_give_every_state(trace: Trace) -> None:
    told = json.loads(json.dumps(as_json(report(trace))))
    state = told["init"]
    for step, expected in zip([{"delta": {}}, *told["steps"]], trace.states(), strict=True):
        state = {**state, **step["delta"]}
        assert state == {path: shown(value) for path, value in expected.items()}


@given(st.one_of(traces(), transfers(), containing()))
def test_messages_go_from_one_machine_to_another_that_comes_later(trace: Trace) -> None:
    for message in report(trace).messages:
        assert trace.steps[message.sent - 1].lane == message.sender
        if message.taken is not None:
            assert message.sent < message.taken
            assert trace.steps[message.taken - 1].lane == message.taker != message.sender


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_every_recorded_trace_has_its_sources_and_sentences(file: Path) -> None:
    trace = codec.read(file)
    found = report(trace, sources=True)
    assert set(found.excerpts) == {step.action for step in trace.steps}
    for name, excerpt in found.excerpts.items():
        assert f"def {name}(" in excerpt.lines[excerpt.at - excerpt.first]
        assert all("require" in excerpt.lines[n - excerpt.first] for n in excerpt.guards[:1])
    assert ["".join(span.text for span in sentence) for sentence in found.why] == list(trace.why)
    named = {span.step for sentence in found.why for span in sentence if span.step}
    assert named <= set(range(1, len(trace.steps) + 1))
    # A trace may end so early that nothing but its start is named.
    assert named


def test_a_model_that_has_changed_shows_no_source() -> None:
    trace = recorded("sglang-incident-reads_own_writes")
    step = trace.steps[0]
    file, _, line = step.loc.rpartition(":")
    moved = replace(trace, steps=(replace(step, loc=f"{file}:{int(line) + 1}"), *trace.steps[1:]))
    assert step.action not in report(moved, sources=True).excerpts


def test_the_incident_sends_metadata_and_success() -> None:
    found = report(recorded("sglang-incident-reads_own_writes"))
    assert [(m.sent, m.taken, m.sender, m.taker, m.text) for m in found.messages] == [
        (4, 5, "decode", "worker", "METADATA"),
        (14, 15, "worker", "decode", "SUCCESS"),
    ]


def test_an_abort_that_nobody_has_taken_is_under_way() -> None:
    found = report(recorded("sglang-0.5.19-writes_spare_other_requests"))
    assert [(m.text, m.taken) for m in found.messages if m.text == "ABORT"] == [("ABORT", None)]


def test_a_late_landing_and_a_wrong_read_are_noted() -> None:
    late = [n for row in report(recorded("sglang-0.5.23-writes_spare_other_requests")).rows for n in row.notes]
    late = [note for note in late if note.kind != "turn"]
    # What an analysis of the trace says of its steps is beside it.
    assert [note.text.partition(" by ")[0] for note in late if note.kind == "late"] == ["LATE: posted at 14"]
    last = report(recorded("sglang-incident-reads_own_writes")).rows[-1]
    assert [note.text for note in last.notes] == ["WRONG READ: nothing in pages 1-7"]


def test_a_queue_carries_messages_in_its_elements() -> None:
    paths = ("q.length", "q[0]", "q[1]")
    states = [(0, "NONE", "NONE"), (1, "META", "NONE"), (2, "META", "ABORT"), (1, "ABORT", "NONE")]
    steps = [
        Step(
            name,
            {},
            lane,
            "m.py:1",
            "",
            paths,
            paths,
            {p: (a, b) for p, a, b in zip(paths, before, after, strict=True) if a != b},
        )
        for name, lane, before, after in zip(
            ("send", "abort", "receive"), ("decode", "decode", "worker"), states, states[1:], strict=False
        )
    ]
    base = recorded("sglang-incident-reads_own_writes")
    trace = replace(
        base,
        init=dict(zip(paths, states[0], strict=True)),
        steps=tuple(steps),
        blame=(),
        grounds=(),
        why=("It is so.",),
        vocabulary=Vocabulary(("decode", "worker"), containers=(ContainerView("q", "queue"),)),
    )
    assert [(m.sent, m.taken, m.text) for m in report(trace).messages] == [(1, 3, "META"), (2, None, "ABORT")]


def test_every_number_of_a_sentence_is_linked_if_it_is_a_step() -> None:
    assert sentence("At step 7 it was; see steps 2, 3-4 and step 99.", 9) == (
        Span("At "),
        Span("step 7", 7),
        Span(" it was; see steps "),
        Span("2", 2),
        Span(", "),
        Span("3", 3),
        Span("-"),
        Span("4", 4),
        Span(" and step 99."),
    )


def test_equal_and_counting_changes_of_neighbours_are_one() -> None:
    trace = recorded("sglang-incident-reads_own_writes")
    delta = {"a[0]": (None, "A"), "a[1]": (None, "A"), "a[3]": (None, "A"), "t[0].x": (1, 2), "t[1].x": (1, 3)}
    assert changes(delta, {}, Containers(trace)) == [
        Change("a[0-1]", "none", "A"),
        Change("a[3]", "none", "A"),
        Change("t[0-1].x", "1", "2, 3"),
    ]


def test_a_replay_stands_beside_the_model_with_the_page_that_differs() -> None:
    trace = recorded("sglang-0.5.23-writes_spare_other_requests")
    result = replay(trace)
    same = report(trace, replayed=result).replayed
    assert same is not None
    assert same.diverged is None
    assert len(same.pages) == len(trace.steps) + 1
    assert all(seen.agrees for state in same.pages for seen in state)
    landed = trace.steps[-1]
    assert {s.page.label: s.text for s in same.pages[-1] if s.page.pool == "decode"}["0"] == "[A:lynx page 0] "
    wrong = Divergence(len(trace.steps), landed.action, "d_content[0][0][0]", "A", "B")
    other = report(trace, replayed=replace(result, divergence=wrong)).replayed
    assert other is not None
    assert [(s.page.pool, s.page.label) for s in other.pages[-1] if not s.agrees] == [("decode", "0")]
    assert all(seen.agrees for state in other.pages[:-1] for seen in state)
