"""Changes of source text that make a shape untrue: what a check that notices nothing would let through."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from cites_patterns import inside, matches, pattern, places, position
from kvproto.shipped.models.sglang.facts.shapes import (
    Before,
    Contains,
    Default,
    Guards,
    Lacks,
    Returns,
    Shape,
    Unguarded,
    Value,
)


def mutants(shape: Shape, scope: ast.AST) -> Iterator[ast.AST]:
    """Copies of a function or a declaration that the shape is true of, of each of which it is untrue."""
    match shape:
        case Contains(code):
            yield without(code, scope)
        case Lacks(codes):
            yield from (beside(code, scope) for code in codes)
        case Before(first, then):
            yield without(first, scope)
            yield without(then, scope)
            yield moved_to_the_end(first, scope)
        case Guards(test, then):
            yield without(test, scope)
            yield without(then, scope)
            yield unguarded(test, scope)
        case Unguarded(test, code):
            yield without(code, scope)
            yield guarded(test, code, scope)
        case Returns():
            yield beside("return 0", scope)
        case Default(name, _):
            yield with_default(name, scope)
        case Value():
            yield with_value(scope)


class _Replaced(ast.NodeTransformer):
    """Every place of a pattern replaced: expressions by a name, statements by `pass`."""

    def __init__(self, wanted: ast.AST) -> None:
        self.wanted = wanted

    def visit(self, node: ast.AST) -> ast.AST:
        if matches(self.wanted, node):
            new = ast.Pass() if isinstance(node, ast.stmt) else ast.Name("something_else", ast.Load())
            return ast.copy_location(new, node)
        return super().visit(node)


def without(code: str, scope: ast.AST) -> ast.AST:
    """The function without what the pattern stands for."""
    return _Replaced(pattern(code)).visit(copy.deepcopy(scope))


def _body(scope: ast.AST) -> list[ast.stmt]:
    assert isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
    return scope.body


def _after(code: str, scope: ast.AST) -> ast.stmt:
    """The pattern as a statement below the last line of the function."""
    statement = ast.parse(code).body[0]
    ast.increment_lineno(statement, max(position(node)[0] for node in inside(scope)))
    return statement


def beside(code: str, scope: ast.AST) -> ast.AST:
    """The function with the pattern as one more statement."""
    changed = copy.deepcopy(scope)
    _body(changed).append(_after(code, scope))
    return changed


def moved_to_the_end(code: str, scope: ast.AST) -> ast.AST:
    """The function with the pattern behind everything else."""
    changed = without(code, scope)
    _body(changed).append(_after(code, scope))
    return changed


def unguarded(test: str, scope: ast.AST) -> ast.AST:
    """The function with the bodies of the `if`s that ask `test` behind them."""

    class Flat(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST:
            self.generic_visit(node)
            if matches(wanted, node.test) or places(wanted, node.test):
                kept = ast.If(node.test, [ast.copy_location(ast.Pass(), node)], [*node.body, *node.orelse])
                return ast.copy_location(kept, node)
            return node

    wanted = pattern(test)
    return Flat().visit(copy.deepcopy(scope))


def guarded(test: str, code: str, scope: ast.AST) -> ast.AST:
    """The function with the pattern in the body of one more `if` that asks `test`."""
    return beside(f"if {test}: {code}", scope)


def with_default(name: str, scope: ast.AST) -> ast.AST:
    """The function with another default of a parameter."""
    changed = copy.deepcopy(scope)
    assert isinstance(changed, ast.FunctionDef)
    at = [a.arg for a in changed.args.args].index(name) - len(changed.args.args)
    changed.args.defaults[at] = ast.Name("another", ast.Load())
    return changed


def with_value(scope: ast.AST) -> ast.AST:
    """The declaration with another value."""
    changed = copy.deepcopy(scope)
    assert isinstance(changed, ast.Assign | ast.AnnAssign)
    changed.value = ast.Name("another", ast.Load())
    return changed
