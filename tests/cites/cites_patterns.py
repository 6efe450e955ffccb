"""Patterns: Python text with holes, looked for in Python source.

`_` stands for any expression, and `...` among the arguments of a call for whatever else there is.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

IGNORED = {"ctx", "kind", "type_comment"}


def pattern(text: str) -> ast.expr | ast.stmt:
    """An expression or a statement; raises SyntaxError."""
    statement = ast.parse(text).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def matches(wanted: object, node: object) -> bool:
    """Whether a node (or a list of nodes, or a plain value) is what the pattern says."""
    if isinstance(wanted, ast.Name) and wanted.id == "_":
        return isinstance(node, ast.expr)
    if isinstance(wanted, ast.Call) and isinstance(node, ast.Call):
        return matches(wanted.func, node.func) and _arguments(wanted, node)
    if isinstance(wanted, list) and isinstance(node, list):
        return len(wanted) == len(node) and all(map(matches, wanted, node))
    if not isinstance(wanted, ast.AST):
        return type(wanted) is type(node) and wanted == node
    names = [name for name in wanted._fields if name not in IGNORED]
    return type(wanted) is type(node) and all(matches(getattr(wanted, n), getattr(node, n)) for n in names)


def _arguments(wanted: ast.Call, node: ast.Call) -> bool:
    """Positional arguments in order, keywords by name; after `...` there may be more of both."""
    is_open = any(_is_ellipsis(arg) for arg in wanted.args)
    first = [arg for arg in wanted.args if not _is_ellipsis(arg)]
    given = node.args[: len(first)] if is_open else node.args
    keywords = {word.arg: word.value for word in node.keywords}
    asked = {word.arg: word.value for word in wanted.keywords}
    if not matches(first, given) or not (is_open or asked.keys() == keywords.keys()):
        return False
    return all(name in keywords and matches(value, keywords[name]) for name, value in asked.items())


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `scope` in the order of the text."""
    for child in ast.iter_child_nodes(scope):
        yield child
        yield from inside(child)


def places(wanted: ast.AST, scope: ast.AST) -> list[ast.AST]:
    """Where the pattern stands below `scope`, in the order of the text."""
    found = [node for node in inside(scope) if matches(wanted, node)]
    return sorted(found, key=position)


def position(node: ast.AST) -> tuple[int, int]:
    """Line and column."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def nearest(wanted: ast.AST, scope: ast.AST) -> str:
    """What of the same kind below `scope` looks most like the pattern, with its line."""
    texts: dict[str, int] = {}
    for node in inside(scope):
        if type(node) is type(wanted):
            texts.setdefault(ast.unparse(node), position(node)[0])
    near = difflib.get_close_matches(ast.unparse(wanted), texts, n=1, cutoff=0.4)
    return f"line {texts[near[0]]}: {_short(near[0])}" if near else "nothing like it"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:97]}..."
