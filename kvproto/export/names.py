"""Identifiers of another language: legal, readable, each used once."""

from __future__ import annotations

import re
from collections.abc import Collection


class Names:
    """Hands out identifiers.  Two names of the model never share one, and none is a word of the language."""

    def __init__(self, reserved: Collection[str]) -> None:
        self._taken = set(reserved)

    @property
    def taken(self) -> frozenset[str]:
        """All that has been given away, and what nobody may be called."""
        return frozenset(self._taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, made legal, with a number behind it if it is taken."""
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII).lstrip("_") or "x"
        if base[0].isdigit():
            base = f"n{base}"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name
