"""A deliberately wrong implementation is caught by a replay: every mistake, at its step, in its variable."""

from __future__ import annotations

import pytest
from seeded_mistakes import MISTAKES, Mistake

from kvproto.replay import replay

CASES = [
    pytest.param(mistake, backend, id=f"{mistake.name}-{backend}")
    for mistake in MISTAKES
    for backend in mistake.backends
]


def test_there_are_enough_mistakes_of_all_kinds() -> None:
    """More than ten, each with a name of its own, on both backends."""
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) > 20
    assert {"numpy", "torch"} == {backend for mistake in MISTAKES for backend in mistake.backends}


@pytest.mark.parametrize(("mistake", "backend"), CASES)
def test_a_mistake_is_caught_at_its_step(mistake: Mistake, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "torch":
        pytest.importorskip("torch")
    trace = mistake.trace()
    assert replay(trace, xp=backend).agrees

    mistake.break_it(monkeypatch)
    result = replay(trace, xp=backend)
    found = result.divergence

    assert found is not None
    assert (mistake.step, mistake.action, mistake.path) == (found.step, found.action, found.path)
    assert (mistake.model, mistake.here) == (found.model, found.implementation)
    assert not result.agrees
    assert mistake.step == result.performed == len(result.pages) - 1
    assert trace.steps[mistake.step - 1].action == mistake.action.partition("(")[0]
