"""Refusing traces that are none of the model's."""

from __future__ import annotations

from typing import NoReturn

from kvproto.diagnostics import KvError


def misfit(message: str, *, reason: str, cure: str = "record the trace again with this version") -> NoReturn:
    """Refuse a trace that is not one of its model's."""
    raise KvError("KV013", f"the trace does not fit the model: {message}", reason=reason, cure=cure)


def shown(value: object) -> str:
    """A value from a file for a message: escaped, and not longer than it is worth."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
