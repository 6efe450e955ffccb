"""NumPy and PyTorch hold the same run: pages after every step, answers, canaries, verdict, whatever the schedule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import outline_walks
import pytest
import sglang_walks

pytest.importorskip("torch")

import torch

from kvproto.reference.array import namespace
from kvproto.replay import ReplayResult, replay
from kvproto.trace.trace import Trace

CHECKS = ("checksum", "carried_tags", "zero_on_release", "page_tags")
"""Switches whose work is done on the device, or beside it."""

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
        ],
    ),
]


def outline(seed: int) -> Iterator[Trace]:
    """Walks of the small model, with one of the checks on."""
    rng = random.Random(seed)
    for check in CHECKS:
        walk = outline_walks.Walk(outline_walks.random_parameters(rng) | {check: True})
        walk.wander(rng, 60)
        yield walk.trace()


def sglang(seed: int) -> Iterator[Trace]:
    """Walks of the large model with two slices of every page, or two decode ranks, and one of the checks on."""
    rng = random.Random(seed)
    for scope, check in zip(("fan-in", "fan-out", "large", "chunks"), CHECKS, strict=True):
        settings = sglang_walks.random_settings(rng) | {check: True}
        yield sglang_walks.Walk(scope, **settings).wander(rng, 50).trace()


def unnamed(result: ReplayResult) -> ReplayResult:
    """A result without what held the tensors."""
    return replace(result, backend="", device="")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("walks", "seeds"), [(outline, range(4)), (sglang, range(2))])
def test_random_walks_go_the_same_way(walks: Callable[[int], Iterator[Trace]], seeds: range, device: str) -> None:
    arrays, read = namespace("torch", device=device), 0
    for trace in (trace for seed in seeds for trace in walks(seed)):
        one, other = replay(trace), replay(trace, xp=arrays)

        assert unnamed(one) == unnamed(other)
        assert ("numpy", "torch") == (one.backend, other.backend)
        read += sum(bool(view.read) for view in one.answers.values())
    # Else the walks would say nothing of attention and of the checks in front of it.
    assert read > 2
