"""Source text: from a function object to its syntax tree, and from a syntax node to a place people can read."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
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

    @cached_property
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
def _load(path: Path, _stamp: int) -> SourceFile:
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
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == fn.__name__:
            top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if top <= first <= node.lineno:
                return source, _plain(source, node)
    rows = source.lines
    line = rows[first - 1] if first <= len(rows) else ""
    name = "a lambda" if fn.__name__ == "<lambda>" else f"the function {fn.__name__!r}"
    raise KvError(
        "KV142",
        f"{name} has no definition that can be read",
        reason="models are read from their source, and this function has no `def` of its own there",
        cure="write the function with `def` at the top level of a module",
        loc=Loc(source.shown, first, len(line) - len(line.lstrip()), len(line.rstrip())),
        line=line,
    )


def _plain(source: SourceFile, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
    """The definition, unless it is asynchronous or one of two of that name, of which Python keeps the last."""
    if isinstance(node, ast.AsyncFunctionDef):
        source.fail("KV116", node, "an async function", "an action is one atomic step", "write two actions")
    twins = [n for n in source.tree.body if isinstance(n, ast.FunctionDef) and n.name == node.name]
    if len(twins) > 1:
        source.fail(
            "KV129",
            twins[1],
            f"two definitions of {node.name!r} in one file",
            "the second replaces the first, which would vanish from the model without a word",
            "rename one of them",
        )
    return node


@lru_cache(maxsize=1024)
def assigned_names(fn: Callable[..., Any]) -> frozenset[str]:
    """Names that the function assigns, by statements or as loop variables: they are local to it."""
    found: set[str] = set()
    work: list[ast.AST] = list(function_source(fn)[1].body)
    while work:
        node = work.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.Lambda):
            work.extend(ast.iter_child_nodes(node))
    return frozenset(found)
