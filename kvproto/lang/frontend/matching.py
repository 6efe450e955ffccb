"""`match` on values: rewritten into the `if` chain that it means."""

from __future__ import annotations

import ast

from kvproto.lang.source import SourceFile


def as_if(node: ast.Match, source: SourceFile) -> list[ast.stmt]:
    """The statement as an `if` chain (one statement, or none if no case is left)."""
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is None and case.guard is None:
            chain = case.body
            continue
        test = _test(node.subject, case.pattern, source)
        if case.guard is not None:
            test = ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.pattern)
        chain = [ast.copy_location(ast.If(test, case.body, chain), case.pattern)]
    return chain


def _test(subject: ast.expr, pattern: ast.pattern, source: SourceFile) -> ast.expr:
    match pattern:
        case ast.MatchValue(value=value):
            found: ast.expr = ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            op: ast.cmpop = ast.Is() if value is None else ast.Eq()
            found = ast.Compare(subject, [op], [ast.copy_location(ast.Constant(value), pattern)])
        case ast.MatchOr(patterns=parts):
            found = ast.BoolOp(ast.Or(), [_test(subject, part, source) for part in parts])
        case ast.MatchAs(pattern=None, name=None):
            found = ast.Constant(True)
        case _:
            source.fail(
                "KV131",
                pattern,
                "this pattern is outside the language",
                "a case compares the subject with constants: members, numbers, True, False, None, and `_`",
                "write `case Phase.NEW | Phase.DONE:`, or use if / elif",
            )
    return ast.copy_location(found, pattern)
