"""What the differential tests of both models demand of a replay."""

from __future__ import annotations

from kvproto.replay import replay
from kvproto.trace.trace import Trace


def assert_agrees(trace: Trace, known: int | None) -> None:
    """Replay, and demand agreement after every step, or the one known difference at just that step."""
    result = replay(trace)
    if known is None:
        assert result.divergence is None, str(result.divergence)
        assert result.performed == len(trace.steps)
    else:
        assert result.divergence is not None
        assert known == result.divergence.step
