"""Makes the helpers of these tests importable, and those that load models from text."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("liveness", "differential"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))
