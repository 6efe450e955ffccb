"""Passes: pure functions from a system to a system, applied in the order of `PIPELINE`."""

from __future__ import annotations

from collections.abc import Callable

from kvproto.ir.nodes import System
from kvproto.passes.fold import fold

PIPELINE: tuple[Callable[[System], System], ...] = (fold,)


def run(system: System) -> System:
    """The system after all passes."""
    for step in PIPELINE:
        system = step(system)
    return system
