"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

MODEL = '''
from kvproto.lang import Bool, Int, Machine, Model, Params, Preset, Record, Scope, action, flag, invariant, require

class Config(Params):
    locked: bool = flag(True, "one at a time")

cfg = Config()

class State(Record):
    inside: Int(0, 2)
    entered: Int(0, 4)

door = Machine("door", "lets people in")

@action(door)
def enter(s):
    """Somebody enters."""
    require(s.inside < 2 and s.entered < 4 and not (cfg.locked and s.inside > 0))
    s.inside += 1
    s.entered += 1

@action(door)
def leave(s):
    """Somebody leaves."""
    require(s.inside > 0)
    s.inside -= 1

@invariant("one is inside at most")
def alone(s):
    """Two get in each other's way."""
    return s.inside < 2

@invariant("nobody is counted twice")
def counted(s):
    """The count never lags behind."""
    return s.entered >= s.inside

model = Model("room", "a room", state=State, parts=[__name__], params=Config,
              presets=[Preset("locked", "one at a time"), Preset("open", "anybody", locked=False)])
'''

TESTS = """
import kvproto

@kvproto.property_test("room.py@locked")
def test_locked(): ...

@kvproto.property_test("room.py@open")
def test_open(): ...

@kvproto.property_test("room.py@locked", properties=["alone"])
def test_more(kvproto_finding):
    assert kvproto_finding.strength == "exhaustive"

def test_ordinary():
    assert True
"""


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(room=MODEL, test_room=TESTS)
    return pytester


def run(session: pytest.Pytester, *args: str) -> pytest.RunResult:
    loaded = session.runpytest_subprocess("-p", "no:cacheprovider", *args)
    assert "INTERNALERROR" not in loaded.stdout.str()
    return loaded


def test_an_item_for_every_property(session: pytest.Pytester) -> None:
    result = run(session, "-v")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        ["*test_locked?alone? PASSED*", "*test_open?alone? FAILED*", "*test_more?alone? PASSED*"]
    )


def test_the_failure_is_the_explanation(session: pytest.Pytester) -> None:
    result = run(session, "-k", "test_open")
    text = result.stdout.str()
    assert "alone is violated: one is inside at most" in text
    assert "  1. " in text
    assert "kvproto show " in text
    assert "_kvproto_pytest.py" not in text
    trace = next(line.split("  (")[0] for line in text.splitlines() if ".trace.json  (" in line)
    assert Path(trace).is_file()
    assert "kvproto traces" in text


def test_kept_runs_are_taken_again_if_asked_for(session: pytest.Pytester) -> None:
    first = run(session, "--kvproto-reuse", "-k", "test_open").stdout.str()
    second = run(session, "--kvproto-reuse", "-k", "test_open", "--junitxml=out.xml")
    third = run(session, "-k", "test_open").stdout.str()
    told = [p.get("value") for p in ElementTree.parse(session.path / "out.xml").iter("property")]

    second.assert_outcomes(failed=1, passed=1)
    assert ["a kept run" in text for text in (first, second.stdout.str(), third)] == [False, True, False]
    assert {"bounded", "exhaustive"} == {value for value in told if value in ("bounded", "exhaustive")}


def test_a_kept_run_that_is_no_use_is_told(session: pytest.Pytester) -> None:
    run(session, "-k", "test_open")
    (session.path / "room.py").write_text(MODEL.replace("s.inside < 2 and", "s.inside < 1 and"))
    result = run(session, "--kvproto-reuse", "-k", "test_open")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["the kept run of alone is no use any more: step 2, enter, cannot happen, because *"])


def test_what_is_not_decided_is_an_error(session: pytest.Pytester) -> None:
    result = run(session, "--kvproto-time-limit", "1e-9", "-k", "test_locked")
    result.assert_outcomes(errors=2)
    assert "undecided" in result.stdout.str()


def test_only_what_is_selected_is_searched(session: pytest.Pytester) -> None:
    run(session, "-k", "alone and test_open").assert_outcomes(failed=1, deselected=5)
    run(session, "-k", "counted").assert_outcomes(passed=2, deselected=4)


def test_junit_holds_states_and_traces(session: pytest.Pytester) -> None:
    run(session, "--junitxml=out.xml")
    cases = ElementTree.parse(session.path / "out.xml").iter("testcase")
    told = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    assert int(told["test_locked[alone]"]["kvproto_states"]) > 1
    assert told["test_open[alone]"]["kvproto_trace"].endswith(".trace.json")
    assert told["test_locked[alone]"]["kvproto_strength"] == "exhaustive"


def test_last_failed_runs_the_property_that_failed(session: pytest.Pytester) -> None:
    session.runpytest_subprocess()
    session.runpytest_subprocess("--lf").assert_outcomes(failed=1)


def test_a_model_object_with_settings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        room=MODEL,
        test_object="""
        import kvproto
        import room

        @kvproto.property_test(room.model, preset="locked", locked=False, properties=["alone"])
        def test_it(): ...
        """,
    )
    run(pytester).assert_outcomes(failed=1)


def test_a_wrong_target_is_told_as_an_error_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kvproto

        @kvproto.property_test("no_such_model")
        def test_it(): ...
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    assert "KV001" in result.stdout.str()


def test_sessions_without_such_tests_load_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            assert not [name for name in sys.modules if name == "kvproto" or name.startswith("kvproto.")]
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_the_decorator_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        import kvproto

        def test_it():
            heavy = ("kvproto.engine", "kvproto.lang", "kvproto.cli")
            assert not [name for name in heavy if name in sys.modules]
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_parts_of_a_session_work_in_parallel(session: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = session.runpytest_subprocess("-n", "2")
    result.assert_outcomes(passed=5, failed=1)
    assert "kvproto traces" in result.stdout.str()


def test_kept_traces_are_taken_again_by_name(session: pytest.Pytester) -> None:
    """A known bug stays known; a fix that no longer stops it, or a model that has changed too much, is told."""
    run(session, "-k", "test_open", "--kvproto-trace-dir", "kept")
    session.makepyfile(
        test_kept="""
        import kvproto

        @kvproto.trace_test("kept/*.trace.json", model="room.py@open")
        def test_still_there(): ...

        @kvproto.trace_test("kept/*.trace.json", model="room.py@locked", still="refused")
        def test_stopped(kvproto_again):
            assert kvproto_again.step == 2
            assert "s.inside > 0" in kvproto_again.reason

        @kvproto.trace_test("kept/*.trace.json", model="room.py@open", still="refused")
        def test_not_stopped(): ...
        """
    )
    result = run(session, "test_kept.py")
    result.assert_outcomes(passed=2, failed=1)
    assert "now they break alone, in 2 steps" in result.stdout.str()
    # Another variable, another order of actions, another guard: the names are the same.
    model = session.path / "room.py"
    text = model.read_text()
    model.write_text(text.replace("    entered: Int(0, 4)", "    entered: Int(0, 5)\n    swept: Bool"))
    run(session, "test_kept.py").assert_outcomes(passed=2, failed=1)
    model.write_text(text.replace("def enter(s)", "def come_in(s)"))
    gone = run(session, "test_kept.py")
    gone.assert_outcomes(errors=3)
    assert "enter" in gone.stdout.str()


def test_a_pattern_that_fits_nothing_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kvproto

        @kvproto.trace_test("nowhere/*.trace.json")
        def test_it(): ...
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    assert "no trace fits" in result.stdout.str() + result.stderr.str()


def test_without_the_plugin_nothing_passes(session: pytest.Pytester) -> None:
    session.path.joinpath("kept").mkdir()
    session.makepyfile(
        test_kept="""
        import kvproto

        @kvproto.trace_test("kept/*.trace.json")
        def test_kept(): ...
        """
    )
    result = session.runpytest_subprocess("-p", "no:kvproto")
    # The one that asks for the verdict does not find it.
    result.assert_outcomes(passed=1, failed=3, errors=1)
    assert "nothing was checked" in result.stdout.str()


def test_a_known_bug_is_a_violation_and_no_other_failure(session: pytest.Pytester) -> None:
    session.makepyfile(
        test_room="""
        import kvproto
        import pytest

        known = pytest.mark.xfail(strict=True, raises=kvproto.Violated, reason="known")

        @known
        @kvproto.property_test("room.py@open", properties=["alone"])
        def test_known(): ...

        @known
        @kvproto.property_test("room.py@open", properties=["alnoe"])
        def test_misspelt(): ...

        @known
        @kvproto.property_test("room.py@locked", properties=["alone"])
        def test_gone(): ...
        """
    )
    result = run(session)
    result.assert_outcomes(xfailed=1, errors=1, failed=1)
    text = result.stdout.str()
    assert "KV004" in text
    assert "_kvproto_pytest.py" not in text
