"""State counts of the benchmark protocol, which four other model checkers confirm."""

from __future__ import annotations

import pytest
from kvproto.shipped.models import kv_transfer
from searching import search, tiers

from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.reference import explore
from kvproto.engine.tier0 import PythonExplorer
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build

SMALL = {"safe": (25502, 108459, 25, 0), "vulnerable": (40899, 166839, 25, 12492)}
"""States, transitions, levels, violating states."""

LARGER = {
    ("M", "safe"): (170320, 752876, 37, 0),
    ("L", "safe"): (1329372, 6355095, 46, 0),
}


def benchmark(preset: str, scope: str) -> System:
    """The protocol at a size."""
    return build(kv_transfer.model, choose(kv_transfer.model, preset=preset, scope=scope))


@pytest.mark.parametrize("preset", SMALL)
def test_reference(preset: str) -> None:
    """The oracle itself."""
    found = explore(benchmark(preset, "S"))
    assert (len(found.order), found.transitions, found.depth, found.violating) == SMALL[preset]
    shortest = {name: len(found.path(state)) for name, (state, _) in found.violated.items()}
    assert shortest == ({} if preset == "safe" else {"no_stray": 6, "own_data": 12})
    assert found.error is None


@pytest.mark.parametrize("preset", SMALL)
@pytest.mark.parametrize("tier", tiers(), ids=lambda tier: tier.tier)
def test_small(tier: type[PythonExplorer] | type[CExplorer], preset: str) -> None:
    """The compiled tiers, with their shortest counterexamples."""
    searched = search(benchmark(preset, "S"), tier)
    assert searched is not None
    explorer = searched.explorer
    counts = explorer.states(), explorer.transitions(), explorer.level(), explorer.violating_states()
    assert counts == SMALL[preset]
    lengths = {}
    for number, claim in enumerate(searched.lowered.invariants):
        state = explorer.violation(number)
        if state is not None:
            lengths[claim.name] = len(explorer.path(state)[1])
    assert lengths == ({} if preset == "safe" else {"no_stray": 6, "own_data": 12})


@pytest.mark.skipif(CExplorer not in tiers(), reason="the C tier does not work here")
@pytest.mark.parametrize(("scope", "preset"), LARGER)
def test_larger(scope: str, preset: str) -> None:
    """The sizes that only the C tier reaches in a moment."""
    searched = search(benchmark(preset, scope), CExplorer, unpacked=False)
    assert searched is not None
    explorer = searched.explorer
    counts = explorer.states(), explorer.transitions(), explorer.level(), explorer.violating_states()
    assert counts == LARGER[scope, preset]
    assert not explorer.faults()
