"""Conditions as their authors wrote them, on one line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Binary, Expr, Let, Local, Logic, Quant, Unary
from kvproto.ir.printer import show_expr

OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
"""Comparisons and what is written for their negation."""

_NEGATIONS = (ast.NotEq, ast.IsNot, ast.NotIn)


def denies(cond: Expr) -> bool:
    """`not a` and `a != b`: in front of an `or` they say when the rest has to hold; others are alternatives."""
    return isinstance(cond, Unary | Binary) and cond.op in ("not", "!=")


def written(cond: Expr, sources: Mapping[str, str]) -> str:
    """The condition as it is written; in the words of the IR where the text is not there or says something else."""
    cond = _unwrapped(cond)
    text = sources.get(cond.loc.file, "")
    tree = _expression(text, cond.loc, logic=isinstance(cond, Logic))
    if tree is None:
        return show_expr(cond)
    op = tree.ops[0] if isinstance(tree, ast.Compare) and len(tree.ops) == 1 else None
    if isinstance(tree, ast.Compare) and isinstance(op, _NEGATIONS) and not denies(cond):
        # `a != b` is `not a == b` in the IR, both at one place, and this is the inner one.
        return ast.unparse(ast.Compare(tree.left, [OPPOSITES[type(op)]()], tree.comparators))
    line = text.splitlines()[cond.loc.line - 1][cond.loc.col : cond.loc.end_col]
    shown = line if tree.lineno == tree.end_lineno else ast.unparse(tree)
    if isinstance(cond, Quant) and isinstance(tree, ast.GeneratorExp):
        return f"{cond.op}{ast.unparse(tree)}"
    negated = isinstance(cond, Unary) and cond.op == "not"
    return f"not {shown}" if negated and not isinstance(op, _NEGATIONS) and not isinstance(tree, ast.UnaryOp) else shown


def opposite(text: str) -> str:
    """What says the opposite of a condition: `a != b` for `a == b`, `not a` for `a`, `a` for `not a`."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:  # the words of the IR
        return f"not ({text})"
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in OPPOSITES:
        return ast.unparse(ast.Compare(tree.left, [OPPOSITES[type(tree.ops[0])]()], tree.comparators))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return ast.unparse(tree.operand)
    return ast.unparse(ast.UnaryOp(ast.Not(), tree))


def _unwrapped(cond: Expr) -> Expr:
    """The condition without the locals around it; one that is a local itself is what that stands for."""
    known: dict[str, Expr] = {}
    while isinstance(cond, Let):
        known[cond.name] = cond.value
        cond = cond.body
    while isinstance(cond, Local) and cond.name in known:
        cond = known[cond.name]
    return cond


def _expression(text: str, loc: Loc, *, logic: bool) -> ast.expr | None:
    """The expression at that place of a file: of those that begin there the one that ends there.

    A place knows one line only. `a == b` and `a == b and` with more below end alike; which is meant is in the IR.
    """
    lines = text.splitlines()
    found = []
    for node in _nodes(text):
        if node.lineno != loc.line or _chars(lines[node.lineno - 1], node.col_offset) != loc.col:
            continue
        below = node.end_lineno != node.lineno
        end = len(lines[loc.line - 1].rstrip()) if below else _chars(lines[loc.line - 1], node.end_col_offset or 0)
        if end == loc.end_col:
            found.append(node)
    some = [node for node in found if isinstance(node, ast.BoolOp) == logic] or found
    return some[0] if some else None


@lru_cache(maxsize=64)
def _nodes(text: str) -> tuple[ast.expr, ...]:
    """All expressions of a file, outer ones first."""
    return tuple(_expressions(ast.parse(text)))


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.expr))


def _chars(line: str, utf8_offset: int) -> int:
    """`ast` counts columns in UTF-8 bytes, places count characters."""
    return len(line.encode()[:utf8_offset].decode(errors="ignore"))
