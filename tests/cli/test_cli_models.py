"""Models that go wrong: what is said, with which caret, by every tier alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_runs import Done, Run, Write


def trace_of(kind: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(f".kvproto/traces/mine-{kind}.trace.json").read_text())
    return found


@pytest.fixture
def everywhere(kv: Run, process: Run) -> Run:
    """The same command in all tiers; they must say the same."""

    def run(*args: str) -> Done:
        fast, oracle = kv(*args), kv(*args, "--engine", "reference")
        slow = process(*args, env={"KVPROTO_NATIVE": "off"})
        assert fast.err == oracle.err == slow.err
        assert fast.code == oracle.code == slow.code
        return fast

    return run


# --- errors of the model ------------------------------------------------------------------------------------


def test_in_an_action(everywhere: Run, write: Write) -> None:
    write("@action(m)\ndef over(s, r: Req):\n    require(s.n == 2)\n    s.who = r\n    s.n += 8\n")
    done = everywhere("check", "model.py")

    assert done.code == 2
    assert done.err.splitlines() == [
        "error KV201  10 does not fit Int(0, 9)",
        "  model.py:26   s.n += 8",
        "                ^^^^^^^^",
        "  reached by: inc(), inc(), over(A)",
        "  guard the store with require(...), take min(x, limit), or widen the type   (kvproto explain KV201)",
    ]


def test_in_an_invariant(everywhere: Run, write: Write) -> None:
    write("@invariant('x')\ndef fine(s):\n    return 6 // (3 - s.n) > 1\n")
    done = everywhere("check", "model.py")

    assert "error KV204  division by zero\n  model.py:24   return 6 // (3 - s.n) > 1\n" in done.err
    assert "  evaluating fine after: inc(), inc(), inc()\n" in done.err


def test_in_an_invariant_of_the_initial_state(everywhere: Run, write: Write) -> None:
    write("@invariant('x')\ndef fine(s):\n    return 6 // s.n > 1\n")

    assert "  evaluating fine in the initial state\n" in everywhere("check", "model.py").err


def test_in_the_terminal_predicate(everywhere: Run, write: Write) -> None:
    write("def over(s):\n    return 6 // (3 - s.n) > 1\n", terminal="over")
    done = everywhere("check", "model.py")

    assert done.err.startswith("error KV204")
    assert "  evaluating no_deadlock after: inc(), inc(), inc()\n" in done.err


def test_in_an_init_function(everywhere: Run, write: Write) -> None:
    write("@init\ndef begin(s, r: Req, k: Bool):\n    s.n = 5\n    if k:\n        s.n = s.n * 2\n")
    done = everywhere("check", "model.py")

    assert done.err.startswith("error KV201  10 does not fit")
    assert "  reached by: begin(A, True)\n" in done.err.replace("true", "True")


def test_the_initial_state_is_named_where_there_are_several(everywhere: Run, write: Write) -> None:
    write(
        "@init\ndef begin(s, r: Req):\n    s.who = r\n\n\n"
        "@action(m)\ndef over(s, r: Req):\n    require(s.who == r and r != Req(0))\n    s.n -= 1\n".replace(
            "r != Req(0)", "any(q != r and s.n == 0 for q in Req)"
        )
    )

    assert "  reached by: begin(A), over(A)\n" in everywhere("check", "model.py").err


def test_a_long_run_is_folded_between_steps(everywhere: Run, write: Write) -> None:
    write(
        "@action(m)\ndef pass_the_baton(s, r: Req, q: Req):\n    require(s.n >= 3 and s.who != r)\n"
        "    s.who = r\n    s.n += 1\n"
    )
    lines = everywhere("check", "model.py").err.splitlines()
    run = [line for line in lines if "pass_the_baton(" in line]

    assert len(run) > 1
    assert max(map(len, lines[3:-1])) <= 100
    assert all(line.startswith("  ") and line.count("(") == line.count(")") for line in run)


def test_the_first_of_several_errors_is_reported(everywhere: Run, write: Write) -> None:
    """An action that goes wrong in an early state, and a property that goes wrong in a state found even earlier."""
    write(
        "@action(m)\ndef wrong(s, r: Req):\n    require(s.n == 1)\n    s.n -= 2\n\n\n"
        "@invariant('x')\ndef fine(s):\n    return 6 // (2 - s.n) != 0\n"
    )
    done = everywhere("check", "model.py")

    assert "evaluating fine after: inc(), inc()" in done.err


def test_an_unused_property_raises_no_error(kv: Run, write: Write) -> None:
    write(
        "@invariant('x')\ndef fine(s):\n    return 6 // (3 - s.n) > 1\n\n\n"
        "@invariant('y')\ndef ok(s):\n    return s.n < 9\n"
    )

    assert kv("check", "model.py", "--property", "ok").code == 0


def test_no_initial_state(everywhere: Run, write: Write) -> None:
    write("@init\ndef begin(s):\n    require(s.n > 0)\n")

    assert everywhere("check", "model.py").err.startswith("error KV151")


def test_a_sort_without_elements(everywhere: Run, write: Write) -> None:
    write(scopes="[Scope('none', 'nothing', Req=0)]")

    assert everywhere("check", "model.py").err.startswith("error KV016")


# --- violations -----------------------------------------------------------------------------------------------


def test_an_initial_state_that_violates(everywhere: Run, kv: Run, write: Write) -> None:
    write("@invariant('x')\ndef positive(s):\n    return s.n > 0\n")
    done = everywhere("check", "model.py")
    trace = trace_of("positive")

    assert done.code == 1
    assert "positive  exhaustive  0 steps" in done.out
    assert (trace["steps"], trace["blame"]) == ([], ["n"])
    assert kv("show", ".kvproto/traces/mine-positive.trace.json").code == 0


def test_a_failed_assertion(everywhere: Run, kv: Run, write: Write) -> None:
    write("@action(m)\ndef mark(s, r: Req):\n    require(s.n > 1)\n    s.who = r\n    assert s.n > 2 and not s.done\n")
    done = everywhere("check", "model.py")
    trace = trace_of("mark.assert1")
    shown = kv("show", ".kvproto/traces/mine-mark.assert1.trace.json").out

    assert done.code == 1
    assert "VIOLATED  mark.assert1  exhaustive  3 steps" in done.out
    assert [step["action"] for step in trace["steps"]] == ["inc", "inc", "mark"]  # type: ignore[index,attr-defined]
    assert trace["blame"] == ["n"]
    assert " 3  m  mark(r=A)" in shown
    assert "who: none -> A" in shown


def test_an_assertion_that_looks_at_nothing(everywhere: Run, kv: Run, write: Write) -> None:
    write(
        "class Cfg(Params):\n    strict: bool = flag(True, 'strict')\n\n\ncfg = Cfg()\n\n\n"
        "@action(m)\ndef mark(s):\n    assert not cfg.strict\n",
        params="Cfg",
    )
    done = everywhere("check", "model.py")

    assert "VIOLATED  mark.assert1  exhaustive  1 step ->" in done.out
    assert "KV301" not in done.out
    assert trace_of("mark.assert1")["blame"] == []
    assert kv("show", ".kvproto/traces/mine-mark.assert1.trace.json").code == 0
    assert kv("check", "model.py", "--set", "strict=off").code == 0


def test_an_assertion_of_an_init_function(everywhere: Run, kv: Run, write: Write) -> None:
    text = "@init\ndef begin(s, r: Req):\n    s.who = r\n    s.n = 1\n    assert s.n > 1\n"
    write(text + "\n\n@invariant('x')\ndef small(s):\n    return s.n < 2\n")
    done = everywhere("check", "model.py")

    assert done.code == 1
    assert "VIOLATED  begin.assert1  exhaustive  0 steps" in done.out
    assert "INCONCL.  small" in done.out
    assert trace_of("begin.assert1")["blame"] == ["n"]
    assert kv("show", ".kvproto/traces/mine-begin.assert1.trace.json").code == 0
    assert kv("check", "model.py", "--property", "small").code == 3


def test_a_deadlock_and_why_nothing_can_happen(everywhere: Run, write: Write) -> None:
    write("", deadlock="True")
    done = everywhere("check", "model.py")

    assert "VIOLATED  no_deadlock  exhaustive  3 steps" in done.out
    assert trace_of("no_deadlock")["blame"] == ["n"]


def test_a_deadlock_that_is_no_proper_end(everywhere: Run, kv: Run, write: Write) -> None:
    write(
        "def over(s):\n    return s.done\n\n\n"
        "@action(m)\ndef end(s, r: Req):\n    require(s.who == r)\n    s.done = True\n",
        terminal="over",
    )
    everywhere("check", "model.py")

    assert trace_of("no_deadlock")["blame"] == ["done", "n", "who"]
    assert "n = 3" in kv("show", ".kvproto/traces/mine-no_deadlock.trace.json").out


def test_a_proper_end_is_no_deadlock(everywhere: Run, write: Write) -> None:
    write("def over(s):\n    return s.n == 3\n", terminal="over")

    assert everywhere("check", "model.py").code == 0


# --- hostile ----------------------------------------------------------------------------------------------------


def test_a_model_that_ends_the_process(kv: Run, write: Write) -> None:
    write("import sys\n\n\nclass Later(Record):\n    x: sys.exit(0)\n", name="later.py")
    path = write("import sys\nclass State(Record):\n    n: sys.exit(0)\n")
    done = kv("check", str(path))

    assert done.code == 2
    assert done.err.startswith("error KV")
