"""Constant folding of expressions.  Never drops an evaluation that could fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvproto.ir.nodes import Binary, Checked, Cond, Const, Expr, Let, Local, Logic, Quant, ToIndex, Unary
from kvproto.ir.types import BoolT, IntT, OptT, SortT, fits
from kvproto.ir.walk import can_fault, map_children

Env = Mapping[str, Const]


def fold_expr(expr: Expr, env: Env | None = None) -> Expr:
    """The expression with constant parts computed; `env` gives locals whose value is known.

    >>> from kvproto.diagnostics import Loc
    >>> here, number = Loc("m.py", 1), IntT(2, 2)
    >>> two = Const(number, 2, here)
    >>> fold_expr(Binary(IntT(), "+", two, two, here)).value
    4
    """
    known = env or {}
    if isinstance(expr, Local):
        return replace(known[expr.name], loc=expr.loc) if expr.name in known else expr
    if isinstance(expr, Let):
        return _let(expr, known)
    inner = map_children(expr, lambda e: fold_expr(e, known))
    match inner:
        case Unary():
            return _unary(inner)
        case Binary():
            return _binary(inner)
        case Logic():
            return _logic(inner)
        case Cond(test=Const(value=value)):
            return inner.then if value else inner.orelse
        case Checked(test=Const(value=True)):
            return inner.body
        case Quant():
            return _quant(inner)
        case ToIndex(type=SortT() | IntT() as kind, arg=Const(value=value)) if fits(value, kind):
            return Const(kind, value, expr.loc)
        case _:
            return inner


def _let(expr: Let, env: Env) -> Expr:
    value = fold_expr(expr.value, env)
    if isinstance(value, Const):
        return fold_expr(expr.body, {**env, expr.name: value})
    return replace(expr, value=value, body=fold_expr(expr.body, env))


def _unary(expr: Unary) -> Expr:
    if not isinstance(expr.arg, Const):
        if expr.op == "not" and isinstance(expr.arg, Unary) and expr.arg.op == "not":
            return expr.arg.arg
        return expr
    value = expr.arg.value
    match expr.op:
        case "not":
            return Const(BoolT(), not value, expr.loc)
        case "is_none":
            return Const(BoolT(), value is None, expr.loc)
        case "neg" if isinstance(value, int):
            return Const(IntT(-value, -value), -value, expr.loc)
        case "int" if isinstance(value, int):
            return Const(IntT(int(value), int(value)), int(value), expr.loc)
        case "some" if isinstance(expr.type, OptT) and fits(value, expr.type):
            return Const(expr.type, value, expr.loc)
        case "unwrap" if value is not None:
            return Const(expr.type, value, expr.loc)
        case _:
            return expr


def _binary(expr: Binary) -> Expr:
    if not (isinstance(expr.left, Const) and isinstance(expr.right, Const)):
        return expr
    left, right = expr.left.value, expr.right.value
    if expr.op in ("==", "!="):
        return Const(BoolT(), (left == right) == (expr.op == "=="), expr.loc)
    if not isinstance(left, int) or not isinstance(right, int):
        return expr
    if expr.op in ("<", "<="):
        return Const(BoolT(), left < right if expr.op == "<" else left <= right, expr.loc)
    if expr.op in ("//", "%") and right == 0:
        return expr
    match expr.op:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "//":
            value = left // right
        case "%":
            value = left % right
        case "min":
            value = min(left, right)
        case "max":
            value = max(left, right)
        case _:
            return expr
    return Const(IntT(value, value), value, expr.loc)


def _logic(expr: Logic) -> Expr:
    neutral = expr.op == "and"
    args: list[Expr] = []
    for arg in expr.args:
        if isinstance(arg, Const):
            if arg.value == neutral:
                continue
            if not any(can_fault(a) for a in args):
                return Const(BoolT(), not neutral, expr.loc)
            args.append(arg)
            break
        args.append(arg)
    if not args:
        return Const(BoolT(), neutral, expr.loc)
    return args[0] if len(args) == 1 else replace(expr, args=tuple(args))


def _quant(expr: Quant) -> Expr:
    empty = not expr.domain.values or (isinstance(expr.where, Const) and expr.where.value is False)
    if isinstance(expr.where, Const) and expr.where.value is True:
        expr = replace(expr, where=None)
    match expr.op:
        case "any" | "all":
            neutral = expr.op == "all"
            harmless = expr.where is None or not can_fault(expr.where)
            if empty or (harmless and isinstance(expr.body, Const) and expr.body.value == neutral):
                return Const(BoolT(), neutral, expr.loc)
        case "sum":
            if empty:
                return Const(IntT(0, 0), 0, expr.loc)
        case "first" | "min" | "max":
            if empty and expr.default is not None:
                return expr.default
        case _:
            pass
    return expr
