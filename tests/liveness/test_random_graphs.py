"""On random graphs the fast check and the definition agree, in every tier."""

from __future__ import annotations

from graphs import Drawing, drawings, system_of
from hypothesis import HealthCheck, event, given, settings
from living import everywhere

from kvproto.engine.liveness.lasso import confirm
from kvproto.engine.liveness.reference import find_lasso
from kvproto.ir.verify import verify

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=300)


@relaxed
@given(drawings())
def test_the_check_agrees_with_the_definition(drawing: Drawing) -> None:
    system = verify(system_of(drawing))

    for claim, finding in zip(system.claims, everywhere(system), strict=True):
        meant = find_lasso(system, claim)
        event(f"{claim.kind} {finding.verdict}")
        assert ("holds" if meant is None else "violated") == finding.verdict, claim
        if meant is not None and finding.lasso is not None:
            confirm(system, claim, meant)
            assert meant.args == finding.lasso.args
