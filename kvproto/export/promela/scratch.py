"""Variables that are no part of the state: locals, loop counters.

They are `hidden` from SPIN's states, and zero again after every step for the searches that know no hidden variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import count

from kvproto.export.names import Names
from kvproto.export.promela.storage import Storage, base, cell_type, words
from kvproto.export.promela.text import Text
from kvproto.export.promela.values import Meaning
from kvproto.ir.types import ArrayT, BoolT, IntT, LeafT, NoneT, OptT, RecordT, SetT, Type, cardinality


@dataclass(slots=True)
class Scratch:
    """Hands out scratch variables; actions share them by name and type."""

    storage: Storage
    names: Names
    _known: dict[tuple[str, str, int, int], str] = field(default_factory=dict)

    def local(self, name: str, kind: Type, taken: Collection[str]) -> Meaning:
        """A variable for a local, other than those that are taken."""
        if isinstance(kind, SetT):
            size = words(kind)
            array = self._free(name, "int", size, taken)
            return [Text(array)] if size == 1 else [Text(f"{array}[{at}]") for at in range(size)]
        stored = "int" if isinstance(kind, IntT) else cell_type(_leaf(kind))
        return Text(self._free(name, "byte" if stored == "bit" else stored, 1, taken))  # no bit can be hidden

    def counter(self, name: str, kind: LeafT, taken: Collection[str]) -> Text:
        """A variable for a loop; it ends one beyond the last value."""
        small = cardinality(kind) + base(kind) < 255 and base(kind) >= 0
        return Text(self._free(name, "byte" if small else "int", 1, taken))

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

    def _free(self, name: str, kind: str, size: int, taken: Collection[str]) -> str:
        stem = name.split(".", maxsplit=1)[0]  # the front end numbers names: `taken.3`
        return next(v for at in count() if (v := self._variable(stem, kind, size, at)) not in taken)

    def _variable(self, stem: str, kind: str, size: int, number: int = 0) -> str:
        key = (stem, kind, size, number)
        if key not in self._known:
            # SPIN makes C variables of these; no function of a C library ends in an underscore.
            self._known[key] = self.names.fresh(f"{stem}_")
        return self._known[key]

    def declarations(self) -> Iterator[str]:
        """One line a variable."""
        for (_, kind, size, _), name in self._known.items():
            yield f"hidden {kind} {name}{f'[{size}]' if size > 1 else ''};"


def _leaf(kind: Type) -> LeafT:
    """Locals are leaves; a record is one local for each of its parts."""
    assert not isinstance(kind, ArrayT | RecordT)
    return OptT(BoolT()) if isinstance(kind, NoneT) else kind
