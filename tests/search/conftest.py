"""Makes the helpers of these tests importable, and those that make random models."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

for folder in (HERE, HERE.parent / "differential"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """`make(text, **fields)`: the system of a small model with that text."""
    from small_models import written

    monkeypatch.setattr(sys, "path", list(sys.path))
    return written(tmp_path)
