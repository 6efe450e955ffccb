"""The fields of a parsed trace file: each knows its place, and refuses what is not expected there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from kvproto.diagnostics import KvError
from kvproto.trace.printable import cut, printable
from kvproto.trace.trace import SCHEMA, State, Value

W = TypeVar("W", bound=str)

MAX_DEPTH = 64
"""Nesting allowed in a file; a trace proper needs six levels, `replay` may need a few more."""


class Repeated(dict[str, object]):
    """A JSON object in which a key occurred more than once."""

    key: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the file and where it stands."""

    value: object
    pointer: str
    name: str

    def refuse(self, expected: str, found: str | None = None) -> NoReturn:
        """Raise KV012 about this field."""
        where = cut(printable(self.pointer), 300) or "the top level"
        got = describe(self.value) if found is None else found
        raise KvError(
            "KV012",
            f"{printable(self.name)}: {where}: expected {expected}, found {got}",
            reason=f"a trace file follows {SCHEMA}, and a wrong trace must not be shown as a right one",
            cure="write the trace again with  kvproto check  instead of editing it",
        )

    def at(self, key: str | int) -> str:
        """The JSON pointer of an item of this field."""
        return f"{self.pointer}/" + str(key).replace("~", "~0").replace("/", "~1")

    def keys(self, *names: str) -> list[Field]:
        """The values under exactly these keys."""
        items = self.mapping()
        for name in names:
            if name not in items:
                Field(None, self.at(name), self.name).refuse("this key", "nothing")
        for key, item in items.items():
            if key not in names:
                item.refuse("no such key", f"the unknown key {cut(printable(repr(key)), 60)}")
        return [items[name] for name in names]

    def mapping(self) -> dict[str, Field]:
        """The items of a JSON object."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return {str(k): Field(v, self.at(str(k)), self.name) for k, v in self.value.items()}

    def items(self) -> list[Field]:
        """The items of a JSON array."""
        if not isinstance(self.value, list):
            self.refuse("an array")
        return [Field(v, self.at(i), self.name) for i, v in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.refuse("a string")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """An array of strings."""
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        """A boolean."""
        if not isinstance(self.value, bool):
            self.refuse("a boolean")
        return self.value

    def number(self, least: int, most: int | None = None) -> int:
        """An integer from `least` to `most`."""
        within = "a number" if most is None else f"a number from {least} to {most}"
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse(within)
        if self.value < least or (most is not None and self.value > most):
            self.refuse(within)
        return self.value

    def one_of(self, words: tuple[W, ...]) -> W:
        """One of some strings."""
        for word in words:
            if self.value == word:
                return word
        self.refuse(" or ".join(f'"{word}"' for word in words))

    def scalar(self) -> bool | int | str:
        """A boolean, an integer or a string."""
        if not isinstance(self.value, (bool, int, str)):
            self.refuse("a boolean, an integer or a string")
        return self.value

    def state_value(self) -> Value:
        """A value of the state: a scalar, null, or an array of scalars for a set."""
        if self.value is None:
            return None
        if isinstance(self.value, list):
            return [item.scalar() for item in self.items()]
        if not isinstance(self.value, (bool, int, str)):
            self.refuse("a boolean, an integer, a string, null or an array of those")
        return self.value


def describe(value: object) -> str:
    """What was found instead, short enough for a message."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return "the string " + cut(printable(repr(value)), 60)
        case int():
            # The digits of an enormous integer are never wanted, and Python refuses to make them.
            return f"the number {value}" if abs(value) < 10**20 else "a huge number"
        case float():
            return f"the number {value}"
        case list():
            return f"an array of {len(value)}"
        case _:
            return "an object"


def check_plain(root: object, name: str) -> None:
    """Refuse repeated keys, numbers that JSON does not have, nesting beyond `MAX_DEPTH`, wherever it is."""
    todo: list[tuple[Field, int]] = [(Field(root, "", name), 0)]
    while todo:
        place, depth = todo.pop()
        match place.value:
            case float() if not math.isfinite(place.value):
                place.refuse("a finite number")
            case dict() | list() if depth >= MAX_DEPTH:
                place.refuse(f"at most {MAX_DEPTH} levels of nesting", "more")
            case Repeated():
                place.refuse("each key once", f"the key {cut(printable(repr(place.value.key)), 60)} twice")
            case dict():
                todo += [(item, depth + 1) for item in reversed(place.mapping().values())]
            case list():
                todo += [(item, depth + 1) for item in reversed(place.items())]


def paths_of(place: Field, state: State) -> tuple[str, ...]:
    """An array of variables of the state."""
    for item in place.items():
        variable(item, state)
    return place.texts()


def variable(place: Field, state: State) -> str:
    """A variable of the state by its path."""
    if place.text() not in state:
        place.refuse("a variable of init")
    return place.text()


def present(place: Field, keys: tuple[str, ...]) -> list[str]:
    """Those of the keys that may be left out which are there."""
    held = place.mapping()
    return [key for key in keys if key in held]
