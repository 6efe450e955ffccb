"""The error codes that replaying uses, where the catalogue has not got them yet."""

from __future__ import annotations

import pytest

from kvproto.diagnostics import CATALOGUE


@pytest.fixture(autouse=True)
def codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make KV013 and KV020 known."""
    entry = next(iter(CATALOGUE.values()))
    for code in ("KV013", "KV020"):
        if code not in CATALOGUE:
            monkeypatch.setitem(CATALOGUE, code, entry)
