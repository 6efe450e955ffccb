"""The text of a step: an action's docstring with the arguments in it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

from kvproto.trace.trace import Value

_FIELD = re.compile(r"\{([^{}]+)\}")
_FIRST_INDEX = re.compile(r"\[([^\[\]]*)\]")


def fill(doc: str, args: Mapping[str, Value]) -> str:
    """First paragraph of a docstring in one line, `{r}` replaced by the argument; other braces stay as they are.

    An argument that is a record, an array or a set of records comes in parts (`m.kind`, `m.to`): `{m.kind}` is
    replaced by the part, `{m}` by all of them.

    >>> fill("It sends {m} to {m.to}.", {"m.kind": "ACK", "m.to": "B"})
    'It sends (kind=ACK, to=B) to B.'
    """
    text = " ".join(inspect.cleandoc(doc).split("\n\n")[0].split())
    return _FIELD.sub(lambda field: _argument(field[1], args) or field[0], text)


def _argument(name: str, args: Mapping[str, Value]) -> str:
    """An argument, or all that are parts of it; "" if there is none of that name."""
    if name in args:
        return _shown(args[name])
    parts = {key.removeprefix(name): value for key, value in args.items() if key.startswith((f"{name}.", f"{name}["))}
    return f"({', '.join(f'{_part(key)}={_shown(value)}' for key, value in parts.items())})" if parts else ""


def _part(suffix: str) -> str:
    """`.kind` as `kind`, `[A].kind` as `A.kind`."""
    return suffix[1:] if suffix.startswith(".") else _FIRST_INDEX.sub(r"\1", suffix, count=1)


def _shown(value: Value) -> str:
    if isinstance(value, list):
        return "{" + ", ".join(map(_shown, value)) + "}"
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
