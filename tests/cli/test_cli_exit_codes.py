"""One test for every meaning that the contract gives an exit code."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_runs import drain

if TYPE_CHECKING:
    from cli_runs import Run, Spawn, Write

BUDGETS = [("--max-states", "50"), ("--max-depth", "3"), ("--time-limit", "0.000001"), ("--memory-limit", "1200K")]


def test_0_when_everything_holds(kv: Run) -> None:
    done = kv("check", "outline@patched")

    assert done.code == 0
    assert "VIOLATED" not in done.out
    assert done.out.splitlines()[-1].endswith("complete")
    assert done.err == ""


def test_1_when_a_property_is_violated(kv: Run) -> None:
    done = kv("check", "outline@incident")

    assert done.code == 1
    assert "VIOLATED  reads_own_writes" in done.out
    assert done.out.splitlines()[-1].startswith("  next: kvproto show .kvproto/traces/outline-incident-")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["chek"], "KV022"),
        (["check", "--no-such-option"], "KV022"),
        (["check", "--max-states", "0"], "KV022"),
        (["check", "--max-states", "many"], "KV022"),
        (["check", "--time-limit", "nan"], "KV022"),
        (["check", "--time-limit", "0"], "KV022"),
        (["check", "--memory-limit", "1.5G"], "KV022"),
        (["check", "--memory-limit", "0"], "KV022"),
        (["check", "--engine", "fast"], "KV022"),
        (["show"], "KV022"),
        (["show", "x", "--width", "3"], "KV022"),
        (["show", "nothing.trace.json"], "KV010"),
        (["replay", "nothing.trace.json"], "KV010"),
        (["check", "nothing"], "KV001"),
        (["check", "outline@0.0"], "KV002"),
        (["check", "outline@"], "KV002"),
        (["check", "outline", "--scope", "huge"], "KV003"),
        (["check", "outline", "--property", "reads"], "KV004"),
        (["check", "outline", "--set", "deferred=on"], "KV005"),
        (["check", "outline", "--set", "deferred_release"], "KV006"),
        (["check", "outline", "--set", "=on"], "KV006"),
        (["check", "outline", "--set", "deferred_release=perhaps"], "KV006"),
        (["check", "outline", "--set", "prefill_pool=0"], "KV006"),
        (["check", "outline", "--set", "Req=99999"], "KV006"),
        (["check", "outline", "--set", "Req=0"], "KV016"),
        (["check", "outline", "--memory-limit", "1"], "KV006"),
        (["explain", "nonsense"], "KV017"),
        (["list", "nothing"], "KV001"),
        (["list", "outline@nothing"], "KV002"),
    ],
    ids=" ".join,
)
def test_2_for_what_cannot_be_done(kv: Run, args: list[str], code: str) -> None:
    done = kv(*args)

    assert done.code == 2
    assert done.err.startswith(f"error {code}  ")
    assert f"(kvproto explain {code})" in done.err
    assert done.out == ""


def test_2_without_any_word(kv: Run) -> None:
    done = kv()

    assert done.code == 2
    assert "Usage: kvproto" in done.err


def test_2_for_an_error_of_the_model(kv: Run, write: Write) -> None:
    write("@action(m)\ndef over(s):\n    s.n += 7\n")
    done = kv("check", "model.py")

    assert done.code == 2
    assert done.err.startswith("error KV201  ")


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda b: b[0])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_3_when_a_budget_ends_the_search(kv: Run, budget: tuple[str, str], engine: str) -> None:
    done = kv("check", "outline@patched", "--engine", engine, *budget)

    assert done.code == 3
    assert "INCONCL." in done.out
    assert "holds" not in done.out
    assert f"raise {budget[0]}" in done.out.splitlines()[-1]


def test_3_when_an_action_never_happens(kv: Run, write: Write) -> None:
    write(
        "@action(m)\ndef never(s):\n    require(s.n > 5)\n    s.done = True\n\n\n"
        "@invariant('small')\ndef small(s):\n    return s.n < 4\n"
    )
    done = kv("check", "model.py")

    assert done.code == 3
    assert "KV301" in done.out
    assert "never" in done.out
    assert "inconclusive: " in done.out


def test_3_when_nothing_is_selected(kv: Run, write: Write) -> None:
    write()
    done = kv("check", "model.py")

    assert done.code == 3
    assert "the model has no property" in done.out


def test_1_stands_although_a_budget_ended_the_search(kv: Run) -> None:
    assert kv("check", "outline", "--max-states", "1000").code == 1


def test_2_beats_all_and_comes_before_any_search(kv: Run) -> None:
    done = kv("check", "outline@incident", "nothing")

    assert done.code == 2
    assert done.out == ""


def test_1_beats_0_and_3(kv: Run) -> None:
    assert kv("check", "outline@patched", "outline@incident").code == 1
    assert kv("check", "outline@patched", "outline@incident", "--property", "no_deadlock").code == 3


def test_70_for_a_bug_of_our_own(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("kvproto.cli.check.search", broken)
    done = kv("check", "outline@incident")

    assert done.code == 70
    assert "ZeroDivisionError: a bug" in done.err
    assert "please report it" in done.err
    assert done.out == ""


@pytest.mark.parametrize("switch", ["", "off"])
def test_130_when_interrupted(here: Path, spawn: Spawn, switch: str) -> None:
    args = ("check", "outline@0.5.19", "outline@patched", "--scope", "medium", "--json", "result.json")
    terminal, side = pty.openpty()
    child = spawn(*args, env={"KVPROTO_NATIVE": switch}, stdout=subprocess.PIPE, stderr=side)
    os.close(side)
    shown = ""
    while "states/s" not in shown:
        shown += os.read(terminal, 65536).decode()
    child.send_signal(signal.SIGINT)
    err = drain(terminal)
    out, _ = child.communicate(timeout=30)

    assert child.returncode == 130
    assert "stopped: interrupted" in out
    assert "INCONCL." in out
    assert "outline@patched" not in out
    assert err.endswith("\r\033[Kinterrupted: the figures are partial\r\n")
    assert [p.name for p in here.rglob("*") if ".tmp" in p.name or ".new" in p.name] == []
    assert '"stopped": "interrupted"' in (here / "result.json").read_text()


def test_130_before_the_search(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvproto.cli.check.build", pressed)
    done = kv("check", "outline@incident")

    assert (done.code, done.err.strip()) == (130, "interrupted")
