"""From counterexamples to traces: what is blamed, and what is refused as not reproduced."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kvproto.engine.blame import blame_refusal
from kvproto.engine.evaluate import Machine, State
from kvproto.engine.liveness import NotConfirmed
from kvproto.engine.outcome import Counterexample
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace.build import NotReproduced, build_trace, fair_words

TEXT = """
from kvproto.lang import *

Req = Sort("Req", labels="AB", size=2)
m = Machine("m")


class State(Record):
    a: Bool
    b: Bool
    n: Int(0, 9)
    held: Array(Req, Bool)


@action(m)
def take(s, r: Req):
    free = sum(not s.held[q] for q in Req)
    require(not s.held[r])
    require(free > 1 or s.b)
    s.held[r] = True


@action(m)
def count(s):
    require(s.n < 3)
    s.n += 1
    assert s.n < 2 or any(s.held[r] for r in Req), "who counts holds something"


@invariant("x")
def both(s):
    return not (any(s.held[r] for r in Req) and s.n > 0) or s.a


def over(s):
    return s.a and s.b


model = Model("small", "", state=State, parts=[__name__], terminal=over)
"""


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "small.py").write_text(TEXT)
    model = find(str(tmp_path / "small.py")).model
    return build(model, choose(model))


def found(system: System, name: str) -> Counterexample:
    counterexample = search(system).finding(name).counterexample
    assert counterexample is not None
    return counterexample


def test_an_invariant_blames_what_decides(system: System) -> None:
    trace = build_trace(system, found(system, "both"))

    assert trace.blame == ("held[A]", "n", "a")
    assert [step.action for step in trace.steps] == ["take", "count"]


def test_an_assertion_blames_what_its_step_read(system: System) -> None:
    trace = build_trace(system, found(system, "count.assert1"))

    assert trace.blame == ("n", "held[A]", "held[B]")
    assert trace.steps[-1].delta == {"n": (1, 2)}


def test_a_deadlock_blames_the_end_that_is_none_and_the_guards(system: System) -> None:
    trace = build_trace(system, found(system, "no_deadlock"))

    assert trace.blame == ("a", "held[A]", "b", "n")


def test_a_refusal_is_decided_by_one_guard(system: System) -> None:
    machine = Machine(system)
    take = next(a for a in system.actions if a.name == "take")
    paths = [path for path, _ in machine.leaves]
    held: State = tuple(path == ("held", 0) or old for path, old in zip(paths, machine.zero(), strict=True))
    first, second = (0,), (1,)

    assert [p[0] for p in blame_refusal(machine, take, first, held) or []] == ["held"]
    assert [p[0] for p in blame_refusal(machine, take, second, held) or []] == ["b"]
    assert blame_refusal(machine, take, first, machine.zero()) is None


def test_what_does_not_happen_is_not_reproduced(system: System) -> None:
    both, fails, stuck = (found(system, name) for name in ("both", "count.assert1", "no_deadlock"))

    with pytest.raises(NotReproduced, match="both holds at the end"):
        build_trace(system, replace(both, steps=both.steps[:1]))
    with pytest.raises(NotReproduced, match="no init function fails"):
        build_trace(system, replace(fails, steps=fails.steps[:1]))
    with pytest.raises(NotReproduced, match="is not what was searched for"):
        build_trace(system, replace(both, steps=fails.steps))
    with pytest.raises(NotReproduced, match="can happen in the last state"):
        build_trace(system, replace(stuck, steps=stuck.steps[:-1]))
    with pytest.raises(NotReproduced, match="is not enabled"):
        build_trace(system, replace(stuck, steps=stuck.steps + stuck.steps))


ROUND = """
@action(m, fair="weak")
def around(s):
    s.n = (s.n + 1) % 4


@action(m)
def take(s, r: Req):
    require(s.n == 2)
    s.held[r] = True


@sometimes("y")
def both(s):
    return all(s.held[r] for r in Req) and not s.a


@eventually("z")
def held(s, r: Req):
    return s.held[r]


model = Model("round", "", state=State, parts=[__name__])
"""


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "round.py").write_text(TEXT[: TEXT.index("@action")] + ROUND)
    model = find(str(tmp_path / "round.py")).model
    return build(model, choose(model))


def test_a_witness_rests_on_what_makes_it_one(rounds: System) -> None:
    witness = search(rounds).finding("both").witness
    assert witness is not None
    trace = build_trace(rounds, witness)

    assert (trace.verdict, trace.loop) == ("holds", None)
    assert trace.blame == ("held[A]", "held[B]", "a")
    assert [step.action for step in trace.steps] == ["around", "around", "take", "take"]
    with pytest.raises(NotReproduced, match="is no witness"):
        build_trace(rounds, replace(witness, steps=witness.steps[:3]))


def test_a_lasso_rests_on_what_it_never_does(rounds: System) -> None:
    run = search(rounds).finding("held").counterexample
    assert run is not None
    trace = build_trace(rounds, run)

    assert (trace.verdict, trace.loop, trace.blame) == ("violated", 0, ("held[A]", "n"))
    assert [step.action for step in trace.steps] == ["around"] * 4
    assert fair_words(rounds, run) == ("around happens again and again (step 1).",)


def test_a_lasso_that_is_none_is_not_confirmed(rounds: System) -> None:
    run = search(rounds).finding("held").counterexample
    assert run is not None

    with pytest.raises(NotConfirmed, match="does not return"):
        build_trace(rounds, replace(run, steps=run.steps[:3]))
    for stops in (replace(run, steps=(), loop=0), replace(run, loop=4)):
        with pytest.raises(NotConfirmed, match="around"):
            build_trace(rounds, stops)
    again = replace(run, steps=(*run.steps, *run.steps[:3]), loop=3)
    assert build_trace(rounds, again).loop == 3
