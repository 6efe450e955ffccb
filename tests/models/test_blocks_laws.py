"""What the building blocks say beyond their presets, against laws that were worked out by hand; and against SPIN."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from export_runs import every_state, needs_spin, shipped, spun, without_claims

from kvproto.engine.search import Options, search
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import building_blocks, find


def holds(block: str, name: str, **sets: bool | int) -> bool:
    """Whether a property holds in `right` with these parameters."""
    model = find(block).model
    result = search(build(model, choose(model, preset="right", sets=sets)), Options(properties=(name,)))
    return "holds" == result.finding(name).verdict


@pytest.mark.parametrize(("gate", "compares", "clears", "held"), list(product((False, True), repeat=4)))
def test_a_row_is_compared_or_was_never_anybody_elses(gate: bool, compares: bool, clears: bool, held: bool) -> None:
    """Comparing is enough by itself; without it each way in which another number can stand there has to be shut.

    But a comparison that fails refuses somebody who did nothing wrong: it is harmless only if it never fails.
    """
    sets = {"gate": gate, "compares": compares, "clears": clears, "holds": held}
    shut = gate and clears and held

    assert (compares or shut) == holds("blocks.metadata_rows", "own_row", **sets)
    assert (not compares or shut) == holds("blocks.metadata_rows", "none_wronged", **sets)


@pytest.mark.parametrize(("early", "marks", "poisons", "numbered"), list(product((False, True), repeat=4)))
def test_an_acknowledgement_needs_all_three(early: bool, marks: bool, poisons: bool, numbered: bool) -> None:
    sets = {"counts_early": early, "marks_first": marks, "poisons": poisons, "numbered": numbered}

    assert (early and marks and poisons) == holds("blocks.deferred_release", "ack_means_quiet", **sets)
    assert numbered == holds("blocks.deferred_release", "ack_fits", **sets)


def longest(*, bounded: bool, rechecks: bool, batches: int, call: int, notice: int) -> int:
    """Ticks from an abort to the last write, at most, if the abort comes as the first call begins."""
    if not bounded or not rechecks:
        return batches * call
    # The last call begins just before prefill hears of the abort, unless there is none left to begin by then.
    return min(notice, (batches - 1) * call) + call


@pytest.mark.parametrize(("bounded", "rechecks"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("batches", "call", "notice"), [(1, 2, 1), (2, 1, 0), (2, 1, 3), (2, 2, 1), (3, 2, 3)])
@pytest.mark.parametrize("drift", [0, 2])
def test_a_hold_outlasts_the_last_write_and_the_drift(
    bounded: bool, rechecks: bool, batches: int, call: int, notice: int, drift: int
) -> None:
    """The limit that is just long enough holds; one tick less does not."""
    at_most = drift + longest(bounded=bounded, rechecks=rechecks, batches=batches, call=call, notice=notice)
    sets = {"bounded": bounded, "rechecks": rechecks, "batches": batches, "call_limit": call, "notice": notice}

    for limit, enough in ((at_most + 1, True), (at_most, False)):
        assert enough == holds("blocks.timers", "freed_after_the_last_write", hold_limit=limit, drift=drift, **sets)


@pytest.mark.parametrize(("batches", "call", "drift"), [(1, 1, 0), (2, 1, 1), (2, 3, 0), (3, 2, 2)])
def test_patience_outlasts_all_calls_and_the_drift(batches: int, call: int, drift: int) -> None:
    """Small batches do not shorten the transfer."""
    sets = {"batches": batches, "call_limit": call, "drift": drift}
    for patience, enough in ((batches * call + drift + 1, True), (batches * call + drift, False)):
        assert enough == holds("blocks.timers", "patience_outlasts_calls", patience=patience, **sets)


@pytest.mark.parametrize("block", building_blocks())
def test_spin_finds_as_many_states(block: str, tmp_path: Path) -> None:
    needs_spin()
    system = without_claims(shipped(f"{block}@right", find(block).model.scopes[0].name))
    found = spun(system, tmp_path)

    assert (every_state(system).states, 0) == (found.states, found.errors)
