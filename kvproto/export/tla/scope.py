"""Names inside one definition: bound variables, and what a LET defines."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import count

from kvproto.export.tla.text import Text


class Scope:
    """Hands out names.  TLA+ lets no name stand for two things at one place; elsewhere they are used again."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)
        self._bound: set[str] = set()

    def fresh(self, wanted: str) -> str:
        """A name for all of the definition."""
        name = self._first(wanted, self._taken | self._bound)
        self._taken.add(name)
        return name

    def bound(self, wanted: str, values: Mapping[str, Text]) -> str:
        """A name for a variable that is bound where those are known."""
        near = {word for value in values.values() for word in re.findall(r"\w+", value.text)}
        name = self._first(wanted, self._taken | near)
        self._bound.add(name)
        return name

    def _first(self, wanted: str, refused: Collection[str]) -> str:
        stem = wanted.split(".", maxsplit=1)[0]  # the front end numbers names: `taken.3`
        return next(n for at in count(1) if (n := stem if at == 1 else f"{stem}_{at}") not in refused)
