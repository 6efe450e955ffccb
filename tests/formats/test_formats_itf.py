"""ITF: an independent reader finds the states of the trace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from formats_samples import HOSTILE, RECORDED, ascii_name, hostile_trace, relaxed
from hypothesis import given
from hypothesis import strategies as st
from trace_strategies import containing, traces, transfers

from kvproto.formats.itf import ACTION, LARGEST, PICKS, itf
from kvproto.trace import codec
from kvproto.trace.trace import Trace, Value

itf_py = pytest.importorskip("itf_py", reason="itf-py, the independent reader, is not installed")


def as_read(value: Value, nobody: str) -> Any:
    """What a reader of ITF makes of a value."""
    if value is None:
        return nobody
    return frozenset(value) if isinstance(value, list) else value


def as_picked(value: Value, nobody: str) -> Any:
    """The same of an argument."""
    if isinstance(value, list):
        return [as_picked(item, nobody) for item in value]
    large = isinstance(value, int) and abs(value) > LARGEST
    return str(value) if large else as_read(value, nobody)


def agrees(trace: Trace) -> None:
    """Read the export with itf-py and compare it with the trace, variable by variable."""
    text = itf(trace)
    read = itf_py.trace_from_json(json.loads(text))
    nobody = read.meta["none"]

    assert text == itf(trace)
    assert read.loop == trace.loop
    assert len(read.vars) == len(set(read.vars)) == len(trace.init) + 2
    assert len(read.states) == len(trace.steps) + 1
    for state, expected in zip(read.states, trace.states(), strict=True):
        assert set(state.values) == set(read.vars)
        for name, path in zip(read.vars, trace.init, strict=False):
            found, wanted = state.values[name], as_read(expected[path], nobody)
            assert (type(wanted), wanted) == (type(found), found)
    for state, step in zip(read.states[1:], trace.steps, strict=True):
        assert step.action == state.values[ACTION]
        assert dict(step.args) == state.meta["args"]
        picked = [some.value for some in state.values[PICKS]]
        assert [as_picked(value, nobody) for value in step.args.values()] == picked
    assert read.states[0].values[ACTION] == "init"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_traces_are_read_back(path: Path) -> None:
    agrees(codec.read(path))


@relaxed
@given(traces() | transfers() | containing())
def test_any_trace_is_read_back(trace: Trace) -> None:
    agrees(trace)


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_hostile_names(word: str) -> None:
    agrees(hostile_trace(word))


RESERVED = ["#meta", "_#meta", "mbt::x", "__mbt::x", "x", "_x"]


@relaxed
@given(st.dictionaries(st.sampled_from(RESERVED), st.integers(), min_size=2))
def test_names_that_the_format_has_a_use_for(state: dict[str, Value]) -> None:
    agrees(replace(hostile_trace("x"), init=state, steps=(), blame=()))


@relaxed
@given(st.lists(st.sampled_from(["m.kind", "m_kind", "class", "_", "", "1", "m.kind_2", "m[A]"]), unique=True))
def test_names_of_arguments_become_names_of_fields(names: list[str]) -> None:
    trace = hostile_trace("x")
    step = replace(trace.steps[0], args={name: at for at, name in enumerate(names)})
    agrees(replace(trace, steps=(step,)))


def test_numbers_that_json_readers_round_are_texts() -> None:
    trace = replace(hostile_trace("x"), init={"a": LARGEST, "b": LARGEST + 1, "c": -LARGEST - 1}, steps=(), blame=())
    (state,) = json.loads(itf(trace))["states"]

    assert state["a"] == 2**53 - 1
    assert state["b"] == {"#bigint": "9007199254740992"}
    assert state["c"] == {"#bigint": "-9007199254740992"}


def test_an_absent_value_is_told_from_a_label_of_that_name() -> None:
    trace = replace(hostile_trace("x"), init={"a": None, "b": "None_OF_NONE", "c": [True]}, steps=(), blame=())
    whole = json.loads(itf(trace))

    assert "None_OF_NONE_" == whole["#meta"]["none"] == whole["states"][0]["a"]
    assert whole["states"][0]["b"] == "None_OF_NONE"
    agrees(trace)


def test_a_run_without_end_has_its_loop() -> None:
    lassos = [trace for path in RECORDED if (trace := codec.read(path)).loop is not None]

    assert lassos
    for trace in lassos:
        assert json.loads(itf(trace))["loop"] == trace.loop
