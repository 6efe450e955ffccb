"""Counts that are only compared with nothing or one: how large a set is cannot be said, whether it is empty can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvproto.ir.nodes import Binary, Const, Expr, Quant, Unary
from kvproto.ir.types import SortT
from kvproto.prove.logic.formula import TRUE, Formula, Truth, Var, conj, disj, neg
from kvproto.prove.lowering.simplify import existing
from kvproto.prove.lowering.values import Elements, Members, as_formula, some_element, variable

if TYPE_CHECKING:
    from kvproto.prove.lowering.reading import Reading

_FLIPPED = {"<": ">", "<=": ">=", "==": "==", "!=": "!="}


def zero_test(where: Reading, expr: Binary) -> Formula | None:
    """A comparison of a count with 0 (or one that means the same, such as `< 1`) as a formula; None for others."""
    if expr.op not in _FLIPPED:
        return None
    count, op, other = expr.left, str(expr.op), expr.right
    if isinstance(count, Const):
        count, op, other = expr.right, _FLIPPED[expr.op], expr.left
    if not isinstance(other, Const) or isinstance(other.value, bool) or not isinstance(other.value, int):
        return None
    if not _is_count(count):
        return None
    wanted = _some(op, other.value)
    if wanted is None:
        return None
    found = _positive(where, count)
    return found if wanted else neg(found)


def _some(op: str, value: int) -> bool | None:
    """Whether the comparison says that there are some (True), none (False), or neither."""
    match op, value:
        case ("!=" | ">", 0) | (">=", 1):
            return True
        case ("==" | "<=", 0) | ("<", 1):
            return False
        case _:
            return None


def _is_count(expr: Expr) -> bool:
    if isinstance(expr, Unary) and expr.op == "card":
        return True
    return isinstance(expr, Quant) and expr.op == "sum" and expr.domain.whole and _over_sort(expr)


def _over_sort(expr: Quant) -> bool:
    return isinstance(expr.domain.type, SortT) and _counts(expr.body)


def _counts(body: Expr) -> bool:
    """Whether every round adds nothing or something positive."""
    if isinstance(body, Const):
        return isinstance(body.value, int) and body.value >= 0
    return (isinstance(body, Unary) and body.op in ("int", "card")) or _is_count(body)


def _positive(where: Reading, expr: Expr) -> Formula:
    match expr:
        case Const():
            return Truth(bool(expr.value))
        case Unary(op="card"):
            found = where.value(expr.arg)
            if isinstance(found, Elements):
                return some_element(found.sort, found.has)
            assert isinstance(found, Members)
            return disj(test for _, test in found.cases)
        case Unary():
            return as_formula(where.value(expr.arg))
        case Quant():
            assert isinstance(expr.domain.type, SortT)
            var = Var(expr.var, expr.domain.type.name)
            with where.binding(var):
                where.env[expr.var] = variable(var)
                inside = TRUE if expr.where is None else where.formula(expr.where)
                with where.given(inside):
                    body = _positive(where, expr.body)
            return existing((var,), conj((inside, body)))
        case _:
            raise AssertionError(expr)
