"""Models of published results, exported: SPIN finds the published numbers as well."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from export_runs import needs_spin, spun, without_claims

from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find

CORPUS = Path(__file__).parent.parent / "corpus"

NAMES = [
    "alternating_bit",
    "chang_roberts",
    "coffee_can",
    "distributed_log",
    "ewd426",
    "ewd840",
    "game_of_life",
    "inner_fifo",
    "lock_hs",
    "loops",
    "paxos",
    "readers_writers",
    "real_time_hour_clock",
    "simple_allocator",
    "two_phase",
]
"""Those that use most of the language: queues, records, sets of messages, constraints, subsets, many starts."""

MOST = 70_000


def module(name: str) -> dict[str, Any]:
    """What stands in the file of a model."""
    path = str(CORPUS / f"{name}.py")
    find(path)
    return next(vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", None) == path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_corpus(name: str, tmp_path: Path) -> None:
    needs_spin()
    found = module(name)
    settings = [expect for expect in found["EXPECTED"] if expect.states <= MOST]

    assert settings
    for number, expect in enumerate(settings):
        model = found[expect.model]
        chosen = choose(model, preset=expect.preset, scope=expect.scope, sets=expect.sets)
        place = tmp_path / str(number)
        place.mkdir()
        counted = spun(without_claims(build(model, chosen)), place)
        assert (expect.states, 0) == (counted.states, counted.errors)
