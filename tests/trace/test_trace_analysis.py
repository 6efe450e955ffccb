"""The optional keys of a trace file: what would have been, and what the search said of the run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_samples import stored
from trace_strategies import traces, values, words

from kvproto.diagnostics import KvError
from kvproto.trace import codec
from kvproto.trace.analysis import EFFECTS, GUARD_KINDS, VERDICTS, Analysis, Dot, Guard, NoReturn
from kvproto.trace.trace import Trace

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)
MORE = ("strength", "shortest", "analysis")


@st.composite
def analysed(draw: st.DrawFn) -> Trace:
    """Any trace with any analysis that fits it."""
    trace = draw(traces())
    end = len(trace.steps)
    path = st.sampled_from(sorted(trace.init))
    step = draw(st.integers(0, end))
    since = st.integers(0, step)
    scalars = st.booleans() | st.integers() | words
    guard = st.builds(
        Guard,
        words,
        st.sampled_from(GUARD_KINDS),
        scalars,
        st.sampled_from(EFFECTS),
        st.just(step),
        since,
        *[words] * 6,
        st.sampled_from(VERDICTS),
        st.integers(0, 99),
    )
    number = st.integers(1, end)
    effects = st.sampled_from(["refused", "harmless"])
    dot = st.builds(Dot, number, path, values, values, effects, number, words)
    state = st.none() | st.integers(0, end)
    avoidable = st.lists(st.booleans(), min_size=end + 1, max_size=end + 1).map(tuple)
    no_return = st.builds(NoReturn, state, state, st.just(()) | avoidable, st.integers(0, 10**12), st.booleans())
    analysis = Analysis(
        tuple(draw(st.lists(guard, max_size=3))),
        tuple(draw(st.lists(dot, max_size=3))) if end else (),
        draw(st.none() | no_return),
        tuple(draw(st.lists(words, max_size=2))),
    )
    shortest = draw(st.none() | st.booleans())
    return replace(trace, strength=draw(words), shortest=shortest, analysis=draw(st.none() | st.just(analysis)))


@given(analysed())
@relaxed
def test_any_analysis_round_trips(trace: Trace) -> None:
    text = codec.dumps(trace)
    again = codec.loads(text, name="x")

    assert again == trace
    assert codec.dumps(again) == text
    assert text.isascii()


def test_what_nobody_said_is_left_out() -> None:
    tree = json.loads(codec.dumps(stored("plain")))

    assert not set(MORE) & set(tree)


SAMPLE = Analysis(
    (Guard("check", "switch", True, "refused", 2, 1, "go", "a <= b", "m.py:3", "compare", "2.0"),),
    (Dot(1, "lock", True, False, "refused", 2, "s.lock"),),
    NoReturn(1, None, (True, True, False), 7, True),
    ("one request",),
)


def sample() -> dict[str, Any]:
    """A trace with everything, as JSON."""
    trace = stored("plain")
    path = next(iter(trace.init))
    dots = tuple(replace(dot, path=path) for dot in SAMPLE.dots)
    tree: dict[str, Any] = json.loads(codec.dumps(replace(trace, analysis=replace(SAMPLE, dots=dots))))
    return tree


WRONG: list[tuple[list[Any], Any, str]] = [
    (["guards", 0, "step"], 99, "a number from 0 to 2"),
    (["guards", 0, "since"], 3, "a number from 0 to 2"),
    (["guards", 0, "kind"], "wish", '"switch" or "preset" or "environment"'),
    (["guards", 0, "verdict"], "true", '"holds" or "violated"'),
    (["guards", 0, "other"], -1, "a number"),
    (["guards", 0, "effect"], "gone", '"refused" or "harmless" or "diverted"'),
    (["guards", 0, "value"], None, "a boolean, an integer or a string"),
    (["dots", 0, "path"], "nowhere", "a variable of init"),
    (["dots", 0, "step"], 0, "a number from 1 to 2"),
    (["dots", 0, "effect"], "diverted", '"refused" or "harmless"'),
    (["no_return", "avoidable"], [True], "an array of 3"),
    (["no_return", "avoidable"], [1, 1, 1], "a boolean"),
    (["no_return", "states"], -1, "a number"),
    (["no_return", "forced"], True, "a number from 0 to 2"),
    (["minimised"], "no", "an array"),
    (["more"], 1, "no such key"),
]


@pytest.mark.parametrize(("route", "value", "expected"), WRONG, ids=lambda part: str(part)[:30])
def test_a_wrong_analysis_is_refused_with_its_place(route: list[Any], value: Any, expected: str) -> None:
    tree = sample()
    place = tree["analysis"]
    for key in route[:-1]:
        place = place[key]
    place[route[-1]] = value

    with pytest.raises(KvError) as caught:
        codec.loads(json.dumps(tree), name="x.trace.json")
    assert caught.value.diagnostic.code == "KV012"
    assert "/analysis" + "".join(f"/{key}" for key in route) in caught.value.diagnostic.message
    assert expected in caught.value.diagnostic.message


def test_the_missing_guard_is_the_first() -> None:
    preset = Guard("2.0", "preset", True, "refused", 1, 1, "go")
    switch = Guard("check", "switch", True, "refused", 2, 2, "go")

    assert Analysis((switch, preset)).guard() is switch
    assert Analysis().guard() is None
