"""Measures that break another claim, presets that hold, and models that are found by the places in a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.explain.missing import missing
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis, Guard
from kvproto.trace.build import build_trace
from kvproto.trace.trace import Trace
from kvproto.whatif.analyse import Analysed, analysed, explained
from kvproto.whatif.subject import Subject, subject
from kvproto.whatif.text import describe

DOOR = '''
"""A door that opens only for who has a key, and nobody has one."""
from kvproto.lang import *

m = Machine("m")

class Config(Params):
    locked: bool = flag(True, "the door asks for the key")
    weak: bool = flag(False, "a key that does not turn", kind="mitigation")
    hands_out: bool = flag(False, "the porter hands a key out", kind="mitigation")
    spare: bool = flag(False, "there is a spare key from the start", kind="mitigation")

cfg = Config()

class State(Record):
    knocked: Bool
    key: Bool
    inside: Bool
    unasked: Bool

@action(m)
def knock(s):
    """Somebody knocks."""
    require(not s.knocked)
    s.knocked = True

@action(m, fair="weak")
def hand_out(s):
    """The porter hands the key out."""
    require(cfg.hands_out and not s.key)
    s.key = True

@action(m, fair="weak")
def enter(s):
    """Somebody enters."""
    require(s.knocked and not s.inside)
    require(not cfg.locked or s.key or cfg.spare)
    s.inside = True
    if not s.key and not cfg.spare:
        s.unasked = True

@invariant("who is inside was asked for a key")
def asked(s):
    return not s.unasked

@leads_to("who knocks gets in")
def gets_in(s):
    return s.knocked, s.inside

model = Model("door", "a door", State, parts=[__name__], params=Config, presets=[
    Preset("bug", "nobody has a key"),
    Preset("open", "the door is not locked", locked=False),
    Preset("porter", "the porter hands it out", hands_out=True),
    Preset("both", "the porter has a spare one", hands_out=True, spare=True),
])
'''


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """The model in a file."""
    file = tmp_path / "door.py"
    file.write_text(DOOR, "utf-8")
    return file


def trace_of(file: str) -> Trace:
    """The counterexample of the bug, with places as a search from that folder has them."""
    model = find(file).model
    system = build(model, choose(model, preset="bug"))
    found = search(system, Options(properties=("gets_in",))).finding("gets_in").counterexample
    assert found is not None
    return build_trace(system, found)


def judged(door: Path) -> tuple[Subject, Analysed, dict[str, Guard]]:
    """The analysis of the bug, and its guards by name."""
    about = subject(trace_of(str(door)), str(door))
    found = analysed(about)
    return about, found, {guard.name: guard for guard in found.analysis.guards}


def test_a_measure_that_breaks_another_claim_is_told_with_it(door: Path) -> None:
    about, found, guards = judged(door)

    assert ("holds", ("asked",)) == (guards["locked"].verdict, guards["locked"].breaks)
    assert ("holds", ("asked",)) == (guards["open"].verdict, guards["open"].breaks)
    assert all(not guards[name].breaks for name in ("hands_out", "spare", "porter", "both"))
    lines = describe(about.trace, found)
    assert sum(line.endswith("holds in this scope, but then asked breaks") for line in lines) == 2
    best = found.analysis.guard()
    assert best is not None and best.name in ("hands_out", "spare")
    assert "locked" not in explained(about, found.analysis).why[-1]


def test_every_preset_that_holds_is_listed(door: Path) -> None:
    _, _, guards = judged(door)

    assert {"open", "porter", "both"} == {name for name, guard in guards.items() if guard.kind == "preset"}


def test_what_breaks_another_claim_comes_last(door: Path) -> None:
    _, found, _ = judged(door)

    breaking = [bool(guard.breaks) for guard in found.analysis.guards]
    assert sorted(breaking) == breaking
    assert any(breaking) and not all(breaking)


def test_it_is_kept_in_the_file(door: Path) -> None:
    about, found, _ = judged(door)
    kept = replace(about.trace, analysis=found.analysis)
    text = codec.dumps(kept)

    assert codec.loads(text, name="a trace") == kept
    assert text.count('"breaks"') == 2


def test_the_only_measure_is_told_with_what_it_breaks(door: Path) -> None:
    about, _, guards = judged(door)

    (alone,) = missing(replace(about.trace, analysis=Analysis((guards["locked"],))))
    assert alone.endswith("In this scope the claim holds then, but asked breaks.")
    (both,) = missing(replace(about.trace, analysis=Analysis((guards["locked"], guards["both"]))))
    assert both.endswith("but asked breaks; with the measures of both it holds in this scope.")


def test_what_does_not_suffice_is_no_releases_cure(door: Path) -> None:
    about, _, guards = judged(door)
    weak = replace(guards["hands_out"], release="porter", verdict="violated", other=3)

    found = Analysed(Analysis((weak,)))
    assert not any("[porter]" in line for line in describe(about.trace, found))
    assert "(porter" not in missing(replace(about.trace, analysis=found.analysis))[0]
    sound = Analysed(Analysis((replace(weak, verdict="holds", other=0),)))
    assert any("[porter]" in line for line in describe(about.trace, sound))


def test_the_model_is_found_by_the_places_in_the_trace(door: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its file lies below the current folder; nothing else is opened.  That it has changed is told."""
    monkeypatch.chdir(door.parent)
    trace = trace_of("door.py")

    assert subject(trace).system.model == "door"
    with pytest.raises(KvError) as outside:
        subject(replace(trace, steps=tuple(replace(step, loc=f"{door}:20") for step in trace.steps)))
    assert "KV027" == outside.value.diagnostic.code
    door.write_text(DOOR.replace("and not s.inside", "and s.inside"), "utf-8")
    with pytest.raises(KvError) as changed:
        subject(trace)
    assert "KV028" == changed.value.diagnostic.code
