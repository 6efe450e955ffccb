"""Options of `check`: what they change, and what they must not change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cli_runs import Run, Write


def result(kv: Run, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kv("check", *args, "--json", "-").out)
    return found


def figures(found: dict[str, Any]) -> object:
    properties = [(p["name"], p["verdict"], p["strength"], p["length"]) for p in found["properties"]]
    return [found[k] for k in ("states", "transitions", "depth", "complete", "stopped", "never_fired")], properties


def traces(folder: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(Path(folder).iterdir())}


MODELS = [("outline@incident",), ("kv_transfer@vulnerable", "--set", "Req=2", "--set", "Page=3")]


@pytest.mark.parametrize("target", MODELS, ids=lambda t: t[0])
def test_all_tiers_agree_to_the_byte(kv: Run, process: Run, target: tuple[str, ...]) -> None:
    fast = result(kv, *target, "--trace-dir", "fast")
    again = result(kv, *target, "--trace-dir", "again", "--seed", "12345")
    oracle = result(kv, *target, "--trace-dir", "oracle", "--engine", "reference")
    python = process("check", *target, "--trace-dir", "python", "--json", "-", env={"KVPROTO_NATIVE": "off"})
    slow = json.loads(python.out)

    assert (oracle["tier"], slow["tier"]) == ("reference", "Python")
    assert figures(fast) == figures(again) == figures(oracle) == figures(slow)
    assert traces("fast")
    assert traces("fast") == traces("again") == traces("oracle") == traces("python")


@pytest.mark.parametrize("budget", [("--max-states", "300"), ("--max-depth", "6")], ids=lambda b: b[0])
def test_all_tiers_stop_at_the_same_state(kv: Run, process: Run, budget: tuple[str, str]) -> None:
    target = ("outline@0.5.19", *budget)
    slow = json.loads(process("check", *target, "--json", "-", env={"KVPROTO_NATIVE": "off"}).out)

    assert figures(result(kv, *target)) == figures(result(kv, *target, "--engine", "reference")) == figures(slow)


@pytest.mark.parametrize("budget", ["1", "2", "10", "100", "5000"])
def test_a_state_limit_is_nearly_met(kv: Run, budget: str) -> None:
    found = result(kv, "outline@0.5.19", "--max-states", budget)

    assert found["stopped"] == "state limit"
    assert int(budget) <= found["states"] <= 2 * int(budget) + 8


def test_a_limit_that_is_never_met_changes_nothing(kv: Run) -> None:
    free = result(kv, "outline@incident")
    limits = ["--max-states", str(10**30), "--max-depth", "999", "--time-limit", "9e9", "--memory-limit", "999999G"]

    assert figures(result(kv, "outline@incident", *limits)) == figures(free)


def test_a_depth_limit_counts_levels(kv: Run) -> None:
    found = result(kv, "outline@incident", "--max-depth", "1")

    assert (found["states"], found["depth"], found["transitions"]) == (1, 1, 0)


def test_reductions_and_workers_can_be_switched_off(kv: Run) -> None:
    done = kv("check", "outline@patched", "--no-symmetry", "--no-por", "--workers", "1")

    assert done.code == 0


def test_settings(kv: Run, write: Write) -> None:
    more = ("--set", "deferred_release=ON", "--set", "prefill_pool=2", "--set", "Req=1", "--set", " checksum = yes ")
    found = result(kv, "outline@0.5.19", *more)

    assert found["parameters"]["deferred_release"] is True
    assert found["parameters"]["checksum"] is True
    assert found["parameters"]["prefill_pool"] == 2
    assert found["parameters"]["Req"] == 1


def test_the_last_of_two_settings_counts(kv: Run) -> None:
    found = result(kv, "outline@patched", "--set", "Req=2", "--set", "Req=1")

    assert found["parameters"]["Req"] == 1


def test_a_mitigation_turns_the_verdict(kv: Run) -> None:
    assert kv("check", "outline@incident", "--property", "reads_own_writes").code == 1
    fixed = result(kv, "outline@incident", "--set", "reject_at_admission=on", "--property", "reads_own_writes")

    assert [p["verdict"] for p in fixed["properties"]] == ["holds"]


def test_scopes(kv: Run) -> None:
    assert result(kv, "kv_transfer", "--scope", "M", "--max-depth", "1")["parameters"]["Page"] == 6
    assert result(kv, "outline@incident", "--scope", "small", "--max-depth", "1")["scope"] == "small"


def test_a_subset_of_the_properties(kv: Run) -> None:
    names = ("pages_conserved", "reads_own_writes")
    found = result(kv, "outline@incident", "--property", names[0], "--property", names[1], "--property", names[0])

    assert {p["name"] for p in found["properties"]} == set(names)
    assert len(found["properties"]) == 2


def test_the_search_ends_once_every_property_is_violated_unless_it_is_to_go_on(kv: Run) -> None:
    one = ("outline@incident", "--property", "reads_own_writes")
    early, late = result(kv, *one), result(kv, *one, "--keep-going")

    assert early["stopped"] == "every selected property is violated"
    assert late["complete"]
    assert early["states"] < late["states"] == result(kv, "outline@incident")["states"]
    assert early["properties"] == late["properties"]


def test_quiet_prints_what_does_not_hold(kv: Run) -> None:
    assert kv("check", "outline@patched", "--quiet").out == ""
    out = kv("check", "outline@incident", "-q").out

    assert out.startswith("outline@incident")
    assert "VIOLATED  reads_own_writes" in out
    assert "pages_conserved" not in out
    assert "INCONCL." in kv("check", "outline@patched", "-q", "--max-depth", "2").out


def test_the_trace_folder(kv: Run, here: Path) -> None:
    kv("check", "outline@incident", "--trace-dir", "deep/er")

    assert len(traces("deep/er")) == 3
    assert not (here / ".kvproto").exists()


@pytest.mark.parametrize("place", ["model.py", "model.py/x", "a\0b"])
def test_a_trace_folder_that_cannot_be(kv: Run, write: Write, place: str) -> None:
    write()
    done = kv("check", "outline@incident", "--trace-dir", place)

    assert done.code == 2
    assert done.err.startswith("error KV014")
    assert done.out == ""


def test_a_disk_that_fills_up(kv: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = kv("check", "outline@incident")

    assert done.code == 2
    assert done.err.startswith("error KV014")
    assert "no space left on device" in done.err
    assert list((here / ".kvproto" / "traces").iterdir()) == []
