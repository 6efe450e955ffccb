"""Kept traces by name: all that are recorded still go wrong, a fix stops them, and a changed model is no obstacle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvproto.engine.evaluate import Machine
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.explain.why import with_why
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find, patterns
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace
from kvproto.whatif.again import again, again_in

RECORDED = sorted((ROOT / "traces").glob("*.trace.json"))
INCIDENT = ROOT / "traces" / "sglang-incident-reads_own_writes.trace.json"


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name.removesuffix(".trace.json"))
def test_every_recorded_trace_still_breaks_its_claim(file: Path) -> None:
    trace = codec.read(file)
    found = again(trace, find(trace.model))
    assert (found.end, found.step) == ("violated", len(trace.steps))
    assert found.run is not None
    assert [action.name for action, _ in found.run.steps] == [step.action for step in trace.steps]


def test_a_fix_stops_the_same_steps() -> None:
    found = again(codec.read(INCIDENT), find("sglang@patched"))
    assert found.end == "refused"
    assert 0 < found.step < 17
    assert found.reason
    assert found.run is None


def test_a_variable_that_the_trace_does_not_know_is_no_obstacle() -> None:
    trace = codec.read(INCIDENT)
    gone = "req[A].need"
    old = replace(trace, init={path: value for path, value in trace.init.items() if path != gone})
    assert again(old, find("sglang")).end == "violated"


def test_a_parameter_that_is_no_more_is_left_out() -> None:
    trace = codec.read(INCIDENT)
    assert again(replace(trace, parameters={**trace.parameters, "retired": True}), find("sglang")).end == "violated"


def test_what_the_model_does_not_have_is_gone() -> None:
    trace = codec.read(INCIDENT)
    renamed = replace(trace, steps=(replace(trace.steps[0], action="sbmit"), *trace.steps[1:]))
    assert "sbmit" in again(renamed, find("sglang")).reason
    assert again(renamed, find("sglang")).end == "gone"
    assert again(replace(trace, property="reads_others_writes"), find("sglang")).end == "gone"
    assert again(replace(trace, init={**trace.init, "req[A].need": 3}), find("sglang")).end == "gone"
    assert again(trace, find("kv_transfer")).end == "gone"


def test_steps_that_do_no_harm_hold() -> None:
    trace = codec.read(INCIDENT)
    assert again(replace(trace, steps=trace.steps[:-1]), find("sglang")).end == "holds"


def found_in(system: System) -> list[Trace]:
    """A trace for everything that is violated."""
    runs = [f.counterexample for f in search(system, Options(keep_going=True)).findings if f.counterexample]
    return [with_why(system, run, build_trace(system, run)) for run in runs]


def test_runs_of_one_preset_in_all_others() -> None:
    """What is called violated is a run of that system, says the recorder, and as long as it was at most."""
    seen = dict.fromkeys(("violated", "refused", "holds"), 0)
    lassos = 0
    for name in patterns():
        model = find(name).model
        systems = [build(model, choose(model, preset=preset.name)) for preset in model.presets]
        for trace in (trace for system in systems for trace in found_in(system)):
            for system in systems:
                taken = again_in(system, trace)
                seen[taken.end] += 1
                assert (taken.run is not None) == (taken.end == "violated")
                if taken.run is not None:
                    told = build_trace(system, taken.run)
                    lassos += trace.loop is not None
                    assert (told.property, told.verdict) == (trace.property, "violated")
                    assert [step.action for step in told.steps] == [step.action for step in trace.steps][: taken.step]
    assert min(*seen.values(), lassos) > 20


def test_a_model_that_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "initial", lambda self: iter(()))
    nowhere = again(codec.read(INCIDENT), find("sglang"))
    assert ("gone", "sglang does not start as the trace does") == (nowhere.end, nowhere.reason)
