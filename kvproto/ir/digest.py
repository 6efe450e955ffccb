"""The digest of a system: same printed IR, same digest.  Places, comments and names of presets do not count."""

from __future__ import annotations

import hashlib

from kvproto.ir.nodes import System
from kvproto.ir.printer import show_system


def digest(system: System) -> str:
    """16 hexadecimal digits of SHA-256 over the system as text."""
    lines = [system.model, *show_system(system)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
