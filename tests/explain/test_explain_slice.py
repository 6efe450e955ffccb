"""The slice: every edge leads to the last write, and nothing that is needed is missing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from trace_samples import SAMPLES, stored
from trace_strategies import containing, traces, transfers

from kvproto.explain import START, Slice, backward_slice
from kvproto.explain.slice import written
from kvproto.trace.trace import Trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)


def last_writer(trace: Trace, path: str, before: int) -> int:
    """The definition, as plainly as possible."""
    found = START
    for number, step in enumerate(trace.steps, 1):
        if number < before and path in written(step):
            found = number
    return found


def check_sound_and_complete(trace: Trace, found: Slice) -> None:
    for edge in found.edges:
        reads = trace.blame if edge.step == found.verdict else trace.steps[edge.step - 1].reads
        assert edge.path in reads
        assert edge.source == last_writer(trace, edge.path, edge.step)
        assert edge.source < edge.step
    assert found.steps == {edge.source for edge in found.edges}
    for step in (found.steps | {found.verdict}) - {START}:
        reads = trace.blame if step == found.verdict else trace.steps[step - 1].reads
        assert {edge.path for edge in found.reads_of(step)} == set(reads)


@given(traces() | transfers() | containing())
@relaxed
def test_edges_lead_to_the_last_write(trace: Trace) -> None:
    check_sound_and_complete(trace, backward_slice(trace))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    trace = SAMPLES[name]()
    check_sound_and_complete(trace, backward_slice(trace))


def test_the_incident_rests_on_the_rejection_and_on_the_stale_writes() -> None:
    """Steps: A's writes of pages 1 and 2, A's release, B's reservation, the swapped prompt, the read."""
    found = backward_slice(stored("incident"))
    assert {7, 8, 12, 14, 15, 21} <= found.steps
    assert {e.source for e in found.reads_of(21) if e.path in ("d_content[1]", "d_content[2]")} == {7, 8}
    assert found.deciders() == (21,)


def test_the_late_landing_rests_on_the_release() -> None:
    found = backward_slice(stored("late_write"))
    assert found.deciders() == (10,)
    assert {5, 7, 9, 10} <= found.steps


def test_unrelated_steps_stay_outside() -> None:
    """C's submission has nothing to do with what B reads, C's reservation neither."""
    found = backward_slice(stored("late_read"))
    assert 8 not in found.steps
    assert 18 not in found.steps
    assert found.past(13) < found.steps


def test_a_trace_without_blame_has_an_empty_slice() -> None:
    trace = Trace("m", "", "s", {}, "p", "c", "violated", "d", {"x": 1}, ())
    assert backward_slice(trace) == Slice(frozenset(), (), 1)
