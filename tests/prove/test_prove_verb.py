"""`kvproto prove`: verdicts, exit codes, what is printed and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_proofs import CLAIM, STATE, text_of

from kvproto.cli.main import main
from kvproto.lang.bind import choose
from kvproto.lang.load import find
from kvproto.prove.lowering.system import lower
from kvproto.prove.saying.report import elements
from kvproto.trace import codec

pytest.importorskip("z3", reason="z3-solver is not installed: pip install 'kvproto[prove]'")

Prove = Callable[..., tuple[int, str, str]]
Write = Callable[..., str]

END = """
@action(m)
def end(s, r: Req):
    s.phase[r] = Phase.OVER
"""

TWO_AT_MOST = """
@invariant("two requests at most are over")
def two_at_most(s):
    return all(a == b or b == c or a == c for a in Req for b in Req for c in Req
               if s.phase[a] == Phase.OVER and s.phase[b] == Phase.OVER and s.phase[c] == Phase.OVER)
"""
"""Holds in a world of two requests, and in no larger one."""


@pytest.fixture
def prove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Prove:
    """`prove("proofs.late")`: exit code, output and errors, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["prove", *args])
        out, err = capfd.readouterr()
        return code, out, err

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A small model as a file; its name is the target."""

    def model(**parts: str) -> str:
        (tmp_path / "small.py").write_text(text_of(**parts), encoding="utf-8")
        return "small.py"

    return model


def result(tmp_path: Path, name: str = "result.json") -> Any:
    """What --json has written."""
    return json.loads((tmp_path / name).read_text(encoding="utf-8"))


def test_a_proof_is_printed_written_and_checked_again(prove: Prove, tmp_path: Path) -> None:
    code, out, _ = prove("proofs.late", "--json", "result.json", "--certificate", "late.json", "--smtlib", "smt")

    assert 0 == code
    assert "PROVED     no_late_write" in out and "for any number of Req and Page" in out
    assert "    owner[p] == r and owner[p] == r2 -> r == r2" in out
    told = result(tmp_path)
    assert ("kvproto.result/1", True, "inductive invariant") == (told["schema"], told["complete"], told["method"])
    proved = [p for p in told["properties"] if p["kind"] == "invariant"]
    assert [("holds", "inductive")] * 2 == [(p["verdict"], p["strength"]) for p in proved]
    assert {"reads_own", "no_late_write"} < {clause["name"] for clause in told["clauses"]}
    happens = [p for p in told["properties"] if p["kind"] == "sometimes"]
    assert len(happens) == 3 and all(Path(p["trace"]).is_file() and p["length"] > 0 for p in happens)
    assert list((tmp_path / "smt").glob("*.smt2"))

    again, checked, _ = prove("--recheck", "late.json")
    assert 0 == again
    assert checked.startswith("CHECKED")


def test_a_certificate_that_was_changed_is_refused(prove: Prove, tmp_path: Path) -> None:
    prove("proofs.late", "--certificate", "late.json")
    data = result(tmp_path, "late.json")
    data["conditions"][3]["clauses"] = data["conditions"][3]["clauses"][:-1]
    (tmp_path / "late.json").write_text(json.dumps(data), encoding="utf-8")

    code, out, _ = prove("--recheck", "late.json")

    assert 1 == code
    assert out.startswith("REFUSED")


def test_a_refutation_is_a_trace(prove: Prove, tmp_path: Path) -> None:
    code, out, _ = prove("proofs.late@at-once", "--json", "result.json", "--trace-dir", "traces")

    assert 1 == code
    assert "VIOLATED   no_late_write  3 steps with 2 Req, 1 Page" in out
    found = {p["name"]: p for p in result(tmp_path)["properties"]}
    assert ("violated", 3) == (found["no_late_write"]["verdict"], found["no_late_write"]["length"])
    assert 3 == len(codec.read(Path(found["no_late_write"]["trace"])).steps)
    assert result(tmp_path)["method"] is None


def test_what_no_run_breaks_is_proved_beside_what_one_breaks(prove: Prove, tmp_path: Path) -> None:
    code, out, _ = prove("proofs.incident@tokens", "--json", "result.json", "--no-certificate")

    assert 1 == code
    assert "VIOLATED" in out
    assert all(p["verdict"] == "violated" for p in result(tmp_path)["properties"] if p["kind"] == "invariant")


def test_a_model_outside_is_checked_for_its_sizes_only(prove: Prove, tmp_path: Path) -> None:
    code, out, _ = prove("kv_transfer", "--json", "result.json")

    assert 3 == code
    assert "checked for these sizes only: 3 Req, 6 Page" in out
    assert "KV163" in out and "models/kv_transfer.py:86" in out and "^^^" in out
    assert {"inconclusive"} == {p["verdict"] for p in result(tmp_path)["properties"]}
    assert "KV163" in result(tmp_path)["outside"][0]


def test_what_fails_in_larger_worlds_only_is_not_proved(prove: Prove, write: Write, tmp_path: Path) -> None:
    code, out, _ = prove(write(action=END, claim=TWO_AT_MOST), "--json", "result.json")

    assert 1 == code
    assert "VIOLATED   two_at_most  3 steps with" in out
    assert 3 == len(codec.read(Path(result(tmp_path)["properties"][0]["trace"])).steps)


def test_what_is_undecided_shows_where_it_is_stuck(prove: Prove, write: Write, tmp_path: Path) -> None:
    state = STATE + "    n: Int(0, 9)\n    total: Int(0, 50)\n"
    action = """
@action(m)
def add(s):
    require(s.n < 9 and s.total + s.n <= 49)
    s.n += 1
    s.total += s.n

@action(m)
def mark(s):
    require(s.n == 4 and s.total == 7)
    s.flag = True
"""
    claim = """
@invariant("the sum of the first four numbers is not seven")
def not_seven(s):
    return not s.flag
"""

    code, out, _ = prove(write(state=state, action=action, claim=claim), "--json", "result.json")

    assert 3 == code
    assert "UNDECIDED  not_seven" in out
    assert "before  n == 4" in out and "step    mark()" in out and "after   flag" in out
    assert "is the state before real? it is not reachable with" in out
    told = result(tmp_path)
    assert [("inconclusive", "bounded")] == [(p["verdict"], p["strength"]) for p in told["properties"]]
    assert told["undecided"]["reachable"] is False
    assert "mark()" == told["undecided"]["step"]
    trace = codec.read(Path(told["undecided"]["trace"]))
    assert "inconclusive" == trace.verdict
    assert "no run from the start" in trace.why[0] and "not reachable" in trace.why[1]
    assert (4, 7) == (trace.init["n"], trace.init["total"])
    assert ["mark"] == [step.action for step in trace.steps]


def test_a_fault_in_larger_worlds_only_is_no_proof(prove: Prove, write: Write) -> None:
    fault = END + """
@action(m)
def crowd(s, a: Req, b: Req, c: Req, p: Page):
    require(a != b and b != c and a != c)
    require(s.phase[a] == Phase.OVER and s.phase[b] == Phase.OVER and s.phase[c] == Phase.OVER)
    s.phase[s.owner[p]] = Phase.NEW
"""
    claim = """
@invariant("the flag is never set")
def unset(s):
    return not s.flag
"""

    code, _, err = prove(write(action=fault, claim=claim))

    assert 2 == code
    assert "KV203" in err and "s.owner[p]" in err


def test_a_failed_assertion_is_violated(prove: Prove, write: Write) -> None:
    action = END.replace("    s.phase", "    assert not s.flag, 'the flag is set'\n    s.flag = True\n    s.phase")

    code, out, _ = prove(write(action=action))

    assert 1 == code
    assert "VIOLATED   end.assert1" in out
    assert "PROVED     held_by_owner" in out


def test_an_assertion_that_cannot_fail_is_proved(prove: Prove, write: Write, tmp_path: Path) -> None:
    action = END.replace("    s.phase", "    assert not s.flag, 'the flag is set'\n    s.phase")

    code, _, _ = prove(write(action=action), "--json", "result.json")

    assert 0 == code
    assert "end.assert1" in {p["name"] for p in result(tmp_path)["properties"] if p["strength"] == "inductive"}


def test_a_proof_about_nothing_is_none(prove: Prove, write: Write) -> None:
    never = """
@sometimes("the flag is set")
def set_once(s):
    return s.flag

@invariant("a page whose flag is set has its owner")
def owned(s):
    return not s.flag
"""

    code, out, _ = prove(write(action=END, claim=never))

    assert 1 == code
    assert "VACUOUS    set_once" in out


def test_a_clause_is_checked_and_never_trusted(prove: Prove, write: Write) -> None:
    model = write(action=END)

    code, out, _ = prove(model, "--clause", "r, p: s.owner[p] is None", "--clause", "r: Req: s.phase[r] == Phase.NEW")

    assert 0 == code
    assert "not part of it: r: Req: s.phase[r] == Phase.NEW: end may break it" in out


@pytest.mark.parametrize(
    "text", ["x: s.owner[x] is None", "r: s.phase[r] ==", "r: Room: s.flag", "r, p s.owner[p] == r"]
)
def test_a_clause_that_is_not_understood(prove: Prove, write: Write, text: str) -> None:
    code, _, err = prove(write(), "--clause", text)

    assert 2 == code
    assert "KV167" in err and text in err


def test_a_clause_with_an_unknown_name_is_refused_by_the_language(prove: Prove, write: Write) -> None:
    code, _, err = prove(write(action=END), "--clause", "p: s.ovner[p] is None")

    assert 2 == code
    assert "clause.py" in err and "ovner" in err


def test_nothing_to_prove(prove: Prove) -> None:
    code, _, err = prove("proofs.late", "--property", "read")

    assert 2 == code
    assert "KV169" in err


@pytest.mark.parametrize(
    "args",
    [
        ("proofs.late", "--certificate", "a.json", "--no-certificate"),
        ("proofs.late", "proofs.ack", "--certificate", "a.json"),
        ("--smtlib", "folder"),
        ("proofs.late", "--recheck", "a.json"),
        ("--recheck", "a.json", "--json", "b.json"),
        ("--recheck", "a.json", "--property", "reads_own"),
        ("--recheck", "a.json", "--no-exact"),
        ("sglang@0.5.19", "--property", "answered"),
        ("sglang@0.5.19", "--clause", "r: True"),
        ("sglang@0.5.19", "--certificate", "a.json"),
    ],
)
def test_options_that_contradict_each_other(prove: Prove, args: tuple[str, ...]) -> None:
    code, _, err = prove(*args)

    assert 2 == code
    assert "KV026" in err


@pytest.mark.parametrize("option", ["--smtlib", "--certificate", "--json"])
def test_results_that_cannot_be_written(prove: Prove, write: Write, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    code, _, err = prove(write(action=END), option, "file/x")

    assert 2 == code
    assert "KV021" in err


def test_several_targets_have_a_line_each(prove: Prove) -> None:
    code, out, _ = prove("proofs.late@at-once", "proofs.late@copies-ignored", "--no-certificate")

    lines = out.splitlines()
    assert 1 == code
    assert 2 == len(lines)
    assert all("VIOLATED reads_own, no_late_write" in line for line in lines)


def test_prompts_that_leak(prove: Prove, tmp_path: Path) -> None:
    numbers = ("--set", "pool=681280", "--set", "context=1048576", "--set", "page=64")
    code, out, _ = prove("sglang@0.5.19", *numbers, "--json", "result.json")

    assert 3 == code
    assert "681274" in out or "681,274" in out
    assert "the rest of the model" in out
    statements = [each for finding in result(tmp_path)["findings"] for each in finding["statements"]]
    assert len(statements) > 3 and all(each["proved"] for each in statements)


def test_numbers_are_open_unless_they_are_set(prove: Prove, write: Write) -> None:
    tick = "\n@action(m)\ndef tick(s):\n    require(s.now < cfg.hold)\n    s.now = s.now + 1\n"
    claim = '\n@invariant("time ends")\ndef ends(s):\n    return s.now <= cfg.hold\n'

    code, out, _ = prove(write(state=STATE, action=tick, claim=claim))
    again, fixed, _ = prove("small.py", "--set", "hold=3")

    assert (0, 0) == (code, again)
    assert "and every hold with 1 <= hold" in out and "assumes: now has no upper bound" in out
    assert "assumes: hold is 3" in fixed and "every hold" not in fixed


def test_a_witness_that_was_not_found_is_not_proved(prove: Prove, write: Write) -> None:
    claims = """
@invariant("nobody is over")
def none_over(s):
    return all(s.phase[r] != Phase.OVER for r in Req)

@sometimes("the flag is set")
def set_once(s):
    return s.flag
"""

    code, out, _ = prove(write(action=END, claim=claims))

    assert 1 == code
    assert "VIOLATED   none_over" in out and "VACUOUS    set_once" in out
    assert "PROVED" not in out


@pytest.mark.parametrize(
    ("presets", "expected"),
    [(["proofs.late@at-once", "proofs.late@deferred"], 0), (["proofs.incident@nothing"], 0), (["small.py@wrong"], 1)],
)
def test_shipped_proofs_are_what_they_are_expected_to_be(
    presets: list[str], expected: int, prove: Prove, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(action=END)
    text = (tmp_path / "small.py").read_text(encoding="utf-8")
    wrong = 'params=Config, presets=[Preset("wrong", "expected to break", expect={"held_by_owner": 3})])'
    (tmp_path / "small.py").write_text(text.replace("params=Config)", wrong), encoding="utf-8")
    monkeypatch.setattr("kvproto.cli.prove._shipped", lambda: presets)

    code, out, _ = prove("--no-certificate")

    assert expected == code
    assert out


@pytest.mark.parametrize("name", ["c1", "init", "guard", "inv1", "clause_1", "parameters"])
def test_a_property_may_have_any_name(prove: Prove, write: Write, name: str) -> None:
    """Hypotheses are told apart by names, and some are not called by the author of the model."""
    claim = CLAIM.replace("held_by_owner", name) + CLAIM.replace("held_by_owner", "other").replace("if p", "if not p")

    code, out, _ = prove(write(action=END, claim=claim), "--property", name, "--certificate", "proof.json")

    assert 0 == code
    assert f"PROVED     {name}" in out
    assert 0 == prove("--recheck", "proof.json")[0]


def test_numbers_that_only_steps_choose(prove: Prove, write: Write) -> None:
    """No state holds a number, and conditions speak of one all the same."""
    state = STATE.replace("    now: Int(0, Config.hold)\n", "")
    action = END.replace("r: Req", "r: Req, d: Int(0, 3)").replace("    s.phase", "    require(d > 1)\n    s.phase")

    code, out, _ = prove(write(state=state, action=action))

    assert 0 == code
    assert "PROVED     held_by_owner" in out


@pytest.mark.parametrize(
    ("numbers", "lacking"),
    [
        ({"pool": "681280"}, "give context and page as well: --set context=..."),
        ({"context": "1048576", "page": "64"}, "give pool as well: --set pool=..."),
        ({}, None),
    ],
)
def test_prompts_that_leak_say_which_number_is_missing(
    prove: Prove, numbers: dict[str, str], lacking: str | None
) -> None:
    sets = [part for name, value in numbers.items() for part in ("--set", f"{name}={value}")]
    code, out, _ = prove("sglang@0.5.19", *sets)

    assert 3 == code
    assert lacking in out if lacking else "as well" not in out


@pytest.mark.parametrize("text", ["-3", "681,280", "9" * 5000])
def test_a_length_that_is_no_number_is_shown_as_written(prove: Prove, text: str) -> None:
    code, _, err = prove("sglang@0.5.19", "--set", f"pool={text}")

    assert 2 == code
    assert f"KV006  pool={text}:" in err


@pytest.mark.parametrize(("target", "begins"), [("proofs.tags", {"r", "p", "t"}), ("proofs.batches", {"r"})])
def test_a_clause_to_propose_begins_with_the_sorts_of_the_model(target: str, begins: set[str]) -> None:
    model = find(target).model

    text = elements(lower(model, choose(model)).theory)

    assert text.endswith(": ") and begins == set(text[:-2].split(", "))
