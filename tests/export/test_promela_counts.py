"""SPIN stores as many states of an exported model as there are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from export_models import MODELS, text_of
from export_runs import OPTIMISED, QUICK, every_state, model_in, needs_spin, shipped, spun, without_claims
from random_models import write

from kvproto.diagnostics import KvError

slow = pytest.mark.slow

SHIPPED = {
    ("kv_transfer@safe", "S"): 25502,
    ("kv_transfer@vulnerable", "S"): 40899,
    ("kv_transfer@safe", "M"): 170320,
    ("kv_transfer@vulnerable", "M"): 8455749,
    ("sglang@0.5.19", "small"): None,
    ("sglang@0.5.20", "small"): None,
    ("sglang@0.5.21", "small"): None,
    ("sglang@0.5.22", "small"): None,
    ("sglang@0.5.23", "small"): None,
    ("sglang@incident-patched", "small"): None,
    ("sglang@patched", "small"): None,
    ("sglang@hardened", "small"): None,
    ("sglang@tagged", "small"): None,
    ("sglang@0.5.23", "fan-out"): None,
    ("sglang@0.5.23", "fan-in"): None,
    ("sglang@incident", "incident"): None,
    ("outline@0.5.19", "small"): None,
    ("outline@0.5.20", "small"): None,
    ("outline@0.5.21", "small"): None,
    ("outline@patched", "small"): None,
    ("outline@incident", "incident"): None,
}
"""Every shipped model, with the number of states where it is known."""

LARGE = ("kv_transfer@vulnerable", "M")


@pytest.mark.parametrize(("target", "scope"), [*(s for s in SHIPPED if s != LARGE), pytest.param(*LARGE, marks=slow)])
def test_shipped_models(target: str, scope: str, tmp_path: Path) -> None:
    needs_spin()
    system = shipped(target, scope)
    ours = every_state(system)
    found = spun(system, tmp_path, compiling=OPTIMISED if (target, scope) == LARGE else QUICK)

    assert (ours.states, ours.transitions, 0) == (found.states, found.transitions, found.errors)
    assert SHIPPED[target, scope] in (None, found.states)


@pytest.mark.parametrize("title", MODELS)
def test_small_models(title: str, tmp_path: Path) -> None:
    needs_spin()
    system = without_claims(model_in(text_of(title), tmp_path))
    found = spun(system, tmp_path)

    assert (every_state(system).states, 0) == (found.states, found.errors)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_models(seed: int, tmp_path: Path) -> None:
    """Where the model itself goes wrong, SPIN finds an error as well."""
    needs_spin()
    dice = random.Random(seed)
    try:
        system = without_claims(model_in(write(dice.randint), tmp_path))
        states, wrong = every_state(system).states, False
    except KvError as problem:
        if not problem.diagnostic.code.startswith("KV2"):
            pytest.skip(f"no model to search: {problem.diagnostic.code}")
        states, wrong = 0, True
    found = spun(system, tmp_path)

    assert (found.errors > 0) == wrong
    assert wrong or states == found.states
