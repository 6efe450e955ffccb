"""The models in `errors/` are wrong on purpose, and no tests."""

from __future__ import annotations

collect_ignore = ["errors"]
