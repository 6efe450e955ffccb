"""Copies in lanes: the same outcome as the script, also for whole traces; and what only a card can show."""

from __future__ import annotations

from pathlib import Path

import pytest
from transport_pages import fill

pytest.importorskip("torch")

import torch

from kvproto.diagnostics import KvError
from kvproto.reference.array import namespace
from kvproto.reference.pages import Memory
from kvproto.replay import replay
from kvproto.trace import codec
from kvproto.transports import Move, Scripted
from kvproto.transports.stream_lanes import Driver
from kvproto.transports.streams import Streams

TRACES = sorted((Path(__file__).parents[2] / "traces").glob(f"*{codec.SUFFIX}"))

card = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=card)])
def device(request: pytest.FixtureRequest) -> str:
    """Where the tensors lie."""
    return str(request.param)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(codec.SUFFIX))
def test_a_trace_goes_as_it_does_with_the_script(path: Path, device: str) -> None:
    trace, arrays = codec.read(path), namespace("torch", device=device)
    streams, script = Streams(), Scripted()
    try:
        result = replay(trace, xp=arrays, mover=streams)
    finally:
        streams.close()

    assert result.divergence is None, str(result.divergence)
    assert result == replay(trace, xp=arrays, mover=script)
    assert streams.log == script.log


def memories(device: str) -> tuple[Streams, Memory, Memory]:
    """An open transport, a source whose page 0 spells a, and a blank target."""
    arrays = namespace("torch", device=device)
    source, target = Memory(2, arrays), Memory(2, arrays)
    fill(source, 0, "a", tag=1)
    streams = Streams()
    streams.open({"source": source, "target": target})
    return streams, source, target


def test_what_is_held_at_the_end_never_arrives(device: str) -> None:
    streams, _, target = memories(device)
    streams.post([Move("page", "source", 0, "target", 0)])
    streams.close()

    assert not target.keys.any() and not target.tags.any()


def test_a_part_copies_its_bytes_alone(device: str) -> None:
    """Seven bytes: a key and three quarters of the next one."""
    streams, source, target = memories(device)
    (write,) = streams.post([Move("page", "source", 0, "target", 0)])
    streams.land(write, 7)
    there, here = (memory.keys[0].flatten().view(torch.uint8).tolist() for memory in (target, source))
    streams.close()

    assert here[:7] + [0] * (len(here) - 7) == there


def test_rehearsing_changes_nothing(device: str) -> None:
    streams, source, target = memories(device)
    streams.close()

    assert source.keys[0].any() and not source.keys[1].any() and not target.keys.any()
    assert [1, 0] == source.tags.tolist()


def test_arrays_of_numpy_are_refused() -> None:
    memory = Memory(1, namespace("numpy"))

    with pytest.raises(KvError, match="held by numpy") as caught:
        Streams().open({"source": memory, "target": memory})
    assert "KV050" == caught.value.diagnostic.code


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr("kvproto.transports.stream_lanes.ctypes.CDLL", missing)
    with pytest.raises(KvError, match="libcuda") as caught:
        Driver()
    assert "KV050" == caught.value.diagnostic.code


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_the_card_goes_on_while_a_copy_is_in_flight() -> None:
    """Another stream computes and is waited for; the copy is handed over, has not happened, and happens when let go."""
    streams, source, target = memories("cuda")
    (write,) = streams.post([Move("page", "source", 0, "target", 0)])
    done = streams._flights[write].lane._done
    fill(target, 1, "b", tag=2)
    torch.cuda.current_stream().synchronize()

    assert not done.query()
    assert not target.keys[0].any() and target.keys[1].any()
    fill(source, 0, "z", tag=3)
    streams.land(write)
    assert done.query()
    assert torch.equal(source.values[0], target.values[0])
    assert [3, 2] == target.tags.tolist()
    streams.close()
