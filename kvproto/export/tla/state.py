"""The state while a body runs: what each variable is by now, as TLA+ text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kvproto.export.tla.text import ATOM, OPEN, Text, choose

Path = tuple[str, ...]
"""Accesses below a variable: `.phase`, `[r]`."""

OLD = "@"
"""In an EXCEPT: what was there before."""


@dataclass(slots=True)
class Variable:
    """A variable's value: `base`, except at some paths, which were changed one after the other."""

    base: Text
    changes: list[tuple[Path, Text]] = field(default_factory=list)

    def copy(self) -> Variable:
        """One that can be changed by itself."""
        return Variable(self.base, list(self.changes))

    @property
    def text(self) -> Text:
        """The value."""
        if not self.changes:
            return self.base
        inside = ", ".join(f"!{''.join(path)} = {value}" for path, value in self.changes)
        return Text(f"[{self.base.at(OPEN)} EXCEPT {inside}]")


def related(one: Path, other: Path) -> str:
    """Whether two paths are the `same`, certainly `apart`, or neither."""
    for left, right in zip(one, other, strict=False):
        if left == right:
            continue
        if left[0] != right[0] or left[0] == "." or (is_constant(left) and is_constant(right)):
            return "apart"
        return "unknown"
    return "same" if len(one) == len(other) else "unknown"


def is_constant(step: str) -> bool:
    """Whether an index is a literal."""
    inside = step[1:-1]
    return inside.startswith(('"', "(-")) or inside.isdecimal() or inside in ("TRUE", "FALSE", "None")


Define = Callable[[str, Text], Text]
"""Gives a text a name (in a LET) and returns the name."""


def is_short(text: Text) -> bool:
    """Whether it is a name or a field of one, in which nothing is bound."""
    return text.text.replace(".", "").replace("[", "").replace("]", "").isidentifier()


@dataclass(slots=True)
class State:
    """All variables."""

    variables: dict[str, Variable]

    def copy(self) -> State:
        """One that can be changed by itself."""
        return State({name: variable.copy() for name, variable in self.variables.items()})

    def read(self, name: str, path: Path, define: Define) -> Text:
        """The value at a path; a pending change that may or may not concern it is made first."""
        variable = self.variables[name]
        for changed, value in reversed(variable.changes):
            relation = related(changed, path)
            if relation == "apart":
                continue
            if relation == "same" and OLD not in value.text and len(value.text) < 40:
                return value
            self.whole(name, define)
            break
        if path and not is_short(variable.base):
            variable.base = define(name, variable.base)
        return Text(variable.base.at(ATOM) + "".join(path)) if path else variable.base

    def write(self, name: str, path: Path, value: Text) -> None:
        """Store at a path."""
        variable = self.variables[name]
        if not path:
            variable.base, variable.changes = value, []
            return
        if variable.changes and variable.changes[-1][0] == path and OLD not in value.text:
            variable.changes.pop()
        variable.changes.append((path, value))

    def whole(self, name: str, define: Define) -> Text:
        """The value of a variable under a short name."""
        variable = self.variables[name]
        if variable.changes or not is_short(variable.base):
            variable.base, variable.changes = define(name, variable.text), []
        return variable.base

    def differences(self, *ways: State) -> int:
        """About how many changes were made on the ways from here."""
        found = 0
        for name, before in self.variables.items():
            for after in (way.variables[name] for way in ways):
                same = after.base == before.base
                found += len(after.changes) - len(before.changes) if same else 2
        return found

    def merged(self, test: Text, then: State, orelse: State) -> State:
        """After two ways, both of which started here."""
        found = {}
        for name, before in self.variables.items():
            found[name] = _merged(test, before, then.variables[name], orelse.variables[name])
        return State(found)


def _merged(test: Text, before: Variable, then: Variable, orelse: Variable) -> Variable:
    if then == orelse:
        return then
    size = len(before.changes)
    same = then.base == orelse.base and then.changes[:size] == orelse.changes[:size] == before.changes
    if not same or then.base != before.base:
        return Variable(choose(test, then.text, orelse.text))
    one, other = then.changes[size:], orelse.changes[size:]
    changes = list(before.changes)
    if _separate([path for path, _ in one]) and _separate([path for path, _ in other]):
        second = dict(other)
        changes += [(path, choose(test, value, second.pop(path, Text(OLD)))) for path, value in one]
        changes += [(path, choose(test, Text(OLD), value)) for path, value in second.items()]
    else:
        changes += [(path, choose(test, value, Text(OLD))) for path, value in one]
        changes += [(path, choose(test, Text(OLD), value)) for path, value in other]
    return Variable(before.base, changes)


def _separate(paths: list[Path]) -> bool:
    """Whether no two of the paths can meet."""
    return all(related(a, b) == "apart" for at, a in enumerate(paths) for b in paths[:at])
