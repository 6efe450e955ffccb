"""What a step would have needed, in the words of the model."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kvproto.engine.written import opposite, written
from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Const, Expr, Logic, Unary

LONGEST = 90
"""Characters of a condition that can be read at a glance."""


def shortest(parts: Sequence[tuple[Expr, bool]], sources: Mapping[str, str]) -> tuple[str, Expr]:
    """Of parts of parts (see `conjuncts`) the smallest, unless that is a long one inside of a helper with a name."""
    texts = [_text(part, wanted, sources) for part, wanted in parts]
    short = [at for at, text in enumerate(texts) if len(text) <= LONGEST]
    at = short[-1] if short else len(texts) - 1
    return texts[at], parts[at][0]


def _text(part: Expr, wanted: bool, sources: Mapping[str, str]) -> str:
    """The part, or its opposite, without what the switches have settled."""
    if isinstance(part, Unary) and part.op == "not":
        return _text(part.arg, not wanted, sources)
    text = written(part, sources)
    if isinstance(part, Logic):
        text = _open(text, [isinstance(fold_expr(arg), Const) for arg in part.args])
    return text if wanted else _not(text)


def _not(text: str) -> str:
    """The opposite; a call stays as it is written."""
    try:
        call = isinstance(ast.parse(text, mode="eval").body, ast.Call)
    except SyntaxError:  # the words of the IR
        call = False
    return f"not {text}" if call else opposite(text)


def _open(text: str, settled: Sequence[bool]) -> str:
    """`source_in_use(s, r)` of `cfg.source_hold and source_in_use(s, r)`, of which the first is settled."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:  # the words of the IR
        return text
    if not isinstance(tree, ast.BoolOp) or len(tree.values) != len(settled) or all(settled) or not any(settled):
        return text
    left = [value for value, known in zip(tree.values, settled, strict=True) if not known]
    return ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(tree.op, left))
