"""Source text: from a function object to its syntax tree, and from a syntax node to a place people can read."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from kvproto import shipped
from kvproto.diagnostics import KvError, Loc


@dataclass(frozen=True)
class SourceFile:
    """One file of model text.  `shown` is its name in messages and traces, the same on every machine."""

    path: Path
    shown: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        """The text by lines; line n of the file is element n - 1."""
        return self.text.splitlines()

    def loc(self, node: ast.AST) -> Loc:
        """Where a node of this file stands (its first line)."""
        line = int(getattr(node, "lineno", 1))
        rows = self.lines
        text = rows[line - 1] if line <= len(rows) else ""
        col = _chars(text, int(getattr(node, "col_offset", 0)))
        same_line = getattr(node, "end_lineno", line) == line
        end = _chars(text, int(getattr(node, "end_col_offset", 0))) if same_line else len(text.rstrip())
        return Loc(self.shown, line, col, max(end, col + 1))

    def fail(self, code: str, node: ast.AST, message: str, reason: str, cure: str) -> NoReturn:
        """Raise the error at the node's place."""
        loc = self.loc(node)
        raise KvError(code, message, reason=reason, cure=cure, loc=loc, line=self.lines[loc.line - 1])


def _chars(line: str, utf8_offset: int) -> int:
    """`ast` counts columns in UTF-8 bytes; people count characters."""
    return len(line.encode()[:utf8_offset].decode(errors="ignore"))


def shown_name(path: Path) -> str:
    """Name of a source file in messages: relative to the shipped library, else just the file's name."""
    try:
        return path.resolve().relative_to(shipped.ROOT).as_posix()
    except ValueError:
        return path.name


@lru_cache(maxsize=256)
def _load(path: Path, stamp: int) -> SourceFile:
    text = path.read_text(encoding="utf-8")
    return SourceFile(path, shown_name(path), text, ast.parse(text))


def load(path: Path) -> SourceFile:
    """The file, parsed; cached until it changes."""
    return _load(path, path.stat().st_mtime_ns)


def function_source(fn: Callable[..., Any]) -> tuple[SourceFile, ast.FunctionDef]:
    """The definition of a function.

    Raises KV142 where there is none to read: built-in functions, lambdas, text typed at a prompt.
    """
    path = inspect.getsourcefile(inspect.unwrap(fn)) if inspect.isfunction(fn) else None
    if path is None or not Path(path).is_file():
        raise KvError(
            "KV142",
            f"no source text for {getattr(fn, '__name__', fn)!r}",
            reason="models are read from their source, so functions must be written with `def` in a file",
            cure="put the model into a .py file",
        )
    source = load(Path(path))
    first = fn.__code__.co_firstlineno
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == fn.__name__:
            top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if top <= first <= node.lineno:
                return source, node
    raise KvError(
        "KV142",
        f"no `def {fn.__name__}` at {source.shown}:{first}",
        reason="models are read from their source; a lambda or a generated function has none of its own",
        cure="write the function with `def` at the top level of a module",
    )
