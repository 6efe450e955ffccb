"""`kvproto check --reuse`: kept runs are real runs of today's model, and nothing else is said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from kvproto.cli.traces import trace_of
from kvproto.engine.outcome import Counterexample, Finding, Options
from kvproto.engine.search import search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis
from kvproto.view.verdicts import Row, resuming, table
from kvproto.whatif.again import again

if TYPE_CHECKING:
    from cli_runs import Done, Run, Write

FOLDER = Path(".kvproto/traces")

CLAIMS = """
@invariant("it stays below three")
def below_three(s):
    return s.n < 3


@invariant("it stays below two")
def below_two(s):
    return s.n < 2


@invariant("it stays below nine")
def below_nine(s):
    return s.n < 9


"""

ENDLESS = """
@action(m)
def back(s):
    \"\"\"It begins again.\"\"\"
    require(s.n == 3)
    s.n = 0


@eventually("it is done")
def gets_done(s):
    return s.done


@sometimes("it gets to two")
def two(s):
    return s.n == 2


"""


def grown(path: Path) -> None:
    """Give the model a variable more: its digest is another, and its lines are elsewhere."""
    path.write_text(path.read_text().replace("    done: Bool\n", "    done: Bool\n    more: Int(0, 4)\n"))


def checked(kv: Run, *args: str) -> tuple[Done, dict[str, Any]]:
    """A check with its result by property; `result` under the name "" is the whole."""
    done = kv("check", "model.py", "--json", "result.json", *args)
    result = json.loads(Path("result.json").read_text())
    return done, {"": result, **{found["name"]: found for found in result["properties"]}}


def remembered() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())}


def test_what_kept_runs_break_is_not_searched_for(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py")
    before = remembered()
    done, found = checked(kv, "--reuse")

    assert 1 == done.code
    for name, steps in (("below_three", 3), ("below_two", 2)):
        told = found[name]
        assert ("violated", "bounded", True, steps) == (told["verdict"], told["strength"], told["kept"], told["length"])
        assert f"kept run of {steps} steps -> {told['trace']}" in done.out
    assert ("holds", "exhaustive") == (found["below_nine"]["verdict"], found["below_nine"]["strength"])
    assert "kept" not in found["below_nine"]
    assert found[""]["complete"]
    assert ["below_three", "below_two", "below_nine"] == [p["name"] for p in found[""]["properties"]]
    assert before == remembered()


def test_nothing_is_searched_if_kept_runs_break_everything(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py")
    done, found = checked(kv, "--reuse", "--property", "below_two")
    result = found[""]

    assert 1 == done.code
    assert (0, 0, False) == (result["states"], result["transitions"], result["complete"])
    assert "kept runs violate every selected property" == result["stopped"]
    assert "nothing was searched" in done.out


def test_the_first_check_searches(kv: Run, write: Write) -> None:
    write(CLAIMS)
    plain = kv("check", "model.py", "--json", "plain.json")
    before = remembered()
    for path in FOLDER.iterdir():
        path.unlink()
    first, _ = checked(kv, "--reuse")

    assert (plain.code, "") == (first.code, first.err)
    assert before == remembered()
    assert timeless(Path("plain.json")) == timeless(Path("result.json"))


def timeless(file: Path) -> dict[str, Any]:
    costs = {"seconds", "cpu_seconds", "bytes_per_state"}
    return {key: value for key, value in json.loads(file.read_text()).items() if key not in costs}


def test_without_the_option_nothing_is_taken_again(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py")
    before = remembered()
    kv("check", "model.py", "--reuse")
    again, found = checked(kv)

    assert "kept" not in again.out + again.err
    assert {"exhaustive"} == {found[name]["strength"] for name in ("below_three", "below_two", "below_nine")}
    assert not any("kept" in told for told in found.values())
    assert before == remembered()


def test_a_kept_run_is_written_with_todays_lines(kv: Run, write: Write) -> None:
    path = write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    old = codec.read(FOLDER / "mine-below_two.trace.json")
    grown(path)
    done, _ = checked(kv, "--reuse", "--property", "below_two")
    new = codec.read(FOLDER / "mine-below_two.trace.json")

    assert 1 == done.code
    assert [step.action for step in old.steps] == [step.action for step in new.steps]
    assert old.digest != new.digest
    assert [line + 1 for line in lines(old)] == lines(new)
    assert ("more" in new.init, "more" in old.init) == (True, False)
    assert ("bounded", False) == (new.strength, new.shortest)
    assert (True, "exhaustive") == (old.shortest, old.strength)
    assert "violated" == again(new, find("model.py")).end


def test_what_is_kept_is_not_searched_for_beside_the_rest(kv: Run, write: Write) -> None:
    """A search would have written that its run is a shortest one."""
    path = write(CLAIMS)
    kv("check", "model.py")
    grown(path)
    checked(kv, "--reuse")

    assert {False} == {codec.read(path).shortest for path in FOLDER.iterdir()}


def lines(trace: codec.Trace) -> list[int]:
    return [int(step.loc.rpartition(":")[2]) for step in trace.steps]


def test_what_was_found_out_about_a_run_stays_with_it(kv: Run, write: Write) -> None:
    """An analysis goes into the explanation; an explanation that differs without one is an old one."""
    write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    path = FOLDER / "mine-below_two.trace.json"
    first = codec.read(path)
    analysed = replace(first, analysis=Analysis(minimised=("It was larger.",)), why=(*first.why, "It was larger."))
    codec.save(analysed, path)
    kv("check", "model.py", "--property", "below_two", "--reuse")
    kept = codec.read(path)
    codec.save(replace(first, why=("It just happens.",)), path)
    kv("check", "model.py", "--property", "below_two", "--reuse")

    assert analysed == kept
    assert (first.why, False) == (codec.read(path).why, codec.read(path).shortest)


def test_a_run_is_kept_as_far_as_it_goes_wrong(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    write(CLAIMS.replace("s.n < 2", "s.n < 1"))
    _, found = checked(kv, "--reuse", "--property", "below_two")

    assert (1, True) == (found["below_two"]["length"], found["below_two"]["kept"])
    assert 1 == len(codec.read(FOLDER / "mine-below_two.trace.json").steps)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("require(s.n < 3)", "require(s.n < 1)", "step 2, inc, cannot happen, because s.n < 1"),
        ("s.n < 2", "s.n < 7", "its steps break nothing"),
        ("def inc(s)", "def count(s)", "step 1, inc, is no action of mine"),
        ("s.n += 1", "s.n += 0", "its steps break nothing"),
    ],
    ids=["a guard", "the claim", "a name", "an effect"],
)
def test_a_run_that_is_no_use_is_told_in_a_line_and_searched_for(
    kv: Run, write: Write, old: str, new: str, why: str
) -> None:
    path = write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    path.write_text(path.read_text().replace(old, new))
    plain, without = checked(kv, "--property", "below_two", "--trace-dir", "elsewhere")
    done, found = checked(kv, "--property", "below_two", "--reuse")
    told = done.err.splitlines()

    assert f"the kept run of below_two is no use any more: {why}" == told[0].replace("not (s.n >= 1)", "s.n < 1")
    assert plain.code == done.code
    assert without["below_two"] == {**found["below_two"], "trace": without["below_two"]["trace"]}
    # What becomes of the file is what becomes of it after any search.
    assert (found["below_two"]["verdict"] == "violated") == bool(remembered())
    assert len(told) == (1 if remembered() else 2)


def test_a_stale_run_stays_where_a_search_proves_nothing(kv: Run, write: Write) -> None:
    path = write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    path.write_text(path.read_text().replace("s.n += 1", "s.n += 0"))
    before = remembered()
    done, _ = checked(kv, "--property", "below_two", "--reuse", "--max-depth", "1")

    assert 3 == done.code
    assert before == remembered()


@pytest.mark.parametrize("text", ["notes", '{"schema": "kvproto.trace/1"}'])
def test_what_is_no_trace_is_nothing_kept(kv: Run, write: Write, text: str) -> None:
    write(CLAIMS)
    FOLDER.mkdir(parents=True)
    (FOLDER / "mine-below_two.trace.json").write_text(text)
    done, found = checked(kv, "--reuse", "--property", "below_two")

    assert (1, "", "exhaustive") == (done.code, done.err, found["below_two"]["strength"])


def test_runs_of_another_property_or_other_settings_are_not_used(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py", "--set", "Req=3")
    three, two = FOLDER / "mine-Req=3-below_three.trace.json", FOLDER / "mine-below_two.trace.json"
    two.write_bytes(three.read_bytes())
    _, found = checked(kv, "--reuse")

    assert not any("kept" in told for told in found.values())


def test_a_run_without_end_and_a_witness(kv: Run, write: Write) -> None:
    write(ENDLESS)
    kv("check", "model.py")
    done, found = checked(kv, "--reuse")

    assert (1, "") == (done.code, done.err)
    assert ("violated", "bounded", True) == tuple(found["gets_done"][key] for key in ("verdict", "strength", "kept"))
    # A witness proves that there is one, but `holds` is for complete searches.
    assert ("holds", "exhaustive") == (found["two"]["verdict"], found["two"]["strength"])
    assert "kept" not in found["two"]
    assert codec.read(FOLDER / "mine-gets_done.trace.json").loop is not None


def test_a_round_that_takes_longer_than_it_did(kv: Run, write: Write) -> None:
    """Every second time the state is another one, so that the steps of the trace are half a round."""
    path = write(ENDLESS)
    kv("check", "model.py", "--property", "gets_done")
    trace = FOLDER / "mine-gets_done.trace.json"
    trace.write_text(endless(codec.read(trace)))
    once, found = checked(kv, "--reuse", "--property", "gets_done")
    text = path.read_text().replace("    s.n = 0\n", "    s.n = 0\n    s.odd = not s.odd\n")
    path.write_text(text.replace("    done: Bool\n", "    done: Bool\n    odd: Bool\n"))
    twice, more = checked(kv, "--reuse", "--property", "gets_done")

    assert ("", "") == (once.err, twice.err)
    assert (4, 8) == (found["gets_done"]["length"], more["gets_done"]["length"])
    assert more["gets_done"]["kept"]
    assert 0 == codec.read(trace).loop


def endless(trace: codec.Trace) -> str:
    """The trace with the steps of one round."""
    step = {"args": {}, "lane": "m", "loc": "model.py:1", "text": "", "reads": (), "writes": (), "delta": {}}
    steps = tuple(codec.Step(action=name, **step) for name in ("inc", "inc", "inc", "back"))
    return codec.dumps(replace(trace, steps=steps, loop=0))


def test_an_init_function_that_goes_wrong_is_left_to_the_search(kv: Run, write: Write) -> None:
    path = write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    path.write_text(
        path.read_text().replace("@action(m)\n", "@init\ndef begin(s):\n    assert s.done\n\n\n@action(m)\n")
    )
    plain = kv("check", "model.py", "--property", "below_two", "--trace-dir", "elsewhere")
    done = kv("check", "model.py", "--property", "below_two", "--reuse")

    assert plain.code == done.code
    assert "the kept run of below_two is no use any more: an init function goes wrong" in done.err


def test_a_kept_run_can_be_made_smaller(kv: Run, write: Write) -> None:
    """Req is of no use to the run, so `--minimise` finds a smaller world, and looks at all runs of it."""
    path = write(CLAIMS)
    kv("check", "model.py", "--property", "below_two")
    grown(path)
    done = kv("check", "model.py", "--property", "below_two", "--reuse", "--minimise")
    trace = codec.read(FOLDER / "mine-below_two.trace.json")

    assert "minimised  below_two" in done.out
    assert (1, "bounded", True) == (trace.parameters["Req"], trace.strength, trace.shortest)


def test_a_trace_of_a_kept_run_does_not_claim_to_be_a_shortest_one(write: Write) -> None:
    write(CLAIMS)
    system = build(find("model.py").model, choose(find("model.py").model))
    result = search(system)
    finding = result.finding("below_two")
    assert finding.counterexample is not None
    kept = replace(finding, strength="bounded", kept=True)

    assert trace_of(system, result, finding, finding.counterexample).shortest
    assert not trace_of(system, result, kept, finding.counterexample).shortest


def test_a_failing_assertion_and_a_deadlock(kv: Run, write: Write) -> None:
    write('@action(m)\ndef look(s):\n    """It looks."""\n    require(s.n == 2)\n    assert s.done, "it is done"\n\n')
    first, searched = checked(kv)
    done, found = checked(kv, "--reuse")
    broken = [name for name, told in searched.items() if told.get("verdict") == "violated"]

    assert (1, 1) == (first.code, done.code)
    assert broken
    assert broken == [name for name, told in found.items() if told.get("kept")]
    assert [searched[name]["length"] for name in broken] == [found[name]["length"] for name in broken]


@pytest.mark.parametrize("option", [("--keep-going",), ("--checkpoint", "journal")])
def test_who_asks_for_the_whole_search_gets_it(kv: Run, write: Write, option: tuple[str, ...]) -> None:
    write(CLAIMS)
    kv("check", "model.py")
    done, found = checked(kv, "--reuse", *option)

    assert f"kept runs are not used: {option[0]} is about the whole search\n" == done.err
    assert "exhaustive" == found["below_two"]["strength"]


def test_a_journal_of_the_rest_says_what_it_is_about(kv: Run, write: Write) -> None:
    """A journal fits only the properties that it was made for."""
    write(CLAIMS)
    left = ("--property", "below_three", "--property", "below_nine")
    kv("check", "model.py", *left, "--checkpoint", "j", "--max-states", "2")
    result = search(build(find("model.py").model, choose(find("model.py").model)), Options(max_states=2))
    findings = tuple(replace(found, kept=found.claim.name == "below_two") for found in result.findings)
    words = resuming(replace(result, findings=findings, checkpoint=Path("j")))

    assert words == f"the same options and  {' '.join(left)} --resume j"
    assert "the same options and  --resume j" == resuming(replace(result, checkpoint=Path("j")))
    assert "" == resuming(replace(result, findings=findings))
    done = kv("check", "model.py", "--reuse", *words.rpartition("  ")[2].split())
    assert (1, True) == (done.code, "complete" in done.out)


def test_the_project_may_ask_for_it(kv: Run, write: Write, here: Path) -> None:
    write(CLAIMS)
    (here / "pyproject.toml").write_text('[tool.kvproto]\ntargets = ["model.py"]\nreuse = true\n')
    first = kv("check")
    second = kv("check")
    third = kv("check", "--no-reuse")

    assert "kept run of" not in first.out
    assert 2 == second.out.count("kept run of")
    assert first.out.splitlines()[1:3] == third.out.splitlines()[1:3]


def test_other_outputs_say_that_the_run_was_kept(kv: Run, write: Write) -> None:
    write(CLAIMS)
    kv("check", "model.py")
    done = kv("check", "model.py", "--reuse", "--sarif", "s.sarif", "--junit", "j.xml", "--github")
    results = json.loads(Path("s.sarif").read_text())["runs"][0]["results"]
    suite = ElementTree.parse("j.xml").getroot()[0]

    assert 1 == done.code
    assert [True, True] == [result["properties"]["kept"] for result in results]
    assert all("steps of a kept run" in result["message"]["text"] for result in results)
    assert ("3", "2", "0") == (suite.get("tests"), suite.get("failures"), suite.get("errors"))
    assert "of a kept run" in done.err


def test_the_table_of_presets_says_so_too() -> None:
    model = find("outline").model
    system = build(model, choose(model, preset="incident"))
    result = search(system)
    claim = system.claim("reads_own_writes")
    run = result.finding(claim.name).counterexample
    assert isinstance(run, Counterexample)
    plain = table([Row("outline", result, {claim.name: "t/x.trace.json"})])
    kept = replace(result, findings=(Finding(claim, "violated", "bounded", run, kept=True),))
    told = table([Row("outline", kept, {claim.name: "t/x.trace.json"})])

    assert f"reads_own_writes ({len(run.steps)}, kept)" in told[0]
    assert told[1].endswith("kept: a run of an earlier search")
    assert "kept" not in "".join(plain)
