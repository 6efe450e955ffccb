"""Every recorded counterexample happens on tensors as it does in its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvproto.replay import replay
from kvproto.replay.adapters import ADAPTERS
from kvproto.trace import codec

TRACES = Path(__file__).parent.parent.parent / "traces"
RECORDED = sorted(TRACES.glob(f"*{codec.SUFFIX}"))


def test_there_are_recorded_traces() -> None:
    assert {"outline", "sglang"} <= {codec.read(path).model for path in RECORDED} <= set(ADAPTERS)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(codec.SUFFIX))
def test_recorded_traces_replay_without_a_difference(path: Path) -> None:
    trace = codec.read(path)
    result = replay(trace)

    assert result.divergence is None, str(result.divergence)
    assert result.performed == len(trace.steps)
