"""Variables that are no part of the state: locals, loop counters.

They are `hidden` from SPIN's states, and zero again after every step for the searches that know no hidden variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kvproto.export.names import Names
from kvproto.export.promela.storage import Storage, cell_type, words
from kvproto.export.promela.text import Text
from kvproto.export.promela.values import Meaning
from kvproto.ir.types import IntT, ScalarT, SetT, Type, values_of


@dataclass(slots=True)
class Scratch:
    """Hands out scratch variables; actions share them by name and type."""

    storage: Storage
    names: Names
    _known: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def local(self, name: str, kind: Type) -> Meaning:
        """The variable of a local."""
        if isinstance(kind, SetT):
            size = words(kind)
            array = self._variable(name, "int", size)
            return [Text(array)] if size == 1 else [Text(f"{array}[{at}]") for at in range(size)]
        stored = "int" if isinstance(kind, IntT) else cell_type(kind)
        return Text(self._variable(name, "byte" if stored == "bit" else stored, 1))  # no bit can be hidden

    def counter(self, name: str, kind: ScalarT) -> Text:
        """The variable of a loop; it ends one beyond the last value."""
        numbers = [int(v) for v in values_of(kind) if not isinstance(v, str)]
        small = not numbers or (min(numbers) >= 0 and max(numbers) < 255)
        return Text(self._variable(name, "byte" if small else "int", 1))

    def flag(self, name: str) -> str:
        """A variable of the exporter's own."""
        return self._variable(name, "byte", 1)

    def array(self, name: str, size: int) -> list[str]:
        """Variables of the exporter's own, in a row."""
        array = self._variable(name, "int", size)
        return [array] if size == 1 else [f"{array}[{at}]" for at in range(size)]

    def owns(self, variable: str) -> bool:
        """Whether a variable is one of these."""
        return variable.split("[", maxsplit=1)[0] in self._known.values()

    def _variable(self, name: str, kind: str, size: int) -> str:
        stem = name.split(".", maxsplit=1)[0]  # the front end numbers names: `taken.3`
        key = (stem, kind, size)
        if key not in self._known:
            # SPIN makes C variables of these; no function of a C library ends in an underscore.
            self._known[key] = self.names.fresh(f"{stem}_")
        return self._known[key]

    def declarations(self) -> Iterator[str]:
        """One line a variable."""
        for (_, kind, size), name in self._known.items():
            yield f"hidden {kind} {name}{f'[{size}]' if size > 1 else ''};"
