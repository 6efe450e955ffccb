"""What an action of a shipped model is, for `kvproto explain ACTION`: what it does, when it can happen, its cites."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from kvproto.lang.load import every_model, find
from kvproto.lang.model import ActionMark
from kvproto.lang.source import SourceFile, function_source
from kvproto.trace.printable import fold

WIDTH = 80


def actions() -> dict[str, list[tuple[str, Callable[..., Any], ActionMark]]]:
    """Actions of the shipped models, blocks last: name -> (model, function, mark)."""
    found: dict[str, list[tuple[str, Callable[..., Any], ActionMark]]] = {}
    for name in every_model():
        for fn, mark in find(name).model.marked(ActionMark):
            found.setdefault(fn.__name__, []).append((name, fn, mark))
    return found


def describe(model: str, fn: Callable[..., Any], mark: ActionMark) -> str:
    """One action as text."""
    source, definition = function_source(fn)
    takes = ", ".join(ast.unparse(arg) for arg in definition.args.args[1:])
    lines = [f"{fn.__name__}({takes})  (model {model})", ""]
    lines += fold(" ".join((inspect.getdoc(fn) or "").split()), WIDTH)
    role = f": {mark.machine.doc}" if mark.machine.doc else ""
    lines += ["", *_field("machine", f"{mark.machine.name}{role}"), *_field("place", str(source.loc(definition)))]
    if mark.fair:
        lines += _field("fair", f"{mark.fair}ly, for every choice of its parameters")
    for number, cite in enumerate(mark.cites):
        lines += _field("cites" if number == 0 else "", cite)
    guards = list(_guards(source, definition))
    lines += ["", "can happen if" if guards else "can always happen"]
    lines += [f"  {line}" for guard in guards for line in guard]
    return "\n".join(line.rstrip() for line in lines)


def _field(name: str, text: str) -> list[str]:
    first, *rest = fold(text, WIDTH - 11)
    return [f"  {name:7}  {first}", *(f"           {line}" for line in rest)]


def _guards(source: SourceFile, definition: ast.FunctionDef) -> Iterator[list[str]]:
    """The guards as they are written, with the conditions under which they are asked around them."""
    for stmt in definition.body:
        if any(_is_guard(node) for node in ast.walk(stmt)):
            first, last = stmt.lineno, (stmt.end_lineno or stmt.lineno)
            rows = source.lines[first - 1 : last]
            indent = len(rows[0]) - len(rows[0].lstrip())
            yield [row[indent:] for row in rows]


def _is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require"
