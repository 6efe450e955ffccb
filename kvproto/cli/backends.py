"""What holds the tensors of a replay: `--backend` and `--device`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from kvproto.diagnostics import KvError
from kvproto.reference.array import NAMESPACES, Arrays, namespace
from kvproto.reference.paged.libraries import DEVICES, has_cuda
from kvproto.replay.adapters import arrays_of

OPTIONS = (
    click.option("--backend", type=click.Choice(NAMESPACES), help="What holds the tensors: numpy (default) or torch."),
    click.option("--device", type=click.Choice(DEVICES), help="Where they lie; means --backend torch."),
)


def with_backend(command: Callable[..., int]) -> Callable[..., int]:
    """Add the two options to a command that replays a trace; it is given the tensor operations, `xp`, instead."""

    @functools.wraps(command)
    def given_arrays(backend: str | None, device: str | None, **given: Any) -> int:
        return command(xp=chosen_arrays(backend, device), **given)

    for option in reversed(OPTIONS):
        given_arrays = option(given_arrays)
    return given_arrays


def chosen_arrays(backend: str | None, device: str | None) -> Arrays:
    """The tensor operations that were asked for.  Without a CUDA device the CPU does, and standard error says so."""
    if device is None:
        return arrays_of(backend or "numpy")
    if backend == "numpy":
        raise KvError(
            "KV026",
            "--device says nothing with --backend numpy",
            reason="NumPy arrays lie in main memory",
            cure="leave --device out, or give --backend torch",
        )
    if device == "cuda" and not has_cuda():
        click.echo("no CUDA device here: tensors lie on the CPU", err=True)
        device = "cpu"
    return namespace("torch", device=device)
