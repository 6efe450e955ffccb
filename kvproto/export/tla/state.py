"""The state while a body runs: what each variable is by now, as TLA+ text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kvproto.export.tla.definitions import Definitions
from kvproto.export.tla.text import ATOM, OPEN, Text, equal_to, is_literal

Path = tuple[str, ...]
"""Accesses below a variable: `.phase`, `[r]`."""

OLD = "@"
"""In an EXCEPT: what was there before."""


@dataclass(slots=True)
class Variable:
    """A variable's value: `base`, except at some paths, which were changed one after the other."""

    base: Text
    changes: list[tuple[Path, Text]] = field(default_factory=list)
    unsure: bool = False
    """Whether one of the paths leads nowhere in some states, those in which the change is not made."""

    def copy(self) -> Variable:
        """One that can be changed by itself."""
        return Variable(self.base, list(self.changes), self.unsure)

    @property
    def text(self) -> Text:
        """The value."""
        if not self.changes:
            return self.base
        inside = ", ".join(f"!{''.join(path)} = {equal_to(value)}" for path, value in self.changes)
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
    return is_literal(Text(step[1:-1]))


SHORT = 32
"""What is no longer than that is written where it is used."""

Choosing = Callable[[str, Path], Callable[[Text, Text, Text], Text]]
"""How a value at a path of a variable is chosen by a test: truth values have a way of their own."""

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
        if not is_short(variable.base) and (path or len(variable.base.text) > SHORT):
            variable.base = define(name, variable.base)
        return Text(variable.base.at(ATOM) + "".join(path)) if path else variable.base

    def write(self, name: str, path: Path, value: Text, *, sure: bool = True) -> None:
        """Store at a path, which is `sure` if it leads somewhere in every state."""
        variable = self.variables[name]
        if not path:
            variable.base, variable.changes = value, []
            return
        if variable.changes and variable.changes[-1][0] == path and OLD not in value.text:
            variable.changes.pop()
        variable.changes.append((path, value))
        variable.unsure = variable.unsure or not sure

    def whole(self, name: str, define: Define) -> Text:
        """The value of a variable under a short name."""
        variable = self.variables[name]
        if variable.changes or not is_short(variable.base):
            variable.base, variable.changes, variable.unsure = define(name, variable.text), [], False
        return variable.base

    def differences(self, *ways: State) -> int:
        """About how many changes were made on the ways from here."""
        found = 0
        for name, before in self.variables.items():
            for after in (way.variables[name] for way in ways):
                same = after.base == before.base
                found += len(after.changes) - len(before.changes) if same else 2
        return found

    def merged(self, test: Text, then: State, orelse: State, choosing: Choosing, definitions: Definitions) -> State:
        """After two ways, both of which started here."""
        found = {}
        for name, before in self.variables.items():
            for way in (then, orelse):
                if len(way.variables[name].base.text) > 2 * SHORT:
                    way.whole(name, definitions.define)
            one, other = then.variables[name], orelse.variables[name]
            # One way may know by a name what the other has not needed a name for.
            if one.base == definitions.known(other.text):
                other = before = Variable(one.base)
            elif other.base == definitions.known(one.text):
                one = before = Variable(other.base)
            found[name] = _merged(name, before, one, other, test, choosing)
        return State(found)


def _merged(
    name: str, before: Variable, then: Variable, orelse: Variable, test: Text, choosing: Choosing
) -> Variable:
    if then == orelse:
        return then

    def pick(path: Path, one: Text, other: Text) -> Text:
        return choosing(name, path)(test, one, other)

    size = len(before.changes)
    same = then.base == orelse.base and then.changes[:size] == orelse.changes[:size] == before.changes
    if not same or then.base != before.base or then.unsure or orelse.unsure:
        return Variable(pick((), then.text, orelse.text))
    one, other = then.changes[size:], orelse.changes[size:]
    changes = list(before.changes)
    if _separate([path for path, _ in one]) and _separate([path for path, _ in other]):
        second = dict(other)
        changes += [(path, pick(path, value, second.pop(path, Text(OLD)))) for path, value in one]
        changes += [(path, pick(path, Text(OLD), value)) for path, value in second.items()]
    else:
        changes += [(path, pick(path, value, Text(OLD))) for path, value in one]
        changes += [(path, pick(path, Text(OLD), value)) for path, value in other]
    return Variable(before.base, changes)


def _separate(paths: list[Path]) -> bool:
    """Whether no two of the paths can meet."""
    return all(related(a, b) == "apart" for at, a in enumerate(paths) for b in paths[:at])
