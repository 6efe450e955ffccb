"""`--json`: the shape of `kvproto.result/1`, and where it goes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kvproto.ir.nodes import LIVENESS
from kvproto.lang.load import find

if TYPE_CHECKING:
    from cli_runs import Run, Write


@dataclass
class Null:
    """A shape, or null."""

    shape: Any


NUMBER = (int, float)
GAP = {"where": str, "condition": str, "loc": str}
SHAPE: dict[str, Any] = {
    "schema": str,
    "kvproto": str,
    "target": str,
    "model": str,
    "preset": str,
    "parameters": dict,
    "scope": str,
    "engine": {"compiled", "reference"},
    "tier": {"C", "Python", "reference"},
    "compiled": bool,
    "workers": int,
    "reductions": {"symmetry": bool, "por": bool},
    "symmetric_sorts": [str],
    "storage": {"exact", "fingerprints"},
    "collision_probability": NUMBER,
    "complete": bool,
    "stopped": Null(str),
    "states": int,
    "transitions": int,
    "depth": int,
    "seconds": NUMBER,
    "cpu_seconds": NUMBER,
    "bytes_per_state": NUMBER,
    "outside_constraint": int,
    "frontier": int,
    "fired": dict,
    "never_fired": [str],
    "vacuous": [GAP],
    "redundant_guards": Null([GAP]),
    "checkpoint": Null(str),
    "checkpoint_problem": Null(str),
    "properties": [
        {
            "name": str,
            "kind": {"invariant", "assert", "deadlock", "sometimes", *LIVENESS},
            "verdict": {"holds", "violated", "inconclusive"},
            "strength": {"exhaustive", "bounded", "inductive", "sampled"},
            "trace": Null(str),
            "length": Null(int),
            "reason": Null(str),
        }
    ],
}


def conforms(value: Any, shape: Any, place: str = "") -> None:
    """Fail at the first place where a JSON value has another shape: exactly these keys, these types."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), place
        assert set(value) == set(shape), place
        for key in shape:
            conforms(value[key], shape[key], f"{place}/{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), place
        for at, item in enumerate(value):
            conforms(item, shape[0], f"{place}/{at}")
    elif isinstance(shape, Null):
        if value is not None:
            conforms(value, shape.shape, place)
    elif isinstance(shape, set):
        assert value in shape, place
    else:
        assert isinstance(value, shape), place
        assert shape is bool or not isinstance(value, bool), place


def test_the_shape_and_nothing_else_on_standard_output(kv: Run) -> None:
    done = kv("check", "outline@incident", "--json", "-")
    result = json.loads(done.out)

    assert done.code == 1
    assert done.err == ""
    conforms(result, SHAPE)
    assert result["schema"] == "kvproto.result/1"
    assert (result["model"], result["preset"], result["scope"]) == ("outline", "incident", "incident")
    assert result["parameters"]["client_disconnects"] is False
    assert result["complete"] is True
    assert result["stopped"] is None
    assert set(result["never_fired"]) == {"abort_on_prefill", "drain", "abort_on_decode"}


def test_violated_properties_name_their_trace(kv: Run) -> None:
    result = json.loads(kv("check", "outline@incident", "--json", "-").out)

    for found in result["properties"]:
        violated = found["verdict"] == "violated"
        assert (found["trace"] is not None) == violated
        assert (found["length"] is not None) == violated
        if violated:
            trace = json.loads(Path(found["trace"]).read_text())
            assert trace["property"] == found["name"]
            assert len(trace["steps"]) == found["length"]


def test_a_file_beside_the_usual_output(kv: Run, here: Path) -> None:
    done = kv("check", "outline@incident", "--json", "result.json")

    assert "VIOLATED" in done.out
    conforms(json.loads((here / "result.json").read_text()), SHAPE)


def test_several_targets_give_an_array(kv: Run) -> None:
    results = json.loads(kv("check", "outline@incident", "outline@incident", "--json", "-").out)

    assert len(results) == 2
    for result in results:
        conforms(result, SHAPE)


def test_no_target_gives_an_array_of_all_presets(kv: Run) -> None:
    results = json.loads(kv("check", "--json", "-", "--max-depth", "3").out)

    assert [r["target"] for r in results] == [f"sglang@{preset.name}" for preset in find("sglang").model.presets]
    assert all(r["stopped"] == "depth limit" and not r["complete"] for r in results)


def test_an_inconclusive_result_is_bounded(kv: Run) -> None:
    done = kv("check", "outline@patched", "--json", "-", "--max-states", "50")
    result = json.loads(done.out)

    assert done.code == 3
    conforms(result, SHAPE)
    assert {(p["verdict"], p["strength"]) for p in result["properties"]} == {("inconclusive", "bounded")}


def test_what_a_model_prints_while_it_is_imported_is_no_result(kv: Run, write: Write) -> None:
    write("print('hello')\n")
    done = kv("check", "model.py", "--json", "-")

    conforms(json.loads(done.out), SHAPE)
    assert "hello" in done.err


@pytest.mark.parametrize("place", ["nowhere/result.json", ".", "a\0b"])
def test_a_place_that_cannot_be_written_is_refused_before_the_search(kv: Run, place: str) -> None:
    done = kv("check", "outline@incident", "--json", place)

    assert done.code == 2
    assert done.err.startswith("error KV021")
    assert done.out == ""


def test_a_full_disk(kv: Run) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = kv("check", "outline@incident", "--json", "/dev/full")

    assert done.code == 2
    assert "no space left" in done.err
