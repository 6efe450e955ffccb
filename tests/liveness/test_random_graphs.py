"""On random graphs the fast check and the definition agree, in every tier."""

from __future__ import annotations

import pytest
from graphs import Drawing, drawings, system_of
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from living import everywhere, explored, lowered

from kvproto.engine.liveness import check, confirm
from kvproto.engine.liveness.reference import find_lasso
from kvproto.ir.verify import verify

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=100)


@relaxed
@given(drawings())
def test_the_check_agrees_with_the_definition(drawing: Drawing) -> None:
    agree(drawing)


@pytest.mark.slow
@settings(relaxed, max_examples=1000)
@given(drawings(9))
def test_the_check_agrees_with_the_definition_many_times(drawing: Drawing) -> None:
    agree(drawing)


def agree(drawing: Drawing) -> None:
    """Same verdict, for the same choice of parameters; both runs are confirmed."""
    system = verify(system_of(drawing))

    for claim, finding in zip(system.claims, everywhere(system), strict=True):
        meant = find_lasso(system, claim)
        event(f"{claim.kind} {finding.verdict}")
        assert ("holds" if meant is None else "violated") == finding.verdict, claim
        if meant is not None and finding.lasso is not None:
            confirm(system, claim, meant)
            assert meant.args == finding.lasso.args


@relaxed
@given(drawings(9), st.integers(1, 6))
def test_a_search_that_is_cut_short_says_nothing_wrong(drawing: Drawing, most: int) -> None:
    """A run that is found is one (or it would not be confirmed); nothing holds unless all is known."""
    system = system_of(drawing)
    program = lowered(system)
    explorer = explored(system, program, most=most)
    assert explorer is not None
    everything = explorer.frontier() == 0

    for claim, finding in zip(system.claims, check(system, program, explorer, system.claims), strict=True):
        meant = "holds" if find_lasso(system, claim) is None else "violated"
        event(f"{finding.verdict}, {'all' if everything else 'part'}")
        assert finding.verdict in ((meant,) if everything else (meant, "inconclusive"))
        assert everything or finding.verdict != "holds"
