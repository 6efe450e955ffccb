"""The digest of a system: same meaning as far as text can tell, same digest; places and comments do not count."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from kvproto.ir.nodes import System

IGNORED = frozenset({"loc", "doc", "cites", "text", "message", "sources", "preset", "scope", "switched_off"})


def digest(system: System) -> str:
    """16 hexadecimal digits of SHA-256 over the structure of a system."""
    text = _canonical(system)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(node: Any) -> str:
    if is_dataclass(node) and not isinstance(node, type):
        inner = ",".join(_canonical(getattr(node, f.name)) for f in fields(node) if f.name not in IGNORED)
        return f"{type(node).__name__}({inner})"
    if isinstance(node, tuple):
        return "[" + ",".join(map(_canonical, node)) + "]"
    if isinstance(node, frozenset):
        return "{" + ",".join(sorted(map(repr, node))) + "}"
    if isinstance(node, Mapping):
        return "{" + ",".join(f"{k!r}:{_canonical(node[k])}" for k in sorted(node)) + "}"
    return repr(node)
