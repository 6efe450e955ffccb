"""Models in the language with claims about runs: what is judged, and how it is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from living import everywhere, explored, judged, lowered
from searching import imported, system_of

from kvproto.engine.liveness import (
    Budget,
    ConditionFault,
    Lasso,
    LivenessFinding,
    NotConfirmed,
    check,
    confirm,
    decisive,
    why_fair,
)
from kvproto.engine.liveness.graph import Unfinished
from kvproto.engine.liveness.reference import find_lasso
from kvproto.engine.search import Options, search
from kvproto.ir.nodes import System

HEAD = """
from kvproto.lang import *

Who = Sort("Who", labels="ABC", size=2)
m = Machine("m")
"""

ALLOCATOR = """
class State(Record):
    wants: Array(Who, Bool)
    has: Array(Who, Bool)


@action(m)
def ask(s, r: Who):
    require(not s.wants[r] and not s.has[r])
    s.wants[r] = True


@action(m{grant})
def grant(s, r: Who):
    require(s.wants[r] and not any(s.has[q] for q in Who))
    s.wants[r] = False
    s.has[r] = True


@action(m, fair="weak")
def release(s, r: Who):
    require(s.has[r])
    s.has[r] = False


@invariant("one at a time")
def exclusive(s):
    return sum(s.has[r] for r in Who) <= 1


@leads_to("who asks gets it")
def served(s, r: Who):
    return s.wants[r], s.has[r]


@leads_to("who has it gives it back")
def returned(s, r: Who):
    return s.has[r], not s.has[r]


@always_eventually("it is free again and again")
def free(s):
    return not any(s.has[r] for r in Who)


@eventually_always("it is free for good")
def idle(s):
    return not any(s.has[r] for r in Who)
"""

Make = Callable[..., System]


@pytest.fixture
def model(tmp_path: Path) -> Make:
    def make(text: str, fields: str = "") -> System:
        text = f'{HEAD}{text}\n\nmodel = Model("small", "", state=State, parts=[__name__]{fields})\n'
        with imported(text, tmp_path) as module:
            return system_of(module)

    return make


def by_name(system: System) -> dict[str, LivenessFinding]:
    found = {finding.claim.name: finding for finding in everywhere(system)}
    for name, finding in found.items():
        assert (finding.verdict == "violated") == (find_lasso(system, system.claim(name)) is not None)
    return found


def told(lasso: Lasso | None) -> list[str]:
    assert lasso is not None
    return [f"{action.name}{args}" for action, args in lasso.steps]


@pytest.mark.parametrize(
    ("grant", "served"), [("", "violated"), (', fair="weak"', "violated"), (', fair="strong"', "holds")]
)
def test_an_allocator_needs_strong_fairness(model: Make, grant: str, served: str) -> None:
    found = by_name(model(ALLOCATOR.replace("{grant}", grant)))

    assert {name: finding.verdict for name, finding in found.items()} == {
        "served": served,
        "returned": "holds",
        "free": "holds",
        "idle": "violated",
    }


def test_the_other_one_is_served_for_ever(model: Make) -> None:
    system = model(ALLOCATOR.replace("{grant}", ', fair="weak"'))
    lasso = by_name(system)["served"].lasso
    assert lasso is not None

    assert ["ask(0,)", "ask(1,)", "grant(1,)", "release(1,)"] == told(lasso)
    assert (0,) == lasso.args
    assert 1 == lasso.loop
    assert (
        "grant (r=A) is only weakly fair, and not possible after step 3.",
        "grant (r=B) happens again and again (step 3).",
        "release (r=A) is not possible any more after step 1.",
        "release (r=B) happens again and again (step 4).",
    ) == why_fair(system, lasso)


def test_without_fairness_it_is_said_so(model: Make) -> None:
    system = model(ALLOCATOR.replace("{grant}", "").replace(', fair="weak"', ""))
    lasso = by_name(system)["served"].lasso
    assert lasso is not None

    assert ["ask(0,)"] == told(lasso)
    assert lasso.stops
    assert ("No action is declared fair, so a run may stop anywhere.",) == why_fair(system, lasso)


def test_what_decides(model: Make) -> None:
    system = model(ALLOCATOR.replace("{grant}", ', fair="weak"'))
    for finding in by_name(system).values():
        if finding.lasso is not None:
            condition, steps = decisive(system, finding.claim, finding.lasso)
            assert finding.lasso.loop <= steps <= len(finding.lasso.steps)
            assert condition.type == finding.claim.cond.type  # type: ignore[union-attr]


COUNTER = """
class State(Record):
    n: Int(0, 3)


@action(m, fair="weak")
def up(s):
    require(s.n < 3)
    s.n += 1
    assert s.n < 3, "three is too much"


@eventually("it comes to three")
def three(s):
    return s.n == 3


@eventually("it comes to two")
def two(s):
    return s.n == 2
"""


def test_a_failing_assertion_is_no_step(model: Make) -> None:
    found = by_name(model(COUNTER))

    assert "violated" == found["three"].verdict
    assert ["up()", "up()"] == told(found["three"].lasso)
    assert "holds" == found["two"].verdict


def test_a_condition_that_goes_wrong_is_an_error_of_the_model(model: Make) -> None:
    text = COUNTER + "\n\n@eventually('none')\ndef wrong(s):\n    return 1 // s.n == 1\n"

    with pytest.raises(ConditionFault) as error:
        judged(model(text))
    assert ("wrong", 0, "KV204") == (error.value.claim.name, error.value.state, error.value.fault.code)


def test_groups_from_the_model(model: Make) -> None:
    text = """
class State(Record):
    at: Array(Who, Int(0, 2))


@action(m)
def left(s, r: Who):
    s.at[r] = 2 - s.at[r]


@action(m)
def out(s, r: Who):
    require(s.at[r] == 0)
    s.at[r] = 1


@eventually("both are out")
def both(s):
    return all(s.at[r] == 1 for r in Who)
"""
    weak = ", fairness=[weak(left, out), weak(out, per='r')]"
    found = by_name(model(text, weak))["both"]
    assert "violated" == found.verdict

    text = text.replace("s.at[r] = 2 - s.at[r]", "require(s.at[r] != 1)\n    s.at[r] = 2 - s.at[r]")
    assert "violated" == by_name(model(text, weak))["both"].verdict
    assert "violated" == by_name(model(text, ", fairness=[weak(left), strong(left, out)]"))["both"].verdict
    assert "holds" == by_name(model(text, ", fairness=[weak(left, per=('r',)), strong(out, per='r')]"))["both"].verdict


def test_many_groups(model: Make) -> None:
    text = ALLOCATOR.replace("{grant}", ', fair="strong"').replace("size=2", "size=3")
    found = by_name(model("Who = Sort('Who', size=3)\n" + text))

    assert "holds" == found["served"].verdict


# --- what is not known -----------------------------------------------------------------------------------

ENDLESS = """
class State(Record):
    n: Int(0, 40)
    on: Bool


@action(m, fair="weak")
def up(s):
    require(s.n < 40)
    s.n += 1


@action(m)
def switch(s):
    require(s.n < 8)
    s.on = not s.on


@eventually("it comes to the end")
def end(s):
    return s.n == 40


@eventually_always("it stays off")
def off(s):
    return not s.on


@always_eventually("it is below five")
def low(s):
    return s.n < 5
"""


def test_a_search_that_was_cut_short(model: Make) -> None:
    """What was expanded is judged: a run inside of it is a run; but nothing is said to hold."""
    system = model(ENDLESS)
    program = lowered(system)
    explorer = explored(system, program, most=12)
    assert explorer is not None
    found = {f.claim.name: (f.verdict, f.reason) for f in check(system, program, explorer, system.claims)}

    assert ("inconclusive", "the search is not complete") == found["end"] == found["low"]
    assert {"end": "holds", "off": "violated", "low": "violated"} == {n: f.verdict for n, f in by_name(system).items()}


def test_too_little_memory(model: Make) -> None:
    found = judged(model(ENDLESS), budget=Budget(memory=1000))

    assert {"inconclusive"} == {finding.verdict for finding in found}
    assert all(finding.reason.startswith("memory limit: ") for finding in found)


def test_a_reason_to_stop(model: Make) -> None:
    looks: list[None] = []

    def stop() -> str:
        looks.append(None)
        return "time limit" if len(looks) > 6 else ""

    found = judged(model(ENDLESS), budget=Budget(stop=stop))

    assert "time limit" == found[-1].reason
    assert "inconclusive" == found[-1].verdict


def test_nothing_to_judge(model: Make) -> None:
    system = model(ENDLESS)

    assert [] == judged(replace(system, claims=()))


# --- confirmation ----------------------------------------------------------------------------------------


def test_what_is_no_counterexample_is_not_confirmed(model: Make) -> None:
    system = model(ALLOCATOR.replace("{grant}", ', fair="weak"'))
    claim = system.claim("served")
    lasso = by_name(system)["served"].lasso
    assert lasso is not None
    confirm(system, claim, lasso)
    wrong = {
        "is no step": replace(lasso, steps=lasso.steps[2:], loop=0),
        "does not return": replace(lasso, loop=2),
        "cannot return": replace(lasso, loop=9),
        "is not fair": replace(lasso, steps=lasso.steps[:1]),
        "is true of the lasso": replace(lasso, args=(1,)),
        "does not begin": replace(lasso, init=(True, True, True, True)),
    }

    for reason, other in wrong.items():
        with pytest.raises(NotConfirmed, match=reason):
            confirm(system, claim, other)


@pytest.mark.parametrize("over", [1, 1 << 19, (1 << 20) - 1, 1 << 20])
@pytest.mark.parametrize("limit", [1, (8 << 20) - 1, 8 << 20, (8 << 20) + 1])
def test_what_does_not_fit_is_told_as_more(limit: int, over: int) -> None:
    with pytest.raises(Unfinished) as problem:
        Budget(memory=limit).look(limit + over)
    needed, allowed = map(int, re.findall(r"\d+", str(problem.value)))

    assert needed > allowed
    Budget(memory=limit).look(limit)


FRAIL = """
class State(Record):
    n: Int(0, 2)

@action(m, fair="weak")
def up(s):
    require(s.n < 2)
    {first}
    s.n += 1

@eventually("it gets to the end")
def ends(s):
    return s.n == 2
"""


@pytest.mark.parametrize("fields", ["", ", deadlock=True"])
def test_a_step_that_fails_changes_nothing(model: Make, fields: str) -> None:
    """It is no deadlock, but neither is it a step that fairness could demand; without the failure both are as usual."""
    frail = model(FRAIL.replace("{first}", 'assert s.n == 0, "only once"'), fields)
    verdicts = {f.claim.name: f.verdict for f in search(frail, Options(keep_going=True)).findings}
    lasso = find_lasso(frail, frail.claim("ends"))

    assert {"up.assert1": "violated", "ends": "violated", **({"no_deadlock": "holds"} if fields else {})} == verdicts
    assert ["up()"] == told(lasso)
    sound = model(FRAIL.replace("{first}", ""), fields)
    assert "holds" == search(sound).finding("ends").verdict
