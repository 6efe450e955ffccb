"""The recorded counterexamples of `sglang` are what a search finds today, and nothing else is recorded."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from sglang_recorded import RECORDED, TRACES, Recorded

from kvproto.cli.traces import trace_of
from kvproto.engine.search import Options, search
from kvproto.explain.why import with_why
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace import codec
from kvproto.trace.trace import Trace

FILES = {path: codec.read(path) for path in sorted(TRACES.glob(f"sglang-*{codec.SUFFIX}"))}


@cache
def system_of(recorded: Recorded) -> System:
    """What is searched."""
    model = find("sglang").model
    return build(model, choose(model, preset=recorded.preset, scope=recorded.scope, sets=dict(recorded.sets)))


def belongs(trace: Trace, recorded: Recorded) -> bool:
    """The trace comes from this search."""
    system = system_of(recorded)
    wanted = recorded.claim in (None, trace.property)
    return (
        wanted
        and (trace.preset, trace.scope) == (system.preset, system.scope)
        and (dict(trace.parameters) == dict(system.parameters))
    )


def test_every_recorded_trace_belongs_to_a_search() -> None:
    assert FILES
    assert [path.name for path, trace in FILES.items() if not any(belongs(trace, one) for one in RECORDED)] == []


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: " ".join(one.command[1:2] + one.command[4:]))
def test_recorded_traces_are_what_a_search_finds_today(recorded: Recorded) -> None:
    system = system_of(recorded)
    names = (recorded.claim,) if recorded.claim else ()
    result = search(system, Options(properties=names))
    found = {f.claim.name: f for f in result.findings if f.counterexample}
    kept = {trace.property: path for path, trace in FILES.items() if belongs(trace, recorded)}

    assert found.keys() == kept.keys()
    for name, path in kept.items():
        counterexample = found[name].counterexample
        stored, fresh = FILES[path], trace_of(system, result, found[name], counterexample)
        assert path.read_text(encoding="utf-8") == codec.dumps(stored), path.name
        assert codec.dumps(replace(stored, analysis=None, why=fresh.why)) == codec.dumps(fresh), path.name
        assert stored.why == with_why(system, counterexample, stored).why, path.name
