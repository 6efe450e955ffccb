"""Small models from text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_models import written


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """`make(text, **fields)`: the system of a small model with that text."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    return written(tmp_path)
