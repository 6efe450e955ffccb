"""Puts the helper modules of these tests, and those of others that they use, where they can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent

for folder in (HERE, *(HERE.parent / name for name in ("corpus", "differential", "engine", "symmetry"))):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
