"""`--sarif`, `--junit`, `--github`: where they go, what they leave alone, and what is refused before the search."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

import pytest
from cli_runs import drain

from kvproto.formats.markup import plain

if TYPE_CHECKING:
    from cli_runs import Run, Spawn, Write

LEAK = "blocks.page_pool@leak"
RIGHT = "blocks.page_pool"


def test_files_are_written_beside_the_usual_output(kv: Run, here: Path) -> None:
    plain = kv("check", LEAK)
    done = kv("check", LEAK, "--sarif", "a.sarif", "--junit", "a.xml", "--json", "a.json")
    log = json.loads(Path("a.sarif").read_text(encoding="utf-8"))

    assert (1, 1) == (plain.code, done.code)
    assert _untimed(plain.out) == _untimed(done.out)
    assert 1 == log["runs"][0]["invocations"][0]["exitCode"]
    assert "1" == Tree.parse("a.xml").getroot().get("failures")
    assert LEAK == json.loads(Path("a.json").read_text(encoding="utf-8"))["target"]


def _untimed(text: str) -> list[str]:
    """The lines that do not hold figures of one run."""
    return [line for line in text.splitlines() if " states  " not in line]


@pytest.mark.parametrize("option", ["--sarif", "--junit"])
def test_a_format_can_have_standard_output(option: str, kv: Run) -> None:
    out = kv("check", LEAK, option, "-").out

    if option == "--sarif":
        assert "2.1.0" == json.loads(out)["version"]
    else:
        assert "testsuites" == Tree.fromstring(out.encode("utf-8")).tag


@pytest.mark.parametrize("options", [("--json", "-", "--sarif", "-"), ("--sarif", "a", "--junit", "./a")])
def test_two_results_cannot_share_a_place(options: tuple[str, ...], kv: Run, here: Path) -> None:
    done = kv("check", LEAK, *options)

    assert 2 == done.code
    assert "KV026" in done.err and "name the same file" in done.err
    assert "" == done.out


@pytest.mark.parametrize("option", ["--sarif", "--junit", "--json"])
def test_a_result_cannot_replace_the_checkpoint(option: str, kv: Run) -> None:
    done = kv("check", LEAK, "--checkpoint", "a", option, "a")

    assert 2 == done.code
    assert f"{option} and the checkpoint name the same file" in done.err


@pytest.mark.parametrize("option", ["--sarif", "--junit"])
def test_an_unwritable_file_is_refused_before_the_search(option: str, kv: Run, here: Path) -> None:
    done = kv("check", LEAK, option, "no/where")

    assert 2 == done.code
    assert "KV021" in done.err and "no/where" in done.err
    assert not (here / ".kvproto").exists()


def test_github_speaks_on_standard_error_and_in_the_summary(
    kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = kv("check", LEAK)
    Path("summary.md").write_text("# Before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = kv("check", LEAK)
    kv("check", RIGHT)
    text = Path("summary.md").read_text(encoding="utf-8")

    assert _untimed(plain.out) == _untimed(done.out)
    assert done.err.startswith("::error ") and "title=no_page_lost violated::" in done.err
    assert text.startswith("# Before\n")
    assert 2 == text.count("## kvproto check")
    assert 1 == text.count("### `no_page_lost` violated")


@pytest.mark.parametrize(("option", "told"), [("--github", True), ("--no-github", False), (None, False)])
def test_the_option_decides_before_the_environment(
    option: str | None, told: bool, kv: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true" if option == "--no-github" else "false")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = kv("check", LEAK, *([option] if option else []))

    assert told == ("::error" in done.err)
    assert told == Path("summary.md").exists()


def test_a_summary_that_cannot_be_written_is_refused_before_the_search(
    kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/where")
    done = kv("check", LEAK, "--github")

    assert (2, True) == (done.code, "KV021" in done.err)
    assert not (here / ".kvproto").exists()


def test_a_full_summary_is_left_as_it_is_but_for_a_word(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub drops a summary of more than 1 MiB, the whole of it."""
    path = Path("summary.md")
    path.write_text("x" * ((1 << 20) - 1500) + "\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    kv("check", LEAK, "--github")

    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) <= 1 << 20
    assert "1 more do not hold" in text


def test_the_command_to_search_again_has_the_settings(kv: Run) -> None:
    kv("check", RIGHT, "--set", "writes_first=off", "--scope", "three", "--junit", "a.xml")
    told = Tree.parse("a.xml").getroot()
    again = {line for problem in told.iter("failure") for line in (problem.text or "").splitlines() if "again" in line}

    assert "again: kvproto check blocks.page_pool --set writes_first=off --scope three --property reads_own" in again
    for line in again:
        assert 1 == kv(*line.removeprefix("again: kvproto ").split()).code


def test_the_guard_that_was_missing_is_told(kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in every format, and the trace stays what it is without."""
    target = "blocks.page_pool@reads-early"
    kv("check", target, "--trace-dir", "plain")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = kv("check", target, "--trace-dir", "told", "--github", "--junit", "a.xml", "--sarif", "a.sarif")
    (result,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    (related,) = result["relatedLocations"]
    (failure,) = Tree.parse("a.xml").getroot().iter("failure")
    words = related["message"]["text"]

    # How it is said is tested where it is said.
    assert "writes_first" in words and "step 2" in words and "refused" in words
    assert words in done.err.replace("%0A", "\n").splitlines()
    assert words in str(failure.text).splitlines()
    assert words in result["message"]["text"]
    assert f"- {plain(words)}" in Path("summary.md").read_text(encoding="utf-8").splitlines()
    assert "require(" in related["physicalLocation"]["region"]["snippet"]["text"]
    (without,), (told,) = (list((here / name).iterdir()) for name in ("plain", "told"))
    assert without.read_bytes() == told.read_bytes()


def test_what_was_missing_is_looked_for_in_a_file_too(kv: Run, write: Write) -> None:
    text = """
class Par(Params):
    careful: bool = flag(False, "looks before it jumps", kind="mitigation")


cfg = Par()


@action(m)
def jump(s):
    require(not cfg.careful)
    s.n = 9


@invariant("n stays small")
def small(s):
    return s.n < 5
"""
    write(text, params="Par")
    done = kv("check", "model.py", "--github")

    assert 1 == done.code
    (said,) = [line for line in done.err.replace("%0A", "\n").splitlines() if "careful" in line]
    assert "step 1, jump()" in said and "refused" in said


WRONG = {
    "syntax": ("    s.n = ", "KV009"),
    "language": ("    s.n += undefined\n", "KV105"),
    "run": ("    s.n += 9\n", "KV201"),
}


@pytest.mark.parametrize(("line", "code"), WRONG.values(), ids=WRONG)
def test_an_error_is_told_where_results_are_looked_for(
    line: str, code: str, kv: Run, write: Write, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of an earlier check must not look like a result of this one."""
    write(f"\n@action(m)\ndef wrong(s):\n{line}\n", name="checks/model.py")
    for name in ("a.xml", "a.sarif"):
        Path(name).write_text("all is well", encoding="utf-8")
    done = kv("check", "checks/model.py", "--junit", "a.xml", "--sarif", "a.sarif", "--github")
    (run,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"]
    (said,) = run["invocations"][0]["toolConfigurationNotifications"]
    place = said["locations"][0]["physicalLocation"]
    (problem,) = Tree.parse("a.xml").getroot().iter("error")
    text = Path("checks/model.py").read_text(encoding="utf-8").splitlines()

    assert 2 == done.code and f"error {code}" in done.err
    assert (False, 2) == (run["invocations"][0]["executionSuccessful"], run["invocations"][0]["exitCode"])
    assert [] == run["results"]
    assert (code, "error") == (said["descriptor"]["id"], said["level"])
    assert "checks/model.py" == place["artifactLocation"]["uri"]
    assert line.strip() == text[place["region"]["startLine"] - 1].strip()
    assert code == problem.get("type") and f"error {code}" in str(problem.text)
    assert f"::error file=checks/model.py,line={place['region']['startLine']}," in done.err


def test_an_error_without_a_place(kv: Run) -> None:
    done = kv("check", "no_such_model", "--junit", "a.xml", "--sarif", "a.sarif", "--github")
    (run,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"]

    assert 2 == done.code
    assert done.err.startswith("::error title=KV001 there is no model 'no_such_model'")
    assert "locations" not in run["invocations"][0]["toolConfigurationNotifications"][0]
    assert "KV001" == next(Tree.parse("a.xml").getroot().iter("error")).get("type")


def test_an_interrupted_check_says_what_was_not_searched(spawn: Spawn, here: Path) -> None:
    terminal, side = pty.openpty()
    child = spawn(
        *("check", "outline@0.5.19", "outline@patched", RIGHT, "--no-symmetry"),
        *("--junit", "a.xml", "--sarif", "a.sarif", "--set", "Req=3"),
        stdout=subprocess.DEVNULL,
        stderr=side,
    )
    os.close(side)
    shown = ""
    while "states/s" not in shown:
        shown += os.read(terminal, 65536).decode()
    child.send_signal(signal.SIGINT)
    drain(terminal)
    os.close(terminal)
    suites = list(Tree.parse("a.xml").getroot())
    (run,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"]

    assert 130 == child.wait(timeout=60)
    assert [False, True, True] == [suite.find("testcase[@name='searched']/error") is not None for suite in suites]
    assert (False, 130) == (run["invocations"][0]["executionSuccessful"], run["invocations"][0]["exitCode"])
    assert "open" in {result["kind"] for result in run["results"]}
