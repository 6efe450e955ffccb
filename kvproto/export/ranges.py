"""Bounds of numbers: what need not be checked where the model runs in a language without bounds.

Only what holds in every state counts: declared bounds of the state (stores are checked), constants, loop variables and
arithmetic on these.  What a local holds is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvproto.ir.nodes import Binary, Checked, Cond, Const, Expr, Let, Local, Quant, Read, ToIndex, Unary
from kvproto.ir.types import BoolT, EnumT, IntT, LeafT, OptT, SetT, SortT, Value, cardinality

Bounds = tuple[int, int]


def type_bounds(kind: object) -> Bounds | None:
    """Smallest and largest number of a scalar type, by position for sorts and members."""
    match kind:
        case BoolT():
            return 0, 1
        case SortT(size=size):
            return 0, size - 1
        case EnumT(members=members):
            return 0, len(members) - 1
        case IntT(lo=int(lo), hi=int(hi)):
            return lo, hi
        case _:
            return None


def bounds(expr: Expr, known: Mapping[str, Bounds]) -> Bounds | None:
    """Numbers that the expression can be, None if nothing is known; `known` are loop variables and parameters."""
    if not isinstance(expr.type, IntT):
        return type_bounds(expr.type)
    match expr:
        case Const(value=int(value)):
            return int(value), int(value)
        case Read(type=kind) | ToIndex(type=kind) | Checked(type=kind):
            return type_bounds(kind)
        case Local(name=name):
            return known.get(name)
        case Cond(then=then, orelse=orelse):
            return _hull(bounds(then, known), bounds(orelse, known))
        case Let(body=body):
            return bounds(body, known)
        case Unary(op="int" | "unwrap", arg=arg):
            inner = arg.type.inner if isinstance(arg.type, OptT) else arg.type
            return bounds(arg, known) if isinstance(inner, IntT) and inner is arg.type else type_bounds(inner)
        case Unary(op="neg", arg=arg):
            found = bounds(arg, known)
            return None if found is None else (-found[1], -found[0])
        case Unary(op="card", arg=arg):
            return (0, cardinality(arg.type.element)) if isinstance(arg.type, SetT) else None
        case Binary():
            return _binary(expr, known)
        case Quant():
            return _quant(expr, known)
        case _:
            return None


def _hull(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _binary(expr: Binary, known: Mapping[str, Bounds]) -> Bounds | None:
    left, right = bounds(expr.left, known), bounds(expr.right, known)
    if left is None or right is None:
        return None
    match expr.op:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case "min":
            return min(left[0], right[0]), min(left[1], right[1])
        case "max":
            return max(left[0], right[0]), max(left[1], right[1])
        case "//" if right[0] > 0:
            corners = [a // b for a in left for b in right]
            return min(corners), max(corners)
        case "%" if right[0] > 0:
            return 0, right[1] - 1
        case _:
            return None


def _quant(expr: Quant, known: Mapping[str, Bounds]) -> Bounds | None:
    inner = {**known, **domain_bounds(expr.var, expr.domain.type, expr.domain.values)}
    body = bounds(expr.body, inner)
    if body is None:
        return None
    match expr.op:
        case "sum":
            times = len(expr.domain.values)
            return times * min(body[0], 0), times * max(body[1], 0)
        case "min" | "max" | "first":
            return body if expr.default is None else _hull(body, bounds(expr.default, known))
        case _:
            return None


def domain_bounds(var: str, kind: LeafT, values: tuple[Value, ...]) -> dict[str, Bounds]:
    """What is known of a loop variable."""
    numbers = [v for v in values if isinstance(v, int)]
    if not isinstance(kind, IntT) or not numbers:
        return {}
    return {var: (min(numbers), max(numbers))}


def within(found: Bounds | None, wanted: Bounds | None) -> bool:
    """Whether every number found is one of those wanted."""
    return found is not None and wanted is not None and wanted[0] <= found[0] and found[1] <= wanted[1]
