"""The verb: what it prints, writes and exits with."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from kvproto.cli.main import main
from kvproto.trace import codec

PAGES = str(Path(__file__).with_name("pages.py"))

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kv(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The verb in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["mitigations", *args])
        out, err = capfd.readouterr()
        return code, out, err

    return run


def test_the_answer_in_words(kv: Run) -> None:
    """What is printed is a file, but for how much work it was."""
    code, out, _ = kv(PAGES, "--scope", "two")
    answer, _, work = out.replace(PAGES, "pages.py").partition("  32 of 32 sets looked at, ")

    assert code == 0
    assert Path(__file__).with_name("pages_answer.txt").read_text() == answer
    assert work.startswith("12 different systems, ")
    assert work.endswith("  every set was decided; nothing is assumed\n")


def test_a_warning_about_what_never_happens(kv: Run) -> None:
    _, out, _ = kv(PAGES, "--set", "tagged=off", "--switches", "drain,retry", "--property", "one_read")

    assert "KV301  never happened with any set: again" in out


def test_json_names_sets_and_traces(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--property", "no_stray", "--json", "-")
    told = json.loads(out)

    assert code == 0
    assert told["schema"] == "kvproto.mitigations/1"
    assert told["sets"] == 32
    [goal] = told["goals"]
    assert goal["verdict"] == "suffices"
    assert goal["sufficient"] == [["drain", "bounded"]]
    assert goal["assumes"] == "nothing"
    assert [found["missing"] for found in goal["insufficient"]] == [["bounded"], ["drain"]]
    for found in goal["insufficient"]:
        [broken] = found["violated"]
        trace = codec.read(broken["trace"])
        assert trace.property == "no_stray"
        assert len(trace.steps) == broken["length"]
        assert {n for n in goal["sufficient"][0] if trace.parameters[n]} == set(found["set"]) & {"drain", "bounded"}


def test_harm_is_reported_with_a_trace(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--property", "reads_clean", "--json", "-")
    told = json.loads(out)

    assert code == 0
    assert {"switch": "retry", "holds_with": ["tagged"]} in told["goals"][0]["harm"]
    assert any(found["set"] == ["tagged", "retry"] for found in told["traces"])


def test_the_picture_is_well_formed(kv: Run, tmp_path: Path) -> None:
    kv(PAGES, "--svg", "a.svg", "--quiet")
    text = (tmp_path / "a.svg").read_text()
    root = ElementTree.fromstring(text)
    said = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]

    assert "no_stray: no write lands in a page that was given back" in said
    assert "none" in said  # the lattice of 32 sets
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    kv(PAGES, "--svg", "b.svg", "--quiet", "--jobs", "2")
    assert (tmp_path / "b.svg").read_text() == text


def test_ask_judges_single_sets(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--ask", "tagged", "--ask=-drain", "--ask", "drain,bounded", "--property", "reads_clean")

    assert code == 1
    assert "tagged: suffices" in out
    assert "everything but drain: not enough" in out
    assert "drain + bounded: suffices" in out


def test_ask_for_a_set_that_suffices(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--ask", "drain,bounded")

    assert code == 0
    assert "VIOLATED" not in out


def test_no_set_suffices(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--switches", "rotate,verbose", "--property", "no_stray")

    assert code == 1
    assert "no set of these switches suffices" in out
    assert "    everything\n        4 steps -> " in out


def test_a_budget_makes_it_inconclusive(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--max-states", "2", "--property", "no_stray")

    assert code == 3
    assert "no set is known to suffice" in out
    assert "inconclusive: a budget was met" in out


def test_a_budget_of_sets(kv: Run) -> None:
    code, out, _ = kv(PAGES, "--max-sets", "7", "--property", "no_stray", "--boundary")

    assert code == 3
    assert "  7 of 32 sets looked at" in out
    assert "undecided" in out


def test_what_is_assumed_is_said(kv: Run) -> None:
    _, walked, _ = kv(PAGES, "--boundary")
    _, exact, _ = kv(PAGES, "--exact")

    assert "assumed of the other sets" in walked
    assert "except for retry" in walked
    assert "nothing is assumed" in exact


def test_walking_and_deciding_every_set_agree(kv: Run) -> None:
    found = []
    for way in ("--boundary", "--exact"):
        _, out, _ = kv(PAGES, way, "--json", "-")
        found.append([(g["name"], g["sufficient"], g["insufficient"]) for g in json.loads(out)["goals"]])

    assert found[0] == found[1]


def test_drop_finds_what_is_not_needed(kv: Run) -> None:
    code, out, _ = kv(f"{PAGES}@careful", "--drop", "--json", "-")
    [together] = [goal for goal in json.loads(out)["goals"] if goal["name"] == "(all of them)"]

    assert code == 0
    assert together["sufficient"] == [["drain", "bounded"]]


def test_two_questions_at_once_are_refused(kv: Run) -> None:
    code, _, err = kv(PAGES, "--drop", "--from", "careful")

    assert code == 2
    assert "KV026" in err


def test_files_that_cannot_be_written_are_refused_first(kv: Run) -> None:
    code, out, err = kv(PAGES, "--svg", "nowhere/a.svg")

    assert code == 2
    assert out == ""
    assert "KV021" in err


def test_traces_are_named_as_check_names_them(kv: Run, tmp_path: Path) -> None:
    kv(PAGES, "--ask", "tagged,retry", "--property", "reads_clean")
    [mine] = (tmp_path / ".kvproto" / "traces").glob("*.json")
    told = json.loads(mine.read_text(encoding="utf-8"))
    mine.unlink()
    main(["check", PAGES, "--set", "tagged=on", "--set", "retry=on", "--property", "reads_clean"])
    searched = json.loads(mine.read_text(encoding="utf-8"))

    # A run that refutes a set need not be the shortest, and nobody says that it is.
    assert (searched.pop("strength"), searched.pop("shortest")) == ("exhaustive", True)
    assert told == searched


def test_the_incident_is_closed_by_one_measure(kv: Run) -> None:
    switches = "larger_pool,token_count_check,deferred_release,zero_on_release"
    code, out, _ = kv("outline@incident", "--switches", switches, "--property", "reads_own_writes", "--json", "-")
    [goal] = json.loads(out)["goals"]

    assert code == 0
    assert goal["sufficient"] == [["larger_pool"], ["token_count_check"]]
    assert [found["missing"] for found in goal["insufficient"]] == [["larger_pool", "token_count_check"]]
