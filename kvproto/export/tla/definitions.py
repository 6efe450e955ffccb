"""What a LET defines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kvproto.export.tla.scope import Scope
from kvproto.export.tla.text import Text


@dataclass(frozen=True, slots=True)
class Definition:
    """`name arguments == lines`."""

    name: str
    arguments: str
    lines: list[str]


@dataclass(slots=True)
class Definitions:
    """Names given inside one body, in order."""

    scope: Scope
    found: list[Definition] = field(default_factory=list)

    def known(self, text: Text) -> Text | None:
        """The name of a text that has one."""
        return next((Text(d.name) for d in self.found if d.lines == [text.text] and not d.arguments), None)

    def define(self, name: str, text: Text) -> Text:
        """Give a text a name."""
        known = self.known(text)
        if known is not None:
            return known
        short = self.scope.fresh(name)
        self.found.append(Definition(short, "", [text.text]))
        return Text(short)


def definition_lines(made: list[Definition]) -> list[str]:
    """The inside of a LET."""
    lines = []
    for definition in made:
        first, *rest = definition.lines
        lines += [f"{definition.name}{definition.arguments} == {first}".rstrip(), *(f"    {line}" for line in rest)]
    return lines


def mentions(text: str, name: str) -> bool:
    """Whether a name stands in a text."""
    return re.search(rf"(?<![\w.!]){re.escape(name)}\b", text) is not None
