"""Puts the helper modules of these tests, and of the differential tests, where they can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent

for folder in (HERE, HERE.parent / "differential"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
