"""Every guard of every fix is needed, or it is said why not; and what becomes of a mutant is what the words say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pattern_table import PAGE, all_trials, guards, needless_lists
from small_models import written

from kvproto.cli.main import main
from kvproto.cli.suite import suite
from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import Const, Require
from kvproto.ir.types import BoolT
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find, patterns
from kvproto.suite import needless as reasons_file
from kvproto.suite.entries import Entry, entries
from kvproto.suite.mutants import fates
from kvproto.suite.mutation import Trial, exit_code, outdated, subjects, trial
from kvproto.suite.mutation_table import mutation_table, mutation_totals
from kvproto.suite.needless import Needless, Reason, needless
from kvproto.suite.steps import likeness

NOTHING = Needless({}, {})

MODEL = """
@action(m)
def first(s):
    require(s.n == 0)
    s.n = 1

@action(m)
def second(s):
    require(s.n == 1 and s.n < 9)
    s.n = 2

@action(m)
def third(s):
    require(s.n >= 1 and s.n <= 2)
    s.n = 3

@action(m)
def mark(s):
    require(s.n == 3 and not s.done)
    s.done = True

@invariant("the beginning is not marked")
def marked_late(s):
    return not s.done or s.n > 0
"""
"""0 -> 1 -> 2 -> 3, or from 1 to 3 at once; marked in 3."""


@pytest.mark.slow
def test_guards_and_claims_of_all_fixes() -> None:
    """One test, since all of it comes from one run."""
    trials = all_trials()
    known = needless()
    assert [(t.entry.target, f.guard) for t in trials for f in t.unexplained(known)] == []
    assert [(t.entry.target, f.guard) for t in trials for f in t.of("undecided")] == []
    assert outdated(trials, known) == []
    assert PAGE.read_text(encoding="utf-8").endswith(guards(trials))
    assert {model: claims for model, claims in _unbroken(trials).items() if claims} == {}


def _unbroken(trials: list[Trial]) -> dict[str, set[str]]:
    """Claims by model that nothing breaks: no bug, no guard that is left out, and no action that never happens."""
    left: dict[str, set[str]] = {}
    for entry in entries(patterns()):
        left.setdefault(entry.model, set(entry.properties)).difference_update(entry.expected)
    for one in trials:
        left[one.entry.model].difference_update(name for fate in one.fates for name in fate.by)
    for entry in (t.entry for t in trials):
        if left[entry.model]:
            left[entry.model] -= _broken_without_an_action(entry)
    return left


def _broken_without_an_action(entry: Entry) -> set[str]:
    model = find(entry.model).model
    system = build(model, choose(model, preset=entry.preset))
    broken: set[str] = set()
    for place, action in enumerate(system.actions):
        never = replace(action, body=(Require(Const(BoolT(), False, action.loc), action.loc), *action.body))
        actions = (*system.actions[:place], never, *system.actions[place + 1 :])
        result = search(replace(system, actions=actions), Options())
        broken.update(f.claim.name for f in result.findings if f.verdict == "violated")
    return broken


def test_the_page_lists_what_is_needless() -> None:
    assert needless_lists() in PAGE.read_text(encoding="utf-8")


def test_reasons_are_of_known_kinds_and_fixed_models() -> None:
    known = needless()
    models = {entry.model for entry in subjects(list(entries()))}
    used = {reason.kind for some in known.reasons.values() for reason in some.values()}
    assert used == set(known.kinds)
    assert set(known.reasons) <= models


def test_fates(tmp_path: Path) -> None:
    found = {fate.guard: fate for fate in fates(written(tmp_path)(MODEL), Options())}
    assert {guard: fate.kind for guard, fate in found.items()} == {
        "first: s.n == 0": "survivor",  # from the end, marked, to the beginning of the way
        "second: s.n == 1": "survivor",
        "second: s.n < 9": "redundant",
        "third: s.n >= 1": "shortcut",
        "third: s.n <= 2": "redundant",  # from 3 to 3 is no step
        "mark: s.n == 3": "caught",
        "mark: not s.done": "redundant",
    }
    assert found["mark: s.n == 3"].by == ("marked_late",)


@pytest.mark.parametrize(
    ("more", "is_like"),
    [
        ({1: {2}, 2: {3}, 3: set()}, "same"),
        ({1: {2, 3}, 2: {3}, 3: set()}, "shortcuts"),
        ({1: {2}, 2: {3, 1}, 3: set()}, "more"),
        ({1: {2}, 2: {3}, 3: {4}, 4: set()}, "more"),
    ],
)
def test_likeness(more: dict[int, set[int]], is_like: str) -> None:
    def states(graph: dict[int, set[int]]) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
        return {(state,): {(after,) for after in some} for state, some in graph.items()}

    assert likeness(states({1: {2}, 2: {3}, 3: set()}), states(more)) == is_like


@pytest.mark.parametrize("name", ["lost_wakeup", "stages_write_row", "deadline_from_dispatch", "pin_and_count"])
def test_parts_that_never_decide_are_without_effect(name: str) -> None:
    """The search finds them in another way, state by state."""
    model = find(f"patterns.{name}").model
    system = build(model, choose(model, preset="fixed"))
    gaps = search(system, Options(coverage=True)).redundant
    assert gaps
    redundant = {(f.action, f.part) for f in fates(system, Options()) if f.kind == "redundant"}
    assert {(gap.owner, gap.text) for gap in gaps} <= redundant


def test_a_search_that_is_cut_decides_nothing() -> None:
    entry = next(e for e in subjects(list(entries(["patterns.early_send"]))))
    cut = trial(entry, Options(max_states=2))
    assert cut.of("undecided")
    assert exit_code([cut], NOTHING) == 3
    assert any("INCONCL." in line for line in mutation_table([cut], NOTHING, quiet=True))


def test_a_survivor_without_a_reason_and_a_reason_without_a_survivor_are_wrong() -> None:
    tried = [trial(entry, Options()) for entry in subjects(list(entries(["patterns.state_length"])))]
    assert exit_code(tried, needless()) == 0
    assert mutation_table(tried, needless(), quiet=True) == [mutation_totals(tried, needless())]
    assert exit_code(tried, NOTHING) == 1
    assert "  NOT EXPLAINED: send: s.sampled, in " in "\n".join(mutation_table(tried, NOTHING, quiet=True))
    known = needless()
    of_model = known.reasons["patterns.state_length"]
    more = Needless(
        known.kinds, {"patterns.state_length": {**of_model, "gone: s.sampled": Reason("at any time", "none")}}
    )
    assert exit_code(tried, more) == 1
    assert "gone: s.sampled" in "\n".join(mutation_table(tried, more, quiet=True))


def test_reasons_of_a_preset_that_was_not_tried_are_not_outdated() -> None:
    fixed = [e for e in subjects(list(entries(["patterns.source_lease"]))) if e.preset == "fixed"]
    assert outdated([trial(entry, Options()) for entry in fixed], needless()) == []


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "mutants.json"
    words = ["--mutants", "-k", "early_send or state_length", "--workers", "1", "--json", str(file)]
    run = CliRunner().invoke(suite, words, standalone_mode=False)
    assert run.exception is None
    assert run.return_value == 0
    assert "patterns.early_send@fixed" in run.output
    told = json.loads(file.read_text())
    assert told["schema"] == "kvproto.suite-mutants/1"
    assert [preset["target"] for preset in told["presets"]] == [
        "patterns.early_send@fixed",
        "patterns.state_length@fixed",
    ]
    assert sum(told["counts"].values()) == sum(len(preset["guards"]) for preset in told["presets"])
    sampled = next(g for g in told["presets"][1]["guards"] if g["guard"] == "s.sampled")
    assert (sampled["fate"], sampled["reason"]["kind"]) == ("survivor", "out of turn")


def test_the_command_fails_for_what_nobody_explains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "needless.toml"
    file.write_text("[kinds]\n")
    monkeypatch.setattr(reasons_file, "FILE", file)
    words = ["--mutants", "-k", "state_length", "--workers", "1"]
    assert CliRunner().invoke(suite, words, standalone_mode=False).return_value == 1


@pytest.mark.parametrize(
    ("words", "code"), [(["--junit", "x.xml"], "KV026"), (["-k", "bug and not fixed and early_send"], "KV048")]
)
def test_what_the_command_refuses(words: list[str], code: str) -> None:
    run = CliRunner().invoke(suite, ["--mutants", *words], standalone_mode=False)
    assert isinstance(run.exception, KvError)
    assert run.exception.diagnostic.code == code


GUARDED = '''
from kvproto.lang import Bool, Int, Machine, Model, Preset, Record, action, invariant, require

class State(Record):
    n: Int(0, 3)
    rung: Bool
    loud: Bool

bell = Machine("bell", "rings")

@action(bell)
def ring(s):
    """It rings."""
    require(s.n < 2 and not s.rung)
    s.n += 1
    if s.rung:
        s.loud = True
    s.rung = True

@action(bell)
def rest(s):
    """It is still."""
    require(s.rung)
    s.rung = False

@invariant("it rings twice at most")
def twice(s):
    """It wakes the neighbours."""
    return s.n <= 2

model = Model("bells", "a bell", state=State, parts=[__name__], presets=[Preset("fixed", "guarded", expect={})])
'''


def test_guards_of_ones_own_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bells.py").write_text(GUARDED)
    assert main(["suite", "bells.py", "--mutants", "--workers", "1"]) == 1
    assert "not s.rung" in capfd.readouterr().out
    kinds = '[kinds]\n"louder" = "It may ring on."\n'
    (tmp_path / "needless.toml").write_text(f'{kinds}["bells.py"]\n"ring: not s.rung" = ["louder", "so it may"]\n')
    told = main(["suite", "bells.py", "--mutants", "--workers", "1"])
    assert told == 0, capfd.readouterr().out
    (tmp_path / "needless.toml").write_text("[kinds\n")
    assert main(["suite", "bells.py", "--mutants", "--workers", "1"]) == 2
    assert "KV047" in capfd.readouterr().err
