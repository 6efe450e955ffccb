"""Searches that are interrupted, resumed, spilled or run in threads, from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cli_runs import Run, Spawn, Write

LONG = ("outline@patched", "--scope", "medium", "--no-symmetry")
"""Minutes long."""

SMALL = "@invariant('small')\ndef small(s):\n    return s.n < 4\n"


def result(kv: Run, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kv("check", *args, "--json", "-").out)
    return {key: value for key, value in found.items() if key not in ("seconds", "cpu_seconds", "bytes_per_state")}


def traces(folder: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(Path(folder).iterdir())}


# --- workers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["outline@0.5.19", "outline@incident", "kv_transfer@vulnerable"])
def test_any_number_of_workers_gives_the_same_bytes(kv: Run, target: str) -> None:
    """Levels of more than two thousand states are shared, in the first of these searches."""
    args = (target, "--no-symmetry", "--keep-going")
    found = {n: result(kv, *args, "--workers", str(n), "--trace-dir", f"w{n}") for n in (1, 2, 3)}

    for n in (2, 3):
        assert found[n].pop("workers") == n
        assert traces("w1") == traces(f"w{n}")
        for one in found[n]["properties"]:
            one["trace"] = one["trace"] and one["trace"].replace(f"w{n}/", "w1/")
    assert found[1].pop("workers") == 1
    assert found[1] == found[2] == found[3]


def test_workers_and_a_state_limit(kv: Run) -> None:
    alone = result(kv, "outline@0.5.19", "--no-symmetry", "--max-states", "30000")
    both = result(kv, "outline@0.5.19", "--no-symmetry", "--max-states", "30000", "--workers", "2")

    assert {**both, "workers": 1} == alone
    assert alone["stopped"] == "state limit"


def test_workers_are_named(kv: Run) -> None:
    assert "engine C, 2 workers" in kv("check", "kv_transfer", "--workers", "2").out.replace(", symmetry over Req", "")
    slow = kv("check", "kv_transfer", "--workers", "2", "--tier", "python").out
    assert "engine Python (slower), symmetry over Req: asked for; one worker, only the C engine has more" in slow


# --- fingerprints -----------------------------------------------------------------------------------------


def test_fingerprints_in_text_and_json(kv: Run) -> None:
    done = kv("check", "outline@patched", "--fingerprints")
    found = result(kv, "outline@patched", "--fingerprints")

    assert done.code == 3
    assert "128-bit fingerprints (lossy)" in done.out
    assert "two states were taken for one with a probability of at most " in done.out
    assert "INCONCL.  pages_conserved              bounded  states were kept as 128-bit fingerprints" in done.out
    assert "add --accept-lossy, or leave out --fingerprints" in done.out
    assert found["storage"] == "fingerprints"
    assert 0 < found["collision_probability"] < 1e-20
    assert {p["reason"] for p in found["properties"]} == {"states were kept as 128-bit fingerprints"}


def test_fingerprints_accepted(kv: Run) -> None:
    done = kv("check", "outline@patched", "--fingerprints", "--accept-lossy")

    assert done.code == 0
    assert "two states were taken for one with a probability of at most " in done.out


def test_violations_stand(kv: Run) -> None:
    exact, lossy = result(kv, "outline@incident", "--trace-dir", "a"), result(kv, "outline@incident", "--fingerprints")

    violated = [(p["name"], p["length"]) for p in exact["properties"] if p["verdict"] == "violated"]
    assert [(p["name"], p["length"]) for p in lossy["properties"] if p["verdict"] == "violated"] == violated
    assert {json.loads(text)["shortest"] for text in traces("a").values()} == {True}
    # A state that was taken for another may have hidden a shorter run; the runs are the same.
    assert {json.loads(text)["shortest"] for text in traces(".kvproto/traces").values()} == {False}
    assert told("a") == told(".kvproto/traces")


def told(folder: str) -> dict[str, object]:
    """The traces of a folder, but for whether they are known to be the shortest."""
    return {name: {**json.loads(text), "shortest": None} for name, text in traces(folder).items()}


# --- journals ---------------------------------------------------------------------------------------------


def test_a_limit_and_a_resumed_search(kv: Run) -> None:
    done = kv("check", "outline@0.5.19", "--max-states", "9000", "--checkpoint", "some where.j", "--trace-dir", "part")

    assert done.code == 1
    assert "stopped: state limit" in done.out
    assert result(kv, "outline@0.5.19") == result(kv, "outline@0.5.19", "--resume", "some where.j")
    assert not Path("some where.j").exists()


def test_a_stopped_search_says_how_to_go_on(kv: Run) -> None:
    out = kv("check", "outline@patched", "--max-states", "900", "--checkpoint", "some where.j").out

    assert out.splitlines()[-1] == "  to go on: the same options and  --resume 'some where.j'"
    assert (
        result(kv, "outline@patched", "--resume", "some where.j", "--max-states", "990")["checkpoint"] == "some where.j"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm(kv: Run, spawn: Spawn, here: Path, number: int) -> None:
    journal = ("--checkpoint", "j", "--checkpoint-interval", "0.05")
    child = spawn("check", *LONG, *journal, "--json", "-", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (here / "j").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    found = json.loads(out)

    assert child.returncode == 130
    assert err == "interrupted: the figures are partial; go on with the same options and  --resume j\n"
    assert (found["stopped"], found["checkpoint"]) == ("interrupted", "j")
    further = result(kv, *LONG, "--resume", "j", "--max-states", str(found["states"] + 10_000))
    assert further["states"] >= found["states"] + 10_000


def test_journals_that_nobody_asked_for(kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that has lasted some seconds leaves one; an older one stays."""
    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)
    for name in ("interrupted.checkpoint", "interrupted-2.checkpoint"):
        found = result(kv, "outline@patched", "--max-states", "990")
        assert found["checkpoint"] == f".kvproto/traces/{name}"
    resumed = result(kv, "outline@patched", "--resume", ".kvproto/traces/interrupted-2.checkpoint")
    assert resumed == result(kv, "outline@patched")
    assert [p.name for p in (here / ".kvproto" / "traces").iterdir()] == ["interrupted.checkpoint"]


def test_a_finished_search_cannot_be_resumed(kv: Run) -> None:
    assert kv("check", "outline@patched", "--checkpoint", "j").code == 0
    done = kv("check", "outline@patched", "--resume", "j")

    assert done.code == 2
    assert done.err.startswith("error KV025  checkpoint j cannot be used: it is not there\n")
    assert "a search that has come to its end removes its checkpoint" in done.err


def test_the_model_was_changed_meanwhile(kv: Run, write: Write) -> None:
    write(SMALL)
    kv("check", "model.py", "--max-states", "2", "--checkpoint", "j")
    write(SMALL.replace("4", "3"))
    done = kv("check", "model.py", "--resume", "j")

    assert done.code == 2
    assert "cannot be used: it belongs to another search (of mine)" in done.err
    assert Path("j").exists()


def test_another_tier_has_no_journals(kv: Run, process: Run) -> None:
    kv("check", "outline@patched", "--max-states", "900", "--checkpoint", "j")
    assert kv("check", "outline@patched", "--resume", "j", "--engine", "reference").err.startswith("error KV015")
    asked = kv("check", "outline", "--checkpoint", "x", "--engine", "reference").err
    assert "the reference checker was asked for" in asked
    without = process("check", "outline@patched", "--resume", "j", env={"KVPROTO_NATIVE": "off"})
    assert without.err.startswith("error KV015  the Python tier has no checkpoints\n")
    assert "switched off by KVPROTO_NATIVE=off" in without.err
    assert kv("check", "outline@patched", "--resume", "j", "--tier", "compiled").code == 0


FULL = """
import resource, sys
from kvproto.cli.main import main
from kvproto.engine.native import load_engine
load_engine()  # perhaps it has to be built first
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("states", "interval"), [("3000", "60"), ("30000", "0.0001")])
def test_a_disk_that_fills_up(kv: Run, here: Path, states: str, interval: str) -> None:
    """Nothing is lost but the journal, or the end of it."""
    args = ["check", "outline@0.5.19", "--max-states", states, "--checkpoint", "j", "--checkpoint-interval", interval]
    command = [sys.executable, "-c", FULL, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    assert (done.returncode, done.stderr) == (1, "")
    assert ("warning KV024" in done.stdout) == (states == "30000")
    assert result(kv, "outline@0.5.19") == result(kv, "outline@0.5.19", "--resume", "j")
    assert [p.name for p in here.iterdir() if ".new" in p.name] == []


# --- spilling -------------------------------------------------------------------------------------------------


def test_spilling(kv: Run) -> None:
    args = ("outline@0.5.19", "--no-symmetry", "--memory-limit", "3M")
    short, spilled = result(kv, *args), result(kv, *args, "--spill", ".")

    assert short["stopped"] == "memory limit"
    assert spilled == result(kv, "outline@0.5.19", "--no-symmetry")
    assert "or add --spill DIR" in kv("check", "outline@patched", "--memory-limit", "1200K").out
    assert [p.name for p in Path().iterdir()] == [".kvproto"]


def test_too_little_for_the_table(kv: Run) -> None:
    done = kv("check", "outline@0.5.19", "--no-symmetry", "--memory-limit", "1M", "--spill", ".")

    assert done.code == 1
    assert "stopped: memory limit" in done.out


@pytest.mark.parametrize("more", [("--spill", "."), ("--fingerprints",), ("--tier", "python"), ()])
def test_spilling_is_offered_where_it_helps(kv: Run, more: tuple[str, ...]) -> None:
    """Not to those who do it already, nor where there is nothing to spill."""
    done = kv("check", "outline@patched", "--scope", "medium", "--no-symmetry", "--memory-limit", "4M", *more)
    hint = "the search was stopped (memory limit); raise --memory-limit"

    assert done.code == 3
    assert f"  inconclusive: {hint}{'' if more else ', or add --spill DIR'}\n" in done.out


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--accept-lossy"], "KV026", "--accept-lossy without --fingerprints"),
        (["--spill", "."], "KV026", "--spill without --memory-limit"),
        (["--spill", ".", "--memory-limit", "9M", "--fingerprints"], "KV026", "--spill with --fingerprints"),
        (["--spill", "nowhere", "--memory-limit", "9M"], "KV006", "--spill 'nowhere' is no folder"),
        (["--spill", "/proc", "--memory-limit", "9M"], "KV006", "--spill '/proc' is no folder"),
        (["--spill", "a\0b", "--memory-limit", "9M"], "KV006", "--spill 'a\\x00b' is no folder"),
        (["--engine", "reference", "--tier", "python"], "KV026", "--tier python with --engine reference"),
        (["--engine", "reference", "--fingerprints"], "KV015", "the reference checker has no fingerprints"),
        (["--tier", "python", "--checkpoint", "x"], "KV015", "the Python tier has no checkpoints"),
        (["--checkpoint", "x", "outline@patched"], "KV026", "--checkpoint and --resume with several targets"),
        (["--resume", "x", "outline@patched"], "KV026", "--checkpoint and --resume with several targets"),
        (["--checkpoint", "x", "--json", "./x"], "KV026", "--json and the checkpoint name the same file"),
        (["--resume", "x"], "KV025", "it is not there"),
        (["--resume", "."], "KV025", "it is a folder"),
        (["--resume", "a\0b"], "KV025", "a\\x00b cannot be used"),
        (["--checkpoint", "."], "KV024", "it is a folder"),
        (["--checkpoint", "a\0b"], "KV024", "a\\x00b cannot be written"),
        (["--checkpoint", "/proc/x"], "KV024", "cannot be written"),
        (["--checkpoint", "/dev/null"], "KV024", "it is no ordinary file"),
        (["--checkpoint", "x", "--checkpoint-interval", "nan"], "KV022", "nan"),
        (["--checkpoint", "x", "--checkpoint-interval", "0"], "KV022", "0.0 is not in the range"),
        (["--workers", "0"], "KV022", "0 is not in the range"),
        (["--workers", "65"], "KV022", "65 is not in the range"),
        (["--workers", "two"], "KV022", "'two' is not a valid integer"),
        (["--seed", "-1"], "KV022", "-1 is not in the range"),
        (["--tier", "quick"], "KV022", "'quick'"),
        (["--memory-limit", "3000"], "KV006", "leaves no room for a search"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused(kv: Run, here: Path, args: list[str], code: str, words: str) -> None:
    done = kv("check", "outline@incident", *args)

    assert done.code == 2
    assert done.err.startswith(f"error {code}  ")
    assert words in done.err
    assert f"(kvproto explain {code})" in done.err
    assert done.out == ""
    assert [p for p in here.rglob("*") if p.is_file()] == []


def test_a_checkpoint_replaces_nothing_but_checkpoints(kv: Run, write: Write) -> None:
    text = write(SMALL).read_text()
    for args in (["--checkpoint", "model.py"], ["--resume", "model.py"], ["--checkpoint", "model.py/x"]):
        assert kv("check", "model.py", "--max-states", "2", *args).code == 2
    assert Path("model.py").read_text() == text


def test_absurd_numbers_that_make_sense(kv: Run) -> None:
    plain = result(kv, "outline@incident")
    for args in (
        ("--seed", str(10**30)),
        ("--checkpoint-interval", "inf", "--checkpoint", "x"),
        ("--checkpoint-interval", "1e300", "--checkpoint", "x"),
        ("--workers", "64"),
        ("--memory-limit", "99999999999G"),
        ("--memory-limit", "99999999999G", "--spill", "."),
        ("--max-states", str(10**40), "--max-depth", str(10**40), "--time-limit", "1e300"),
    ):
        assert {**result(kv, "outline@incident", *args), "workers": 1} == plain
