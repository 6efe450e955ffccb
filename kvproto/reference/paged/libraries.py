"""PyTorch and Triton, imported once they are needed, with errors that name what to install."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from kvproto.diagnostics import KvError

DEVICES = ("cpu", "cuda")
"""Devices that can be named."""


def torch() -> Any:
    """The module `torch`; raises KV050 where it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError as missing:
        raise KvError(
            "KV050",
            f"tensors on a device need PyTorch, which cannot be imported: {missing}",
            reason="kvproto itself computes with NumPy; PyTorch is an extra",
            cure="pip install 'kvproto[replay]', or replay on NumPy",
        ) from None


def has_cuda() -> bool:
    """Whether PyTorch sees a CUDA device."""
    return bool(torch().cuda.is_available())


def device_named(name: str) -> Any:
    """The `torch.device` of that name; a CUDA device that is not there is KV050 too."""
    if name not in DEVICES:
        raise ValueError(f"{name!r} is none of {', '.join(DEVICES)}")
    if name == "cuda" and not has_cuda():
        raise KvError(
            "KV050",
            "there is no CUDA device here",
            reason="either the machine has none, or this build of PyTorch is one for CPUs",
            cure="use --device cpu",
        )
    return torch().device(name)


def device_label(device: Any) -> str:
    """A device as one reads it in a table: the name of the card, or of the kind."""
    if device.type == "cuda":
        return f"cuda ({torch().cuda.get_device_name(device)})"
    return str(device.type)


@cache
def kernels() -> Any:
    """The module with the Triton kernels; raises KV051 where Triton cannot be imported."""
    try:
        return importlib.import_module("kvproto.reference.paged.kernel")
    except ImportError as missing:
        raise KvError(
            "KV051",
            f"the paged attention kernel needs Triton, which cannot be imported: {missing}",
            reason="builds of PyTorch for CUDA bring Triton; others do not",
            cure="pip install triton, or take the plain path",
        ) from None


def interpreted() -> bool:
    """Whether Triton runs kernels in its interpreter, on the CPU."""
    return bool(kernels().triton.knobs.runtime.interpret)


def has_triton() -> bool:
    """Whether the kernels can be imported."""
    try:
        kernels()
    except KvError:
        return False
    return True
