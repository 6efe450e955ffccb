"""What each preset of the outline can do wrong, and the recorded counterexamples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvproto.cli.traces import trace_of
from kvproto.engine.search import Options, Result, search
from kvproto.explain import why
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.replay import replay
from kvproto.trace import codec
from kvproto.trace.build import build_trace

TRACES = Path(__file__).parent.parent.parent / "traces"
RECORDED = sorted(TRACES.glob("outline-*.trace.json"))


def system(preset: str, scope: str | None = None) -> System:
    model = find("outline").model
    return build(model, choose(model, preset=preset, scope=scope))


def lengths(result: Result) -> dict[str, int]:
    return {f.claim.name: len(f.counterexample.steps) for f in result.findings if f.counterexample}


LATE = {"writes_land_in_own_pages", "writes_spare_other_requests", "no_free_under_write"}
READS = {"reads_own_writes", "reads_no_foreign_data"}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("0.5.19", {*READS, *LATE, "rejected_never_succeeds"}),
        ("0.5.20", {*READS, *LATE}),
        ("0.5.21", {*READS, *LATE}),
        ("incident", {*READS, "rejected_never_succeeds"}),
        ("patched", set()),
    ],
)
def test_violated_properties(preset: str, expected: set[str]) -> None:
    result = search(system(preset))

    assert result.complete
    assert expected == set(lengths(result))


def test_the_incident() -> None:
    """The shortest run in which decode reads pages that only another request wrote."""
    result = search(system("incident"))
    found = result.finding("reads_no_foreign_data").counterexample

    assert found is not None
    names = [action.name for action, _ in found.steps]
    assert len(names) == 21
    assert names[-1] == "attend"
    # Nobody aborted and nothing failed; one write was posted for eight reserved pages.
    assert not {"disconnect", "fail_transfer", "abort_on_decode", "abort_on_prefill"} & set(names)
    trace = build_trace(result.system, found)
    states = list(trace.states())
    assert states[-1]["req[B].placeholder"] is True
    assert [states[-1][f"d_content[{page}]"] for page in range(8)] == ["B", "A", "A", *[None] * 5]
    assert all(states[-1][f"d_owner[{page}]"] == "B" for page in range(8))


def test_the_late_write_class_of_the_vulnerable_release() -> None:
    """Give up, free at once, reuse, late landing: with its own shortest run."""
    result = search(system("0.5.19"), Options(properties=("writes_spare_other_requests",)))
    found = result.findings[0].counterexample

    assert found is not None
    names = [(action.name, args[0]) for action, args in found.steps]
    assert 9 == len(names)
    assert names[-3:] == [("fail_transfer", 0), ("prealloc", 1), ("land", 0)]


def test_patched_fires_every_action() -> None:
    result = search(system("patched"))

    assert () == result.never_fired
    assert {action.name for action in result.system.actions} == {name for name, count in result.fired.items() if count}


def test_an_upgrade_alone_leaves_the_time_out() -> None:
    """0.5.21 defers release for a limited time: with `release_timeout` off its late writes are gone."""
    model = find("outline").model
    held = build(model, choose(model, preset="0.5.21", sets={"release_timeout": False}))

    assert {} == lengths(search(held))


def test_there_are_recorded_traces() -> None:
    names = {path.name for path in RECORDED}

    assert "outline-incident-reads_no_foreign_data.trace.json" in names
    assert "outline-0.5.19-writes_spare_other_requests.trace.json" in names


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(codec.SUFFIX))
def test_recorded_traces_are_what_a_search_finds_today(path: Path) -> None:
    trace = codec.read(path)
    result = search(system(trace.preset))
    finding = result.finding(trace.property)

    assert finding.counterexample is not None
    fresh = trace_of(result.system, result, finding, finding.counterexample)
    assert path.read_text(encoding="utf-8") == codec.dumps(trace)
    assert codec.dumps(replace(trace, analysis=None, why=fresh.why)) == codec.dumps(fresh)
    assert trace.why == why(trace)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(codec.SUFFIX))
def test_recorded_traces_happen_on_tensors(path: Path) -> None:
    assert replay(codec.read(path)).divergence is None


def test_the_incident_answer() -> None:
    trace = codec.read(TRACES / "outline-incident-reads_no_foreign_data.trace.json")

    answer = replay(trace).answers["B"]

    assert (200, 8 * 16) == (answer.status, answer.prompt_tokens)
    assert "A:lynx" in answer.text


@pytest.mark.parametrize(
    "measure", ["reject_at_admission", "larger_pool", "token_count_check", "checksum", "carried_tags"]
)
def test_the_incident_schedule_with_a_measure(measure: str) -> None:
    trace = codec.read(TRACES / "outline-incident-reads_no_foreign_data.trace.json")

    result = replay(trace, overrides={measure: True})

    assert () == result.canaries
    if measure == "reject_at_admission":
        assert 400 == result.answers["B"].status
