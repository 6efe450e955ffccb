"""When evaluating an expression goes wrong, as a Promela condition.

An index outside its sort, None used as a value, division by zero, a number that does not fit, an extreme of nothing:
all are errors of the model.  `sound` is true where none of them happens; it follows the order of evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvproto.export.promela.text import FALSE, TRUE, Text, conj, decide, disj, infix, literal, neg
from kvproto.export.promela.values import Case, Env, Values
from kvproto.export.ranges import bounds, type_bounds, within
from kvproto.ir.nodes import Binary, Checked, Cond, Const, Expr, Let, Local, Logic, Quant, SetOf, ToIndex, Unary
from kvproto.ir.types import BoolT, EnumT, IntT, OptT, ScalarT, SetT, SortT
from kvproto.ir.walk import can_fault, children


class Faults:
    """Finds out where expressions of one system go wrong."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def sound(self, expr: Expr, env: Env) -> Text:
        """Whether the expression has a value."""
        match expr:
            case Const() | Local():
                return TRUE
            case _ if not can_fault(expr):
                return TRUE
            case Logic(op=op, args=args):
                return self._logic(op == "and", args, env)
            case Cond(test=test, then=then, orelse=orelse):
                taken = decide(self.values.number(test, env), self.sound(then, env), self.sound(orelse, env))
                return conj([self.sound(test, env), taken])
            case Let(name=name, value=value, body=body):
                inner = env.bind(name, self.values.value(value, env), bounds(value, env.ranges))
                return conj([self.sound(value, env), self.sound(body, inner)])
            case Checked(test=test, body=body):
                return conj([self.sound(test, env), self.values.number(test, env), self.sound(body, env)])
            case Quant():
                return self._quant(expr, env)
            case _:
                return conj([*(self.sound(child, env) for child in children(expr)), self._itself(expr, env)])

    def fits(self, expr: Expr, kind: ScalarT, env: Env) -> Text:
        """Whether a number belongs to a type; elements and members always do."""
        wanted = type_bounds(kind)
        if wanted is None or within(bounds(expr, env.ranges), wanted):
            return TRUE
        value = self.values.number(expr, env)
        return conj([infix("<=", literal(wanted[0]), value), infix("<=", value, literal(wanted[1]))])

    def _itself(self, expr: Expr, env: Env) -> Text:
        """Whether the operator has a value, its operands having one."""
        match expr:
            case ToIndex(type=BoolT() | IntT() | SortT() | EnumT() as kind, arg=arg):
                return self.fits(arg, kind, env)
            case Unary(op="unwrap", arg=arg):
                return infix("!=", self.values.number(arg, env), Text(self.values.storage.none))
            case Unary(op="some", type=OptT(inner=inner), arg=arg):
                return self.fits(arg, inner, env)
            case Binary(op="//" | "%", right=right):
                found = bounds(right, env.ranges)
                if found is not None and (found[0] > 0 or found[1] < 0):
                    return TRUE
                return infix("!=", self.values.number(right, env), literal(0))
            case SetOf(type=SetT(element=element), items=items):
                return conj(self.fits(item, element, env) for item in items)
            case _:
                return TRUE

    def _logic(self, every: bool, args: Sequence[Expr], env: Env) -> Text:
        """`and`, `or`: what is evaluated must be sound."""
        result = TRUE
        for arg in reversed(args):
            value = self.values.number(arg, env)
            go_on = value if every else neg(value)
            result = conj([self.sound(arg, env), disj([neg(go_on), result])])
        return result

    def _quant(self, expr: Quant, env: Env) -> Text:
        cases = self._all_cases(expr, env)
        needed = expr.op in ("first", "min", "max")
        rest = self.sound(expr.default, env) if expr.default is not None else FALSE if needed else TRUE
        if expr.op in ("sum", "set", "min", "max"):
            some = disj(c.where for c in cases)
            return conj([*(self._case(expr, c) for c in cases), disj([some, rest]) if needed else TRUE])
        for case in reversed(cases):
            rest = self._then(expr, case, rest)
        return rest

    def _all_cases(self, expr: Quant, env: Env) -> list[Case]:
        """Cases with those that are never picked: asking may go wrong all the same."""
        if expr.where is None or not can_fault(expr.where):
            return self.values.cases(expr, env)
        return self.values.cases(expr, env, every=True)

    def _case(self, expr: Quant, case: Case) -> Text:
        asked = TRUE if expr.where is None else self.sound(expr.where, case.env)
        body = self.sound(expr.body, case.env)
        if expr.op == "set" and isinstance(expr.type, SetT) and not isinstance(expr.body.type, SetT):
            body = conj([body, self.fits(expr.body, expr.type.element, case.env)])
        return conj([asked, disj([neg(case.where), body])])

    def _then(self, expr: Quant, case: Case, rest: Text) -> Text:
        """One case of a quantifier that stops when it knows, and then the rest."""
        if expr.op == "first":
            asked = TRUE if expr.where is None else self.sound(expr.where, case.env)
            return conj([asked, decide(case.where, self.sound(expr.body, case.env), rest)])
        value = self.values.number(expr.body, case.env)
        decided = conj([case.where, value if expr.op == "any" else neg(value)])
        return conj([self._case(expr, case), disj([decided, rest])])
