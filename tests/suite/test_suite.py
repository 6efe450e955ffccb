"""The suite finds what it says, and says so where a model does not do what it promises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvproto.cli.main import main
from kvproto.cli.suite import suite
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.suite.entries import Entry, entries
from kvproto.suite.run import judge, judge_all
from kvproto.suite.table import table, totals
from kvproto.suite.wanted import wanted

ALL = list(entries())
MODEL = "patterns.freed_under_write"


def entry(preset: str) -> Entry:
    return next(e for e in ALL if (e.model, e.preset) == (MODEL, preset))


@pytest.mark.parametrize("one", ALL, ids=lambda e: e.target)
def test_every_entry_is_as_expected(one: Entry) -> None:
    assert judge(one, Options()).words() == []


def test_every_report_has_a_buggy_and_a_fixed_preset() -> None:
    for model in {e.model for e in ALL if e.reports}:
        kinds = {bool(e.expected) for e in ALL if e.model == model}
        assert kinds == {True, False}, model


def test_a_bug_that_is_not_there_is_missed() -> None:
    wrong = replace(entry("fixed"), expected={"reads_own": 9})
    judgement = judge(wrong, Options())
    assert judgement.words() == ["reads_own was expected to break and does not"]
    assert judgement.code == 1


def test_a_fix_that_does_not_hold_is_broken() -> None:
    judgement = judge(replace(entry("bug"), expected={"reads_own": 9}), Options())
    assert judgement.words() == ["lands_in_own was expected to hold and breaks"]
    assert judgement.code == 1


def test_another_length_is_another_run() -> None:
    judgement = judge(replace(entry("bug"), expected={"reads_own": 8, "lands_in_own": None}), Options())
    assert judgement.words() == ["reads_own breaks in 9 steps, expected were 8"]
    assert judgement.code == 1


def test_a_search_that_was_cut_is_inconclusive() -> None:
    judgement = judge(entry("fixed"), Options(max_states=10))
    assert judgement.code == 3
    assert any("undecided" in word for word in judgement.words())


def test_several_processes_judge_the_same() -> None:
    some = [e for e in ALL if e.model == MODEL]
    alone = {j.entry.target: (j.words(), j.result.states) for j in judge_all(some, Options(), 1)}
    assert {j.entry.target: (j.words(), j.result.states) for j in judge_all(some, Options(), 2)} == alone


@pytest.mark.parametrize(
    ("expression", "words", "fits"),
    [
        ("a", "a b", True),
        ("a and not b", "a b", False),
        ("a and (b or c)", "a c", True),
        ("NOT a OR b", "b", True),
        ("not (a or b)", "c", True),
        ("sgl-project/sglang#24527", "sgl-project/sglang#24527", True),
    ],
)
def test_expressions(expression: str, words: str, fits: bool) -> None:
    assert wanted(expression)(words) is fits


@pytest.mark.parametrize("expression", ["", "a and", "(a", "a)", "not", "and a", "a b"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(KvError, match="KV048"):
        wanted(expression)


def test_the_table_names_what_is_wrong() -> None:
    judged = [judge(replace(entry("fixed"), expected={"reads_own": 9}), Options()), judge(entry("bug"), Options())]
    text = "\n".join(table(judged))
    assert "NOT AS EXPECTED" in text
    assert "reads_own was expected to break and does not" in text
    assert totals(judged).endswith("2 presets: 1 not as expected")


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    words = ["-k", "sglang and bug and freed_under", "--workers", "1", "--json", str(file)]
    run = CliRunner().invoke(suite, words, standalone_mode=False)
    assert run.exception is None
    assert run.return_value == 0
    told = json.loads(file.read_text())
    assert told["schema"] == "kvproto.suite/1"
    assert [e["as_expected"] for e in told["entries"]] == [True] * len(told["entries"])
    assert f"{MODEL}@bug" in [e["target"] for e in told["entries"]]


def test_nothing_selected_is_an_error() -> None:
    run = CliRunner().invoke(suite, ["-k", "no_such_word"], standalone_mode=False)
    assert isinstance(run.exception, KvError)
    assert run.exception.diagnostic.code == "KV048"


OWN = '''
from kvproto.lang import Bool, Machine, Model, Preset, Record, action, invariant, require

class State(Record):
    on: Bool

lamp = Machine("lamp", "is switched")

@action(lamp)
def switch(s):
    """The lamp is switched."""
    s.on = not s.on

@invariant("the lamp is off")
def dark(s):
    """It wastes power."""
    return not s.on

model = Model("lamps", "a lamp", state=State, parts=[__name__], presets=[PRESETS])
'''


@pytest.mark.parametrize(
    ("presets", "code", "said"),
    [
        ('Preset("bug", "it is switched", expect={"dark": 1})', 0, "1 preset: all as expected"),
        ('Preset("bug", "it is switched", expect={"dark": 2})', 1, "dark breaks in 1 step, expected were 2"),
        ('Preset("fixed", "it is not", expect={})', 1, "dark was expected to hold and breaks"),
        ('Preset("bug", "it is switched", expect={"drak": 1})', 2, "did you mean 'dark'"),
        ('Preset("bug", "it is switched")', 2, "does not say what has to be found in it"),
    ],
)
def test_ones_own_model(
    presets: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lamps.py").write_text(OWN.replace("PRESETS", presets))
    assert main(["suite", "lamps.py", "--workers", "1"]) == code
    told = capfd.readouterr()
    assert said in told.out + told.err


def test_a_target_with_a_preset_is_that_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", f"{MODEL}@fixed", "--list"]) == 0
    assert capfd.readouterr().out == f"{MODEL}@fixed\n"
    assert main(["suite", f"{MODEL}@fixd"]) == 2
