"""Every recorded counterexample happens on tensors as it does in its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvproto.reference.array import Arrays, namespace
from kvproto.replay import replay
from kvproto.replay.adapters import ADAPTERS
from kvproto.trace import codec

TRACES = Path(__file__).parent.parent.parent / "traces"
RECORDED = sorted(TRACES.glob(f"*{codec.SUFFIX}"))


def test_there_are_recorded_traces() -> None:
    assert {"outline", "sglang"} <= {codec.read(path).model for path in RECORDED} <= set(ADAPTERS)


@pytest.fixture(
    params=[
        ("numpy", "cpu"),
        ("torch", "cpu"),
        pytest.param(("torch", "cuda"), marks=pytest.mark.gpu),
    ],
    ids="-".join,
)
def arrays(request: pytest.FixtureRequest) -> Arrays:
    """What holds the tensors."""
    backend, device = request.param
    if backend == "torch":
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
    return namespace(backend, device=device)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(codec.SUFFIX))
def test_recorded_traces_replay_without_a_difference(path: Path, arrays: Arrays) -> None:
    trace = codec.read(path)
    result = replay(trace, xp=arrays)

    assert result.divergence is None, str(result.divergence)
    assert result.performed == len(trace.steps)
    assert (arrays.backend, arrays.device) == (result.backend, result.device)


def test_both_backends_read_the_same() -> None:
    """Texts of pages after every step, and answers, are the same to the last character."""
    pytest.importorskip("torch")
    trace = codec.read(TRACES / "outline-incident-reads_no_foreign_data.trace.json")
    one, other = (replay(trace, xp=backend) for backend in ("numpy", "torch"))

    assert one.pages == other.pages
    assert one.answers == other.answers
    assert one.canaries == other.canaries != ()
