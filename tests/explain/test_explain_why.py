"""The explanations: golden texts, what they must mention, and that nothing makes them fail."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, given, settings
from trace_samples import SAMPLES, expected_texts, golden, incident, late_write, stored
from trace_strategies import containing, traces, transfers

from kvproto.explain import why
from kvproto.explain.words import LONGEST, joined, numbers, ranges, with_quote
from kvproto.trace.trace import Trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)


@pytest.mark.parametrize("name", SAMPLES)
def test_golden(name: str) -> None:
    assert expected_texts(stored(name))["why"] == golden(name, "why").read_text("utf-8")


@pytest.mark.parametrize("name", SAMPLES)
def test_shape(name: str) -> None:
    sentences = why(SAMPLES[name]())
    assert 2 <= len(sentences) <= 6
    assert all(len(sentence) <= LONGEST for sentence in sentences)
    assert all(sentence.rstrip('"')[-1] in ".)" for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_the_incident_is_told_from_todays_model() -> None:
    """What was read, whose it was, how many of the reader's own writes came, where the sides parted."""
    text = "\n".join(why(incident()))
    for words in (
        "step 21, attend(r=B)",
        "pages 1-2 held A's content",
        "pages 3-7 had never been written",
        "A had written pages 1-2 at steps 7-8",
        "step 12, finish(r=A)",
        "step 14, prealloc(r=B), for req[B].need = 8 (set at step 13)",
        "Of these 8 pages B's own writes had reached 1 (page 0, at step 18)",
        "step 15, when admit(r=B) set req[B].placeholder to true",
        "step 20, commit(r=B)",
    ):
        assert words in text


def test_the_late_write_is_told_from_todays_model() -> None:
    text = "\n".join(why(late_write()))
    for words in (
        "step 10, land(r=A, k=0), a write of A landed in decode page 0, which was B's",
        "posted at step 5, post(r=A), while A owned the page",
        "A lost the page at step 7, abort_on_decode(r=A), with its write still under way",
        "Step 9, prealloc(r=B), gave the page to B",
    ):
        assert words in text


def test_no_sentence_belongs_to_a_property() -> None:
    """The same run under other names is told in the same words."""
    trace = incident()
    other = dataclasses.replace(trace, property="x", claim="y", model="z", preset="", scope="")
    assert why(other) == why(trace)


def test_steps_that_are_named_exist() -> None:
    for name in SAMPLES:
        trace = stored(name)
        for sentence in why(trace):
            for number in re.findall(r"[Ss]teps? (\d+)", sentence):
                assert 1 <= int(number) <= len(trace.steps)


def test_a_lasso_ends_with_the_way_back() -> None:
    last = why(dataclasses.replace(stored("plain"), loop=0))[-1]
    assert last == "After step 2 the run goes on with step 1 again, for ever."


def test_the_initial_state_may_decide() -> None:
    trace = Trace("m", "", "s", {}, "p", "c", "violated", "d", {"x": True}, (), blame=("x",))
    assert why(trace) == ("The initial state decides it: x = true.",)
    assert why(dataclasses.replace(trace, blame=())) == (
        "The trace ends at the start; it does not say which variables decide.",
    )


@given(traces() | transfers() | transfers(hostile=False) | containing())
@relaxed
def test_anything_can_be_explained(trace: Trace) -> None:
    sentences = why(trace)
    assert 1 <= len(sentences) <= 6
    assert why(trace) == sentences


def test_small_change() -> None:
    assert ranges(["7", "3", "4", "0"], [str(n) for n in range(9)]) == "0, 3-4, 7"
    assert ranges([], []) == ""
    assert numbers([]) == "no step"
    assert numbers([9, 7, 8]) == "steps 7-9"
    assert numbers([4, 4]) == "step 4"
    assert joined([]) == ""
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert with_quote("Step 1", "") == "Step 1."
    assert len(with_quote("Step 1", "word " * 99)) <= LONGEST


def test_how_a_run_without_end_goes_on() -> None:
    trace = stored("plain")
    steps = len(trace.steps)
    ends = {loop: why(dataclasses.replace(trace, loop=loop))[-1] for loop in (0, steps - 1, steps)}

    assert ends[0] == f"After step {steps} the run goes on with step 1 again, for ever."
    assert ends[steps - 1] == f"After step {steps} the run goes on with step {steps} again, for ever."
    assert ends[steps] == f"After step {steps} nothing happens any more."
    assert why(dataclasses.replace(trace, steps=(), loop=0))[-1] == "Nothing happens at all."
    assert all(len(why(dataclasses.replace(stored(name), loop=0))) <= 6 for name in SAMPLES)
