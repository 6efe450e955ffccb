"""Claims that are exported are judged by SPIN as by us."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from export_models import STUCK, text_of
from export_runs import every_state, model_in, needs_spin, shipped, spun

from kvproto.export.promela.model import export
from kvproto.ir.nodes import System


def same_verdicts(system: System, folder: Path) -> dict[str, str]:
    """Each claim by itself, in SPIN and here; gives the verdicts."""
    ours = {f.claim.name: f.verdict for f in every_state(system).findings}
    for claim in system.claims:
        place = folder / claim.name
        place.mkdir()
        found = spun(replace(system, claims=(claim,)), place, properties=True)
        assert (claim.name, ours[claim.name]) == (claim.name, "violated" if found.errors else "holds")
    return ours


@pytest.mark.parametrize(("target", "scope"), [("kv_transfer@vulnerable", "S"), ("kv_transfer@safe", "S")])
def test_invariants(target: str, scope: str, tmp_path: Path) -> None:
    needs_spin()
    verdicts = same_verdicts(shipped(target, scope), tmp_path)

    assert set(verdicts.values()) == ({"holds"} if target.endswith("safe") else {"violated"})


@pytest.mark.slow
def test_shipped_outline(tmp_path: Path) -> None:
    needs_spin()
    assert "violated" in same_verdicts(shipped("outline@incident", "incident"), tmp_path).values()


CLAIMS = '''
@invariant("")
def few(s):
    return s.n < 5

@invariant("")
def fewer(s):
    return s.n < 4 or len(s.seen) == 0

def over(s):
    return s.n == 0
'''


@pytest.mark.parametrize("more", ["", ", deadlock=True", ", terminal=over"])
def test_assertions_and_deadlocks(more: str, tmp_path: Path) -> None:
    needs_spin()
    system = model_in(text_of("assertions that fail are no steps", CLAIMS, more), tmp_path)
    verdicts = same_verdicts(system, tmp_path)

    assert ("fewer", "violated") in verdicts.items()
    assert ("up.assert1", "violated") in verdicts.items()


@pytest.mark.parametrize(("more", "verdict"), [("terminal=over", "holds"), ("deadlock=True", "violated")])
def test_a_step_that_fails_is_no_deadlock(more: str, verdict: str, tmp_path: Path) -> None:
    """In the state n = 1, low only `check` could happen, and fails; that is a step, whoever asks for the assertion."""
    needs_spin()
    system = model_in(f'{STUCK}\nmodel = Model("stuck", "", state=State, parts=[__name__], {more})\n', tmp_path)

    assert verdict == same_verdicts(system, tmp_path)["no_deadlock"]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    claim = '@sometimes("")\ndef much(s):\n    return s.n == 5\n'
    system = model_in(text_of("assertions that fail are no steps", claim), tmp_path)

    assert "Not in this file: much (sometimes)" in export(system, properties=True).text
    assert "Not in this file" not in export(system).text
