"""Minimising ends with the limit of time, and Ctrl-C loses nothing that was found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kvproto.whatif.minimise import minimise

if TYPE_CHECKING:
    import pytest
    from cli_runs import Run


def test_ctrl_c_keeps_what_was_found(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def stopped(model: Any, world: Any, budget: Any) -> Any:
        calls.append(world.found.claim.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return minimise(model, world, budget)

    monkeypatch.setattr("kvproto.cli.minimising.minimise", stopped)
    done = kv("check", "outline@incident", "--minimise", "--json", "out.json")
    assert done.code == 130
    assert "minimising was interrupted" in done.out
    with open("out.json", encoding="utf-8") as file:
        told = json.load(file)
    violated = [p for p in told["properties"] if p["verdict"] == "violated"]
    assert len(violated) > 1
    assert all(p["trace"] for p in violated)


def test_the_limit_of_time_is_for_each_run(kv: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    monkeypatch.setattr("kvproto.cli.minimising.minimise", lambda model, world, budget: limits.append(budget.seconds))
    kv("check", "outline@incident", "--minimise", "--time-limit", "60", "--property", "reads_own_writes")
    assert limits == [60]
