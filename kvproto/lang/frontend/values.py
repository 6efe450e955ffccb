"""What a piece of syntax can stand for while a function is translated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Expr, Place, SetLocal
from kvproto.ir.types import ArrayT, Path, RecordT, Type, leaves, show_path
from kvproto.lang.source import SourceFile


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object known while the model is read: a sort, an enumeration, a function, a tuple of constants."""

    value: Any
    loc: Loc


@dataclass(frozen=True, slots=True)
class Alias:
    """A name (or expression) that stands for a part of the state: a record, an array or a set."""

    place: Place


@dataclass(frozen=True, slots=True)
class Bundle:
    """The value of a record or an array: one expression for each of its leaves, none of which can fault.

    `borrowed` says that it is read from places of the state: it is used at once and never given a name, since in
    Python the name would stand for those places.
    """

    type: RecordT | ArrayT
    parts: tuple[Expr, ...]
    loc: Loc
    borrowed: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable; `fixed` ones (parameters, loop variables) are never assigned.

    One of a record or array type has an IR name for each leaf (`leaf_names`).
    """

    name: str
    type: Type
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Fixed:
    """A name for a value that stays the same while the name is in scope."""

    value: Expr | Bundle


@dataclass(frozen=True, slots=True)
class Unusable:
    """A name that may be unassigned, or mean different things, where it stands; `why` says which, `cure` what to do."""

    why: str
    cure: str


Binding = Static | Alias | Fixed | Variable | Unusable
Found = Expr | Bundle
"""A value."""

Operand = Expr | Bundle | Alias | Static


def leaf_names(name: str, kind: RecordT | ArrayT) -> list[str]:
    """IR names of the leaves of a variable: `m.kind`, `a[0]`."""
    return [leaf_name(name, kind, path) for path, _ in leaves(kind)]


def leaf_name(name: str, kind: Type, path: Path) -> str:
    """IR name of one leaf of a variable; of one that is a leaf itself, its name."""
    tail = show_path(path, kind) if path else ""
    return f"{name}.{tail}" if tail and not tail.startswith("[") else name + tail


@dataclass(slots=True)
class Frame:
    """One function being translated (the action itself, or a helper inlined into it)."""

    fn: Callable[..., Any]
    source: SourceFile
    globals: Mapping[str, Any]
    names: dict[str, Binding]
    caller: Frame | None
    pure: bool
    """In expression position: no loops, no stores; locals become `Let`."""
    lets: list[SetLocal] = field(default_factory=list)
    result: str = ""
    """The local in which a `return` of a helper called as a statement puts its value."""
    returned: list[tuple[tuple[SetLocal, ...], Found, ast.expr]] = field(default_factory=list)
    """What such returns have put there so far."""
    returns_value: bool = False
    elsewhere: dict[str, Binding] = field(default_factory=dict)
    """What names mean at the end of the other way of a branch: a local has one IR name on both ways."""

    def active(self) -> list[Callable[..., Any]]:
        """Functions on the inlining stack, innermost first."""
        return [self.fn, *(self.caller.active() if self.caller else [])]
