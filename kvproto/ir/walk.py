"""Traversal of IR trees; the one place that knows which node has which children."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kvproto.ir.nodes import (
    Assert,
    Assign,
    Binary,
    Checked,
    Cond,
    Const,
    Expr,
    For,
    If,
    Let,
    Local,
    Logic,
    Place,
    Quant,
    Read,
    Require,
    SetLocal,
    SetOf,
    Stmt,
    ToIndex,
    Unary,
)
from kvproto.ir.types import IntT, OptT, SetT, SortT, Type, fits


def indices(place: Place) -> tuple[Expr, ...]:
    """Index expressions of a place, outermost first."""
    return tuple(step for step in place.steps if not isinstance(step, str))


def children(expr: Expr) -> tuple[Expr, ...]:
    """Sub-expressions in order of evaluation."""
    match expr:
        case Const() | Local():
            return ()
        case Read(place=place):
            return indices(place)
        case Unary(arg=arg) | ToIndex(arg=arg):
            return (arg,)
        case Binary(left=left, right=right):
            return (left, right)
        case Logic(args=args) | SetOf(items=args):
            return args
        case Cond(test=test, then=then, orelse=orelse):
            return (test, then, orelse)
        case Let(value=value, body=body):
            return (value, body)
        case Checked(test=test, body=body):
            return (test, body)
        case Quant(where=where, body=body, default=default):
            return tuple(e for e in (where, body, default) if e is not None)


def map_place(place: Place, fn: Callable[[Expr], Expr]) -> Place:
    """The place with `fn` applied to its index expressions."""
    return replace(place, steps=tuple(s if isinstance(s, str) else fn(s) for s in place.steps))


def map_children(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """The expression with `fn` applied to each child."""
    match expr:
        case Const() | Local():
            return expr
        case Read():
            return replace(expr, place=map_place(expr.place, fn))
        case Unary() | ToIndex():
            return replace(expr, arg=fn(expr.arg))
        case Binary():
            return replace(expr, left=fn(expr.left), right=fn(expr.right))
        case Logic():
            return replace(expr, args=tuple(fn(a) for a in expr.args))
        case SetOf():
            return replace(expr, items=tuple(fn(a) for a in expr.items))
        case Cond():
            return replace(expr, test=fn(expr.test), then=fn(expr.then), orelse=fn(expr.orelse))
        case Let():
            return replace(expr, value=fn(expr.value), body=fn(expr.body))
        case Checked():
            return replace(expr, test=fn(expr.test), body=fn(expr.body))
        case Quant():
            where = None if expr.where is None else fn(expr.where)
            default = None if expr.default is None else fn(expr.default)
            return replace(expr, where=where, body=fn(expr.body), default=default)


def replaced(expr: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with one node (that very object) replaced."""
    return new if expr is old else map_children(expr, lambda part: replaced(part, old, new))


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    yield expr
    for child in children(expr):
        yield from subexpressions(child)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Expressions that stand directly in a statement (not those of nested statements)."""
    match stmt:
        case Require(cond=cond) | Assert(cond=cond):
            return (cond,)
        case Assign(place=place, value=value):
            return (*indices(place), value)
        case SetLocal(value=value):
            return (value,)
        case If(test=test):
            return (test,)
        case For(where=where):
            return () if where is None else (where,)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements of a block, nested ones included."""
    for stmt in body:
        yield stmt
        match stmt:
            case If(then=then, orelse=orelse):
                yield from statements(then)
                yield from statements(orelse)
            case For(body=inner):
                yield from statements(inner)


def can_fault(expr: Expr) -> bool:
    """Whether evaluating the expression could fail in some state.

    A bad index, None used, division by zero, a number that does not fit, an extreme of nothing.
    """
    return any(_faults(e) for e in subexpressions(expr))


def _faults(expr: Expr) -> bool:
    """Whether the expression itself could fail, its parts being fine."""
    match expr:
        case ToIndex(type=kind, arg=arg):
            return not fits_always(arg, kind)
        case Unary(op="unwrap") | Checked():
            return True
        case Unary(op="some", type=OptT(inner=inner), arg=arg):
            return not fits_always(arg, inner)
        case Binary(op="//" | "%"):
            return not (isinstance(expr.right, Const) and expr.right.value != 0)
        case SetOf(type=SetT(element=element), items=items):
            return not all(fits_always(item, element) for item in items)
        case Quant(op="set", type=SetT(element=element), body=body):
            return not isinstance(body.type, SetT) and not fits_always(body, element)
        case Quant(op="min" | "max", default=None):
            return True
        case _:
            return False


def fits_always(expr: Expr, kind: Type) -> bool:
    """Whether the value visibly belongs to the scalar type in every state; elements and members always do."""
    if not isinstance(expr.type, IntT):
        return True
    if isinstance(expr, Const):
        return isinstance(kind, IntT | SortT) and fits(expr.value, kind)
    if not isinstance(expr, Read | Checked) or expr.type.lo is None or expr.type.hi is None:
        return False
    lo, hi = (
        (kind.lo, kind.hi) if isinstance(kind, IntT) else (0, kind.size - 1) if isinstance(kind, SortT) else (0, -1)
    )
    return lo is not None and hi is not None and lo <= expr.type.lo and expr.type.hi <= hi
