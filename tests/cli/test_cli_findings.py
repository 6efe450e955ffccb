"""Witnesses, vacuity, coverage, constraints and endless runs, as text, as JSON and as traces, from every tier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cli_runs import Run, Write

TIERS = {
    "bytecode": ("--tier", "bytecode"),
    "compiled": ("--tier", "compiled"),
    "python": ("--tier", "python"),
    "reference": ("--engine", "reference"),
}

HOLD = """@action(m)
def take(s, r: Req):
    \"\"\"Request {r} takes it.\"\"\"
    require(s.who is None and s.n < 9)
    require(s.n == 2)
    s.who = r


"""


@pytest.fixture(params=TIERS)
def check(request: pytest.FixtureRequest, kv: Run) -> Run:
    """`check ...` in some tier; without any answer on standard error."""

    def run(*args: str) -> Any:
        done = kv("check", *args, *TIERS[request.param])
        assert done.err == ""
        return done

    return run


def as_json(check: Run, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(check("model.py", "--json", "-", *args).out)
    return found


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_a_witness(check: Run, kv: Run, write: Write) -> None:
    write(HOLD + "@sometimes('somebody has it')\ndef had(s):\n    return s.who is not None\n")
    done = check("model.py")
    (found,) = as_json(check)["properties"]

    assert done.code == 0
    assert "holds     had  exhaustive  witness of 3 steps -> .kvproto/traces/mine-had.trace.json" in lines(done.out)
    assert lines(done.out)[-1] == "next: kvproto show .kvproto/traces/mine-had.trace.json"
    assert (found["kind"], found["verdict"], found["length"]) == ("sometimes", "holds", 3)
    shown = kv("show", found["trace"]).out
    head = ["HOLDS  had", "  claim   somebody has it", "  found   s.who is not None", "  model   mine, 3 steps"]
    assert shown.splitlines()[:4] == head
    assert "The verdict rests on who = A, set by step 3, take(r=A)" in shown
    assert check("model.py", "-q").out == ""


def test_no_witness(check: Run, write: Write) -> None:
    write("@sometimes('it counts far')\ndef far(s):\n    return s.n == 7\n")
    done = check("model.py")
    (found,) = as_json(check)["properties"]

    assert done.code == 1
    assert "VIOLATED  far  exhaustive  true in no reachable state" in lines(done.out)
    assert "next:" not in done.out
    assert (found["verdict"], found["trace"], found["length"]) == ("violated", None, None)
    assert list(Path(".kvproto/traces").iterdir()) == []


def test_no_witness_yet(check: Run, write: Write) -> None:
    write("@sometimes('it counts')\ndef counts(s):\n    return s.n == 3\n")
    done = check("model.py", "--max-depth", "3")

    assert done.code == 3
    assert "INCONCL.  counts  bounded" in lines(done.out)


def test_vacuity(check: Run, write: Write) -> None:
    write("@invariant('x')\ndef safe(s):\n    return not s.done or s.n < 5\n")
    done = check("model.py")
    (gap,) = as_json(check)["vacuous"]

    assert done.code == 3
    assert "warning KV302  safe holds vacuously, this is never true: s.done  (model.py:24)" in lines(done.out)
    assert lines(done.out)[-1].startswith("inconclusive: a property is vacuous in this scope")
    assert gap == {"where": "safe", "condition": "s.done", "loc": "model.py:24"}
    quiet = lines(check("model.py", "-q").out)
    assert "holds     safe  exhaustive" not in quiet
    assert quiet[-2:] == lines(done.out)[-2:]


def test_a_violated_property_does_not_hold_vacuously(check: Run, write: Write) -> None:
    write("@invariant('x')\ndef safe(s):\n    return (not s.done or s.n < 5) and s.n < 3\n")
    done = check("model.py", "--keep-going")

    assert done.code == 1
    assert "warning KV302  safe assumes what is never true: s.done  (model.py:24)" in lines(done.out)


def test_coverage(check: Run, write: Write) -> None:
    write(HOLD + "@invariant('x')\ndef safe(s):\n    return s.n < 5\n")
    plain, done = check("model.py"), check("model.py", "--coverage")

    assert plain.code == done.code == 0
    assert "never decides" not in plain.out
    assert "model.py:25: this part of the guard of take never decides: s.n < 9" in lines(done.out)
    assert as_json(check)["redundant_guards"] is None
    (gap,) = as_json(check, "--coverage")["redundant_guards"]
    assert gap == {"where": "take", "condition": "s.n < 9", "loc": "model.py:25"}
    found = as_json(check, "--no-symmetry")
    assert found["fired"] == {"inc": 5, "take": 2}
    assert found["transitions"] == 7


def test_full_coverage(check: Run, write: Write) -> None:
    write(HOLD.replace(" and s.n < 9", "") + "@invariant('x')\ndef safe(s):\n    return s.n < 5\n")

    assert "every part of every guard decides somewhere" in lines(check("model.py", "--coverage").out)


def test_a_constraint(check: Run, write: Write) -> None:
    write(
        "@invariant('x')\ndef low(s):\n    return s.n < 4\n\n\ndef within(s):\n    return s.n < 2\n",
        constraint="within",
    )
    done, found = check("model.py"), as_json(check)

    assert done.code == 0
    assert "1 state outside of the constraint was judged, but not counted or expanded" in lines(done.out)
    assert (found["states"], found["outside_constraint"], found["depth"]) == (2, 1, 2)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_search_that_stops_before_it_asks_the_constraint(check: Run, write: Write, bounded: bool) -> None:
    """State 2 is found, but not asked whether it is inside; a complete search knows that it is not."""
    text = "@invariant('x')\ndef low(s):\n    return s.n < 4\n\n\ndef within(s):\n    return s.n < 2\n"
    write(text, **({"constraint": "within"} if bounded else {}))
    stopped, found = check("model.py", "--max-depth", "3"), as_json(check, "--max-depth", "3")
    said = "1 state was counted without being expanded, and may lie outside of the constraint"

    assert stopped.code == 3
    assert (found["states"], found["frontier"], found["outside_constraint"]) == (3, 1, 0)
    assert (said in lines(stopped.out)) == bounded
    assert said not in check("model.py").out
    assert as_json(check)["frontier"] == 0


def test_a_constraint_that_leaves_nothing(check: Run, write: Write) -> None:
    write(
        "@invariant('x')\ndef low(s):\n    return s.n < 4\n\n\ndef within(s):\n    return s.n > 2\n",
        constraint="within",
    )
    done = check("model.py")

    assert done.code == 3
    assert lines(done.out)[-1] == (
        "inconclusive: every initial state is outside of the constraint, so there is nothing to search"
    )


LIVE = """
@action(m{})
def back(s):
    \"\"\"It starts again.\"\"\"
    require(s.n == 3)
    s.n = 0


@eventually("request r has it")
def had(s, r: Req):
    return s.who == r
"""


def test_a_run_that_stops(check: Run, kv: Run, write: Write) -> None:
    write(LIVE.format(""))
    done = check("model.py")
    (found,) = as_json(check)["properties"]
    shown = kv("show", found["trace"]).out

    assert done.code == 1
    assert "VIOLATED  had  exhaustive  0 steps -> .kvproto/traces/mine-had.trace.json" in lines(done.out)
    assert json.loads(Path(found["trace"]).read_text())["loop"] == 0
    assert "The claim is violated for r = A." in shown
    assert "Nothing happens at all." in shown
    assert "No action is declared fair, so a run may stop anywhere." in " ".join(shown.split())


def test_a_run_that_goes_round(check: Run, kv: Run, write: Write) -> None:
    path = write(LIVE.format(", fair='weak'"))
    path.write_text(path.read_text().replace("@action(m)\ndef inc", "@action(m, fair='weak')\ndef inc"))
    (found,) = as_json(check)["properties"]
    trace = json.loads(Path(found["trace"]).read_text())
    shown = kv("show", found["trace"]).out

    assert (found["verdict"], found["length"]) == ("violated", 4)
    assert [step["action"] for step in trace["steps"]] == ["inc", "inc", "inc", "back"]
    assert (trace["loop"], trace["property"], trace["blame"]) == (0, "had", ["who"])
    assert "After step 4 the run goes on with step 1 again, for ever." in shown
    assert "    then step 1 again, for ever\n" in shown


def test_a_claim_about_runs_that_holds(check: Run, write: Write) -> None:
    path = write("@eventually('x')\ndef far(s):\n    return s.n == 3\n")
    path.write_text(path.read_text().replace("@action(m)\ndef inc", "@action(m, fair='weak')\ndef inc"))
    done = check("model.py")

    assert done.code == 0
    assert "holds     far  exhaustive" in lines(done.out)
    assert check("model.py", "--max-states", "2").code == 3
    assert "the search is not complete" in check("model.py", "--max-states", "2").out


def test_claims_about_runs_that_find_no_room(kv: Run, write: Write) -> None:
    """The states fit, the graph does not: a limit like any other, and the states are not lost."""
    path = write(
        "@action(m)\ndef take(s, r: Req):\n    s.who = r\n\n\n@eventually('x')\ndef far(s):\n    return s.n == 3\n"
    )
    path.write_text(path.read_text().replace("Int(0, 9)", "Int(0, 40000)").replace("s.n < 3", "s.n < 15000"))
    done = kv("check", "model.py", "--memory-limit", "2M", "--checkpoint", "j")

    assert done.code == 3
    assert "memory limit: the graph needs" in done.out
    # What lies on a disk is states, and these fit.
    assert "  inconclusive: not every property could be decided; raise --memory-limit\n" in done.out
    assert lines(done.out)[-1] == "to go on: the same options and  --resume j"
    assert kv("check", "model.py", "--resume", "j").code == 1


SAY = "symmetry: off, because claims about runs are judged on all states"
ONE = "@action(m)\ndef take(s, r: Sort('One', size=1)):\n    s.done = True\n\n\n"
MET = "@eventually('x')\ndef far(s):\n    return s.n == 3\n\n\n"
TAKE = "@action(m)\ndef take(s, r: Req):\n    require(s.who is None)\n    s.who = {}\n\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TAKE.format("r") + MET, True),
        # Nothing to reduce: no sort that matters, one element, an element that is named.
        (MET, False),
        (ONE + MET, False),
        (TAKE.format("1") + MET, False),
        (TAKE.format("r"), False),
    ],
)
def test_symmetry_is_said_to_be_off_where_there_would_be_one(kv: Run, write: Write, text: str, said: bool) -> None:
    path = write(text)
    if "s.who" not in text:
        path.write_text(path.read_text().replace("    who: Opt(Req)\n", ""))

    assert (SAY in lines(kv("check", "model.py").out)) == said
    assert SAY not in kv("check", "model.py", "-q").out


def test_listing_and_explaining(kv: Run, write: Write) -> None:
    write(LIVE.format("") + "\n\n@sometimes('it counts far')\ndef far(s):\n    return s.n == 7\n")

    assert "far  it counts far" in kv("list", "model.py").out
    assert "had  request r has it" in kv("list", "model.py").out
    for code in ("KV301", "KV302"):
        assert kv("explain", code).code == 0


WITH_LOCALS = """@leads_to('a request that is far gets there')
def arrives(s, r: Req):
    far = s.n == 7 and s.who == r
    there = s.n == 9 or all(s.who != o for o in Req)
    return far, {second}
"""


@pytest.mark.parametrize("second", ["far and there", "there"])
def test_a_premise_with_locals_is_shown_as_written(kv: Run, write: Write, second: str) -> None:
    """What the name of the premise stands for, and nothing of other names."""
    write(WITH_LOCALS.format(second=second))
    done = kv("check", "model.py")

    assert done.code == 3
    text = " ".join(done.out.split())
    assert "KV302 arrives holds vacuously, this is never true: s.n == 7 and s.who == r (model.py:" in text
