"""What the recorded traces say of what would have been is what is found out about them today."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kvproto.explain.slice import backward_slice
from kvproto.shipped import ROOT
from kvproto.trace import codec
from kvproto.trace.trace import Trace
from kvproto.whatif.analyse import analysed
from kvproto.whatif.dots import dots
from kvproto.whatif.guards import guards
from kvproto.whatif.subject import Subject, subject

FILES = sorted((ROOT / "traces").glob(f"*{codec.SUFFIX}"))
QUICK = ("outline-", "sglang-0.5.22-", "sglang-incident-reads_own", "sglang-0.5.23-nobody")
"""Beginnings of the names of those that take no time."""

ENVIRONMENT_ONLY = ("sglang-0.5.23-pages-timeouts=off-worker_crash=on-answered",)
"""Traces that no single measure of the model prevents."""


def name_of(path: Path) -> str:
    """The file's name without its end."""
    return path.name.removesuffix(codec.SUFFIX)


def marked(paths: list[Path]) -> list[object]:
    """Parameters of a test, long ones marked as slow."""
    slow = pytest.mark.slow
    return [pytest.param(p, id=name_of(p), marks=[] if p.name.startswith(QUICK) else [slow]) for p in paths]


@cache
def run_of(path: Path) -> Subject:
    """The trace on its model."""
    return subject(codec.read(path))


@cache
def read(path: Path) -> Trace:
    """The trace as it stands in the file."""
    return codec.read(path)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_recorded_trace_is_analysed(path: Path) -> None:
    trace = read(path)

    assert trace.analysis is not None
    assert trace.analysis.dots
    assert trace.strength == "exhaustive"
    assert trace.shortest == (trace.loop is None)
    assert (trace.analysis.no_return is None) == (trace.loop is not None)
    assert 3 <= len(trace.why) <= 6


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_guilty_write_or_the_missing_guard_is_in_the_slice_and_in_the_why(path: Path) -> None:
    trace = read(path)
    assert trace.analysis is not None
    guard, sliced, text = trace.analysis.guard(), backward_slice(trace).steps, " ".join(trace.why)

    assert guard is not None
    if name_of(path) in ENVIRONMENT_ONLY:
        assert (guard.kind, guard.name in text) == ("environment", True)
        return
    assert guard.kind == "switch"
    assert guard.name in text
    # A guard acts where the verdict looks; in a run without end also on what keeps it from going on.
    assert {guard.step, guard.since} & sliced or trace.loop is not None
    named = {int(number) for number in re.findall(r"[Ss]teps? (\d+)", text)}
    written = {dot.step for dot in trace.analysis.dots if dot.effect == "harmless"}
    assert named & written


@pytest.mark.parametrize("path", marked(FILES))
def test_dots_are_those_of_today(path: Path) -> None:
    trace = read(path)
    assert trace.analysis is not None

    assert trace.analysis.dots == dots(run_of(path))


@pytest.mark.parametrize("path", marked(FILES))
def test_guards_are_those_of_today(path: Path) -> None:
    """All but what searches say of them."""
    trace = read(path)
    assert trace.analysis is not None
    today = {(guard.kind, guard.name, guard.value): guard for guard in guards(run_of(path), None)}
    kept = {(guard.kind, guard.name, guard.value): guard for guard in trace.analysis.guards}

    assert {key for key in today if key[0] != "preset"} == {key for key in kept if key[0] != "preset"}
    for key in today.keys() & kept.keys():
        assert replace(kept[key], verdict="", other=0, breaks=()) == today[key]


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.name.startswith(("outline-incident", "sglang-0.5.22-"))], ids=name_of
)
def test_the_whole_analysis_is_that_of_today(path: Path) -> None:
    assert analysed(run_of(path)).analysis == read(path).analysis
