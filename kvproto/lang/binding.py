"""Parameters of a model, and the values in force while it is read or stepped.

A model is one text for many sizes and switches.  A `Binding` fixes them; while one is in force (`use`), sorts
know their size and parameters their value, both for the front end and for plain Python stepping.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, overload

from kvproto.lang.amounts import Amount
from kvproto.lang.cites import Cites, checked


@dataclass(frozen=True, slots=True)
class Binding:
    """Sizes of sorts and values of parameters, by name."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


_binding: ContextVar[Binding | None] = ContextVar("kvproto binding", default=None)


def current() -> Binding | None:
    """The binding in force, if any."""
    return _binding.get()


@contextmanager
def use(binding: Binding) -> Iterator[Binding]:
    """Put `binding` in force for the duration of a `with` block."""
    token = _binding.set(binding)
    try:
        yield binding
    finally:
        _binding.reset(token)


_shaping: ContextVar[dict[str, str] | None] = ContextVar("kvproto shaping", default=None)


@contextmanager
def noting_shape() -> Iterator[dict[str, str]]:
    """Sizes and numbers that something is computed of while a model is read, by name, with the text that does it.

    They leave no mark of their own in the tree: `range(Config.hold // 5000)` is a loop of no round, whatever is tried.
    """
    found: dict[str, str] = {}
    token = _shaping.set(found)
    try:
        yield found
    finally:
        _shaping.reset(token)


def shapes(names: Iterable[str], where: str | ast.AST) -> None:
    """Say that the model as it is read depends on sizes or numbers of these names, for who wants to know."""
    found = _shaping.get()
    if found is not None:
        for name in filter(None, names):
            found.setdefault(name, where if isinstance(where, str) else ast.unparse(where))


class Parameter:
    """A named value that a preset, a scope or `--set` fixes before a model is read."""

    def __init__(self, default: Any, doc: str, cites: Cites) -> None:
        self.default = default
        self.doc = doc
        self.cites = checked(cites)
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Parameter: ...
    @overload
    def __get__(self, instance: Params, owner: type) -> Any: ...
    def __get__(self, instance: Params | None, owner: type) -> Any:
        if instance is None:
            return self
        binding = current()
        return self.default if binding is None else binding.values.get(self.name, self.default)

    def __set__(self, instance: Params, value: object) -> None:
        raise AttributeError(f"parameter {self.name} is fixed by a preset, a scope or --set, not by the model")


FlagKind = Literal["", "mitigation", "environment"]
"""What a switch is for: a measure that somebody can take, something that the world may do, or neither."""


class Flag(Parameter):
    """A boolean parameter: a mitigation, a freedom of the environment, a switch of the engine."""

    def __init__(self, default: bool, doc: str, cites: Cites, kind: FlagKind = "") -> None:
        super().__init__(default, doc, cites)
        self.kind = kind


class Number(Parameter, Amount):
    """An integer parameter from `least` to `most`."""

    def __init__(self, default: int, doc: str, cites: Cites, least: int, most: int) -> None:
        super().__init__(default, doc, cites)
        self.least = least
        self.most = most


class Choice(Parameter):
    """A parameter whose values are the members of an enumeration."""

    def __init__(self, default: Enum, doc: str, cites: Cites) -> None:
        super().__init__(default, doc, cites)
        self.members = type(default)


def flag(default: bool, doc: str, *, cites: Cites = (), kind: FlagKind = "") -> Any:
    """Declare a boolean parameter in a `Params` class.

    `kind="mitigation"` is a measure that `kvproto mitigations` may take; `kind="environment"` is what the world may do
    (clients leave, transfers fail), which no set of measures changes.
    """
    if not isinstance(default, bool):
        raise TypeError(f"the default of a flag is True or False, not {default!r}")
    if kind not in ("", "mitigation", "environment"):
        raise TypeError(f'the kind of a flag is "mitigation" or "environment", not {kind!r}')
    return Flag(default, doc, cites, kind)


def number(default: int, doc: str, *, least: int = 0, most: int = 1 << 20, cites: Cites = ()) -> Any:
    """Declare an integer parameter in a `Params` class."""
    if isinstance(default, bool) or not isinstance(default, int) or not least <= default <= most:
        raise TypeError(f"the default of a number is an integer from {least} to {most}, not {default!r}")
    return Number(default, doc, cites, least, most)


def choice(default: Enum, doc: str, *, cites: Cites = ()) -> Any:
    """Declare a parameter over an enumeration in a `Params` class."""
    if not isinstance(default, Enum):
        raise TypeError(f"the default of a choice is a member of an enumeration, not {default!r}")
    return Choice(default, doc, cites)


class Params:
    """Base of a class whose attributes are parameters; its one instance is read by actions and properties."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The declared parameters by name, in order of declaration."""
        found: dict[str, Parameter] = {}
        for klass in reversed(cls.__mro__):
            found |= {name: p for name, p in vars(klass).items() if isinstance(p, Parameter)}
        return found
