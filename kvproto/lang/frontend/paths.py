"""Paths of the state as a model's declarations write them: `sender[p][r].flying[d]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from kvproto.diagnostics import did_you_mean
from kvproto.ir.types import ArrayT, LeafT, RecordT, Type, show_value, values_of

Refuse = Callable[[str, str, str], NoReturn]
"""(message, reason, cure): raises the error at the declaration."""

_PATH = re.compile(r"[A-Za-z_]\w*(\[\w+\])*(\.[A-Za-z_]\w*(\[\w+\])*)*")
_PART = re.compile(r"(\.?)([A-Za-z_]\w*)|\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class StatePath:
    """A path that was found in the state: text with `{name}` for indices that are open, their types, where it ends."""

    text: str
    holes: Mapping[str, LeafT]
    end: Type

    def __str__(self) -> str:
        """The path as a model writes it."""
        return re.sub(r"\{(\w+)\}", r"\1", self.text)

    def filled(self, labels: Mapping[str, str]) -> str:
        """The text with labels for those indices."""
        text = self.text
        for name, label in labels.items():
            text = text.replace(f"{{{name}}}", label)
        return text

    def indexed(self, name: str) -> StatePath:
        """The path of an element of the array at its end."""
        assert isinstance(self.end, ArrayT)
        return StatePath(f"{self.text}[{{{name}}}]", {**self.holes, name: self.end.index}, self.end.element)

    def renamed(self, old: str, new: str) -> StatePath:
        """The same path with another name for an index."""
        holes = {new if name == old else name: kind for name, kind in self.holes.items()}
        return StatePath(self.text.replace(f"{{{old}}}", f"{{{new}}}"), holes, self.end)


def labels_of(kind: LeafT) -> tuple[str, ...]:
    """All values of an index as they stand in paths."""
    return tuple(show_value(value, kind) for value in values_of(kind))


def find(text: str, state: RecordT, implied: str, refuse: Refuse) -> StatePath:
    """The path in the state.  Without any brackets the names in `implied` index the arrays on the way."""
    if not isinstance(text, str) or not _PATH.fullmatch(text):
        refuse(
            f"{text!r} is no path",
            "a path is written as in the model, with names for indices",
            'write for example "owner", "d_owner[d]" or "sender[p][r].flying[d]"',
        )
    path, left = StatePath("", {}, state), list(implied) if "[" not in text else []
    for match in _PART.finditer(text):
        path = _field(path, text, match[2], refuse) if match[2] else _index(path, text, match[3], refuse)
        while left and isinstance(path.end, ArrayT):
            path = path.indexed(left.pop(0))
    return path


def _field(path: StatePath, text: str, name: str, refuse: Refuse) -> StatePath:
    found = path.end.get(name) if isinstance(path.end, RecordT) and path.end.shape == "record" else None
    if found is None:
        known = [n for n, _ in path.end.fields] if isinstance(path.end, RecordT) else []
        where = str(path) or "the state"
        refuse(
            f"{text} is no path of the state: {where} has no field {name!r}{did_you_mean(name, known)}",
            f"{where} is {_kind(path.end)}",
            "name its fields and write an index for each array on the way",
        )
    return StatePath(f"{path.text}.{name}" if path.text else name, path.holes, found)


def _index(path: StatePath, text: str, name: str, refuse: Refuse) -> StatePath:
    if not isinstance(path.end, ArrayT):
        refuse(
            f"{text} has an index too many: [{name}]",
            f"{path} is {_kind(path.end)}",
            "write an index for each array on the way, and no other",
        )
    kind = path.end.index
    if name in labels_of(kind):
        return StatePath(f"{path.text}[{name}]", path.holes, path.end.element)
    if name in path.holes:
        refuse(
            f"{text} has the index {name!r} twice",
            "each index that is not fixed needs a name of its own",
            f"call one of them otherwise: {name}2",
        )
    return path.indexed(name)


def _kind(kind: Type) -> str:
    """A type in few words."""
    match kind:
        case RecordT(shape="record"):
            return f"a record with {', '.join(name for name, _ in kind.fields)}"
        case RecordT():
            return f"a {kind.shape}"
        case ArrayT():
            return f"an array over {kind.index}"
        case _:
            return f"of type {kind}"
