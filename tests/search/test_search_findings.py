"""What a search says besides violations: witnesses, vacuity, guards that never decide, constraints, claims about runs.

The models are small enough to see the answers; every tier has to give them.
"""

from __future__ import annotations

import json

import pytest
from small_models import COUNT, TIERS, Make, has_c, searched, trace, verdicts

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.view.verdicts import exit_code, overall

HOLD = """
@action(m)
def hold(s, r: Req):
    require(not s.held[r])
    s.held[r] = True


"""


@pytest.fixture(params=TIERS)
def options(request: pytest.FixtureRequest) -> dict[str, object]:
    if request.param in ("bytecode", "compiled") and not has_c():
        pytest.skip("no C engine here")
    return TIERS[request.param]


def result(system: System, options: dict[str, object], **more: object) -> Result:
    return search(system, Options(**options, **more))  # type: ignore[arg-type]


# --- sometimes ----------------------------------------------------------------------------------------------


def test_a_witness_is_a_shortest_run(make: Make, options: dict[str, object]) -> None:
    system = make(
        COUNT + HOLD + "@sometimes('both')\ndef both(s):\n    return s.n == 2 and all(s.held[r] for r in Req)\n"
    )
    found = result(system, options)
    finding = found.finding("both")

    assert (finding.verdict, finding.strength, finding.counterexample) == ("holds", "exhaustive", None)
    witness = json.loads(trace(found, finding.witness))
    assert sorted(step["action"] for step in witness["steps"]) == ["hold", "hold", "inc", "inc"]
    assert witness["verdict"] == "holds"
    assert exit_code(found) == 0


def test_what_never_happens(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@sometimes('ten')\ndef ten(s):\n    return s.n == 10\n")
    found = result(system, options)

    assert (found.complete, verdicts(found)) == (True, {"ten": "violated"})
    assert found.finding("ten").witness is found.finding("ten").counterexample is None
    assert exit_code(found) == 1


def test_what_was_not_met_yet(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@sometimes('nine')\ndef nine(s):\n    return s.n == 9\n")

    assert verdicts(result(system, options, max_depth=9)) == {"nine": "inconclusive"}
    assert verdicts(result(system, options, max_depth=10)) == {"nine": "holds"}
    assert exit_code(result(system, options, max_depth=10)) == 0, "a witness is a proof, whatever was left out"


def test_an_initial_state_may_be_the_witness(make: Make, options: dict[str, object]) -> None:
    found = result(make(COUNT + "@sometimes('zero')\ndef zero(s):\n    return s.n == 0\n"), options)

    witness = found.finding("zero").witness
    assert witness is not None
    assert witness.steps == ()


def test_witnesses_do_not_end_a_search(make: Make, options: dict[str, object]) -> None:
    text = (
        COUNT
        + "@sometimes('zero')\ndef zero(s):\n    return s.n == 0\n\n\n"
        + "@invariant('x')\ndef low(s):\n    return s.n < 5\n"
    )

    assert verdicts(result(make(text), options)) == {"zero": "holds", "low": "violated"}


# --- vacuity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "premise"),
    [
        ("not s.done or s.n < 5", "s.done"),
        ("s.n != 30 or s.done", "s.n == 30"),
        ("s.n < 5 if s.done else True", "s.done"),
        ("all(s.n < 5 for r in Req if s.done)", "s.done"),
        ("all(not s.held[r] or s.n > 0 for r in Req)", "s.held[r]"),
        ("all(not s.held[r] or s.n < 9 for r in Req if s.done)", "s.done and s.held[r]"),
    ],
)
def test_a_premise_that_is_never_true(make: Make, options: dict[str, object], claim: str, premise: str) -> None:
    system = make(COUNT + f"@invariant('x')\ndef safe(s):\n    return {claim}\n")
    found = result(system, options)

    assert verdicts(found) == {"safe": "holds"}
    assert [(gap.owner, gap.kind, gap.text, gap.loc.line) for gap in found.vacuous] == [
        ("safe", "premise", premise, 23)
    ]
    assert overall(found) == "inconclusive"
    assert exit_code(found) == 3


@pytest.mark.parametrize(
    "claim",
    [
        "not s.held[r] or s.n < 99",
        "s.n < 99",
        "s.done or s.n < 99",
        "s.n < 50 and (s.n != 3 or not s.done)",
        "all(s.n < 99 for q in Req if s.held[q])",
    ],
)
def test_what_assumes_nothing_or_what_happens(make: Make, options: dict[str, object], claim: str) -> None:
    system = make(COUNT + HOLD + f"@invariant('x')\ndef safe(s):\n    return all({claim} for r in Req)\n")
    found = result(system, options)

    assert found.vacuous == ()
    assert exit_code(found) == 0


def test_one_of_two_premises(make: Make, options: dict[str, object]) -> None:
    text = (
        "@invariant('x')\ndef safe(s):\n    return (s.n != 3 or s.n < 5) and (\n        not s.done or s.n > 99\n    )\n"
    )
    found = result(make(COUNT + text), options)

    assert [(gap.text, gap.loc.line) for gap in found.vacuous] == [("s.done", 24)]


def test_a_trigger_that_never_happens(make: Make, options: dict[str, object]) -> None:
    text = "@leads_to('x')\ndef answered(s, r: Req):\n    return s.held[r], s.n == 9\n"
    found = result(make(COUNT + text), options)

    assert verdicts(found) == {"answered": "holds"}
    assert [gap.owner for gap in found.vacuous] == ["answered"]
    assert exit_code(found) == 3
    assert result(make(COUNT + HOLD + text), options).vacuous == ()


def test_vacuity_needs_a_complete_search(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@invariant('x')\ndef safe(s):\n    return s.n != 9 or s.n > 1\n")

    assert result(system, options, max_depth=5).vacuous == ()
    assert result(system, options).vacuous == ()


def test_a_property_that_was_not_selected_is_not_asked(make: Make, options: dict[str, object]) -> None:
    text = (
        "@invariant('x')\ndef empty(s):\n    return not s.done\n\n\n@invariant('y')\ndef low(s):\n    return s.n < 99\n"
    )

    assert result(make(COUNT + text.replace("not s.done", "not s.done or s.n < 3")), options).vacuous != ()
    assert result(make(COUNT + text), options, properties=("low",)).vacuous == ()


# --- coverage -------------------------------------------------------------------------------------------------

GUARDED = """
@action(m)
def inc(s):
    require(s.n < 3 and s.n < 8)
    require(not s.done)
    s.n += 1


@action(m)
def hold(s, r: Req):
    require(not s.held[r])
    require(s.n == 2)
    s.held[r] = True


"""


def test_parts_of_guards_that_never_decide(make: Make, options: dict[str, object]) -> None:
    """`n < 8` follows from `n < 3`, and nothing is ever done; all else refuses something by itself somewhere."""
    found = result(make(GUARDED), options, coverage=True)

    assert found.redundant is not None
    assert [(gap.owner, gap.loc.line) for gap in found.redundant] == [("inc", 17), ("inc", 18)]
    assert [gap.text for gap in found.redundant] == ["s.n < 8", "not s.done"]


def test_guards_are_looked_at_on_demand_and_at_the_end(make: Make, options: dict[str, object]) -> None:
    system = make(GUARDED)

    assert result(system, options).redundant is None
    assert result(system, options, coverage=True, max_depth=2).redundant is None


def test_every_part_decides(make: Make, options: dict[str, object]) -> None:
    text = GUARDED.replace(" and s.n < 8", "") + "@action(m)\ndef end(s):\n    require(s.n == 1)\n    s.done = True\n"
    found = result(make(text), options, coverage=True)

    assert found.redundant == ()


def test_fired_counts_successors(make: Make, options: dict[str, object]) -> None:
    found = result(make(GUARDED), options, symmetry=False)

    assert found.states == 10
    assert found.fired == {"inc": 6, "hold": 4}
    assert sum(found.fired.values()) == found.transitions


# --- constraints -----------------------------------------------------------------------------------------------


def within(limit: int) -> str:
    return f"\n\ndef within(s):\n    return s.n < {limit}\n"


def test_states_outside_are_judged_and_not_counted(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@invariant('x')\ndef low(s):\n    return s.n < 5\n" + within(5), constraint="within")
    found = result(system, options, keep_going=True)

    assert (found.states, found.outside, found.transitions, found.depth) == (5, 1, 5, 5)
    assert found.violating_states == 1
    assert len(json.loads(trace(found, found.finding("low").counterexample))["steps"]) == 5


def test_what_lies_behind_the_constraint_is_not_met(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@invariant('x')\ndef low(s):\n    return s.n < 6\n" + within(5), constraint="within")
    found = result(system, options)

    assert (found.complete, verdicts(found)) == (True, {"low": "holds"})


def test_a_state_outside_is_no_deadlock(make: Make, options: dict[str, object]) -> None:
    for limit, verdict in ((9, "holds"), (10, "violated")):
        system = make(COUNT + within(limit), constraint="within", deadlock="True")
        assert verdicts(result(system, options)) == {"no_deadlock": verdict}


def test_a_state_outside_can_be_a_witness(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@sometimes('x')\ndef five(s):\n    return s.n == 5\n" + within(5), constraint="within")

    assert verdicts(result(system, options)) == {"five": "holds"}


def test_initial_states_outside(make: Make, options: dict[str, object]) -> None:
    text = (
        "@init\ndef begin(s, k: Int(0, 9)):\n    s.n = k\n\n\n"
        + COUNT
        + "@invariant('x')\ndef low(s):\n    return s.n < 99\n"
    )
    found = result(make(text + within(5), constraint="within"), options)

    assert (found.states, found.outside, found.depth, found.transitions) == (5, 5, 1, 5)
    assert exit_code(found) == 0


def test_nothing_inside(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "@invariant('x')\ndef low(s):\n    return s.n < 5\n" + within(0), constraint="within")
    found = result(system, options)

    assert (found.states, found.outside, found.complete) == (0, 1, True)
    assert exit_code(found) == 3


def test_a_constraint_that_goes_wrong(make: Make, options: dict[str, object]) -> None:
    system = make(COUNT + "def within(s):\n    return 6 // (4 - s.n) > -99\n", constraint="within")
    with pytest.raises(KvError, match="evaluating the constraint after: inc"):
        result(system, options)


# --- claims about runs -------------------------------------------------------------------------------------------

LIVE = """
@action(m{})
def inc(s):
    s.n = (s.n + 1) % 4


@action(m)
def hold(s, r: Req):
    require(not s.held[r])
    s.held[r] = True


@always_eventually("it comes back")
def again(s):
    return s.n == 3


@eventually("all are held")
def held(s, r: Req):
    return s.held[r]
"""


def test_a_run_that_stops(make: Make, options: dict[str, object]) -> None:
    """Nothing is fair, so nothing needs to happen."""
    found = result(make(LIVE.format("")), options)

    assert verdicts(found) == {"again": "violated", "held": "violated"}
    run = found.finding("held").counterexample
    assert run is not None
    assert (run.steps, run.loop) == ((), 0)
    assert json.loads(trace(found, run))["loop"] == 0


def test_a_run_that_goes_round(make: Make, options: dict[str, object]) -> None:
    """`inc` has to go on, `hold` need not happen."""
    found = result(make(LIVE.format(", fair='weak'")), options)

    assert verdicts(found) == {"again": "holds", "held": "violated"}
    run = found.finding("held").counterexample
    assert run is not None
    assert [action.name for action, _ in run.steps] == ["inc"] * 4
    assert run.loop == 0


def test_runs_inside_of_the_constraint(make: Make, options: dict[str, object]) -> None:
    """A step out of the constraint is enabled and never taken: a fair run cannot stay before it."""
    text = (
        COUNT.replace("@action(m)", "@action(m, fair='weak')") + "@eventually('x')\ndef far(s):\n    return s.n > 7\n"
    )

    assert verdicts(result(make(text), options)) == {"far": "holds"}
    assert verdicts(result(make(text + within(5), constraint="within"), options)) == {"far": "holds"}


def test_a_claim_about_runs_needs_a_complete_search(make: Make, options: dict[str, object]) -> None:
    found = result(make(LIVE.format(", fair='weak'")), options, max_depth=2)

    assert verdicts(found)["again"] == "inconclusive"
    assert exit_code(found) == 3


def test_a_model_with_claims_about_runs_only_is_searched_to_its_end(make: Make, options: dict[str, object]) -> None:
    found = result(make(LIVE.format("")), options)

    assert (found.complete, found.states, found.symmetric) == (True, 16, ())


def test_all_tiers_agree_on_all_of_it(make: Make) -> None:
    texts = [
        LIVE.format(", fair='strong'"),
        GUARDED,
        COUNT + HOLD + "@sometimes('x')\ndef x(s):\n    return s.n == 9\n",
    ]
    for text in texts:
        system = make(text, deadlock="True")
        said = [
            searched(system, coverage=True, **tier) for name, tier in TIERS.items() if has_c() or name != "compiled"
        ]
        assert all(other == said[0] for other in said[1:])
