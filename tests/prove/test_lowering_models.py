"""The formulas of shipped models take the steps that the evaluator takes."""

from __future__ import annotations

import pytest
from lowering_agreement import agree, random_states

from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find, proofs
from kvproto.prove.lowering.system import lower
from kvproto.prove.worlds.instances import reachable

PATTERNS = (
    "patterns.abort_not_told@bug",
    "patterns.cleanup_by_message@bug",
    "patterns.deferred_push@held-only",
    "patterns.lost_wakeup@bug",
    "patterns.source_lease@verified",
)
"""Models that nobody wrote to be proved, with choices of a first page, loops over sets and records."""

EACH = 6
"""States of each kind that are compared for a preset."""


def targets() -> list[str]:
    """The first two presets of each model to be proved, the last one, and some patterns."""
    found = []
    for name in proofs():
        presets = [preset.name for preset in find(name).model.presets]
        found += [f"{name}@{preset}" for preset in dict.fromkeys([*presets[:2], presets[-1]])]
    return [*found, *PATTERNS]


@pytest.mark.parametrize("name", targets())
def test_formulas_take_the_steps_of_the_model(name: str) -> None:
    target = find(name)
    chosen = choose(target.model, preset=target.preset)
    lowered = lower(target.model, chosen)
    system = build(target.model, chosen)
    states = reachable(system, 2000)
    step = max(1, len(states) // EACH)
    exact = not any("where the model takes the first" in text for text in lowered.theory.assumptions)

    compared = agree(lowered, system, [*states[::step], *random_states(system, 1, EACH)], exact=exact)

    assert compared.states >= EACH
    assert compared.successors > 0
