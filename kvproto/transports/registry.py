"""Transports by name."""

from __future__ import annotations

from collections.abc import Callable

from kvproto.diagnostics import KvError
from kvproto.transports.base import Transport


def _scripted(early_success: bool) -> Transport:
    from kvproto.transports.scripted import Scripted

    return Scripted(early_success=early_success)


def _mooncake(early_success: bool) -> Transport:
    from kvproto.transports.mooncake import Mooncake

    return Mooncake(framing=1 if early_success else 2)


def _mooncake_wire(early_success: bool) -> Transport:
    from kvproto.transports.mooncake import Mooncake

    return Mooncake(framing=1 if early_success else 2, engine_sends=False)


def _nixl(early_success: bool) -> Transport:
    from kvproto.transports.nixl import Nixl

    if early_success:
        raise KvError(
            "KV026",
            "--early-success says nothing about nixl",
            reason="NIXL reports a transfer as done after its bytes have arrived, and cannot be made to do otherwise",
            cure="take --transport mooncake, mooncake-wire or scripted, or leave --early-success out",
        )
    return Nixl()


def _streams(early_success: bool) -> Transport:
    from kvproto.transports.streams import Streams

    return Streams(early_success=early_success)


TRANSPORTS: dict[str, Callable[[bool], Transport]] = {
    "scripted": _scripted,
    "mooncake": _mooncake,
    "mooncake-wire": _mooncake_wire,
    "nixl": _nixl,
    "streams": _streams,
}
"""Name -> how one is made; the argument says whether a sender is told of success before its bytes have arrived."""


def make(name: str, *, early_success: bool = False) -> Transport:
    """A transport that has taken no memories yet.  Raises `KvError` where it does not run on this machine."""
    return TRANSPORTS[name](early_success)
