"""Expressions of the IR as formulas and terms over the state before the step."""

from __future__ import annotations

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Binary,
    Checked,
    Cond,
    Const,
    Expr,
    Let,
    Local,
    Logic,
    Quant,
    Read,
    SetOf,
    ToIndex,
    Unary,
)
from kvproto.ir.types import BoolT, EnumT, IntT, OptT, SetT, SortT
from kvproto.prove.logic.formula import (
    FALSE,
    TRUE,
    Apply,
    Atom,
    Choose,
    Compare,
    Formula,
    Num,
    Same,
    Term,
    Times,
    Truth,
    Var,
    conj,
    disj,
    neg,
)
from kvproto.prove.lowering.count import zero_test
from kvproto.prove.lowering.fail import refuse, refuse_arithmetic, refuse_count, refuse_element, refuse_number
from kvproto.prove.lowering.quants import Quantifiers
from kvproto.prove.lowering.simplify import simplified
from kvproto.prove.lowering.state import keys_of
from kvproto.prove.lowering.values import (
    Carried,
    Element,
    Elements,
    Finite,
    Meaning,
    Members,
    Number,
    among,
    as_formula,
    combined,
    contained,
    equal,
    literal,
    merged,
    none_of,
    nothing,
    plus,
    some_element,
    term_of,
    times,
    truth_as_finite,
)


class Expressions(Quantifiers):
    """Evaluates expressions in one function, in the state as it is at that point of the function."""

    def value(self, expr: Expr) -> Meaning:
        """What an expression means here."""
        match expr:
            case Const():
                return self._constant(expr)
            case Local():
                return self._local(expr)
            case Read():
                return self.read(expr)
            case Unary():
                return self._unary(expr)
            case Binary():
                return self._binary(expr)
            case Logic():
                return self._logic(expr)
            case Cond():
                return self._cond(expr)
            case Let():
                self.env[expr.name] = self.value(expr.value)
                return self.value(expr.body)
            case Checked():
                self.must(self.formula(expr.test), expr.code, expr.message, expr.loc)
                return self.value(expr.body)
            case SetOf():
                return self._set_of(expr)
            case ToIndex():
                return self._to_index(expr)
            case Quant():
                return self.quant(expr)

    def _constant(self, expr: Const) -> Meaning:
        kind, value = expr.type, expr.value
        inner = kind.inner if isinstance(kind, OptT) else kind
        match inner:
            case SortT():
                if value is None:
                    return nothing(inner.name)
                refuse_element(inner.name, expr.loc)
            case BoolT() if not isinstance(kind, OptT):
                return Truth(bool(value))
            case BoolT() | EnumT():
                return Finite(((value, TRUE),))
            case IntT():
                return Number(Num(0), TRUE) if value is None else Number(Num(int(value)))  # type: ignore[arg-type]
            case SetT(element=SortT() as element):
                if value:
                    refuse_element(element.name, expr.loc)
                return Elements(element.name, lambda _: FALSE)
            case SetT(element=element):
                assert isinstance(value, frozenset)
                return Members(tuple((v, Truth(v in value)) for v in keys_of(element, "a set")))
            case _:
                raise AssertionError(f"a constant of type {kind}")

    def _local(self, expr: Local) -> Meaning:
        if expr.name in self.world.numbers:
            return Number(Apply(self.world.numbers[expr.name]))
        found = self.env[expr.name]
        if isinstance(found, Carried):
            refuse(
                "KV164",
                f"{expr.name.split('.')[0]!r} goes from one round of a loop to the next",
                expr.loc,
                "rounds of a loop over a sort have no order here, so each has to stand for itself",
                "use any(...), all(...) or a set, or choose the element with a parameter of the action",
            )
        return found

    def _logic(self, expr: Logic) -> Formula:
        tests: list[Formula] = []
        before = self.path
        for arg in expr.args:
            test = as_formula(self.value(arg))
            tests.append(test)
            self.path = conj((self.path, test if expr.op == "and" else neg(test)))
        self.path = before
        return conj(tests) if expr.op == "and" else disj(tests)

    def _cond(self, expr: Cond) -> Meaning:
        test = self.formula(expr.test)
        if isinstance(test, Truth):
            return self.value(expr.then if test.value else expr.orelse)
        with self.given(test):
            then = self.value(expr.then)
        with self.given(neg(test)):
            other = self.value(expr.orelse)
        return merged(test, then, other)

    def _unary(self, expr: Unary) -> Meaning:
        if expr.op == "card":
            refuse_count(expr.loc)
        if expr.op == "int" and isinstance(expr.arg.type, SortT):
            refuse_number(expr.arg.type.name, expr.loc)
        found = self.value(expr.arg)
        match expr.op:
            case "not":
                return neg(as_formula(found))
            case "neg":
                return Number(Times(-1, term_of(found)))
            case "int":
                return found if isinstance(found, Number) else Number(Choose(as_formula(found), Num(1), Num(0)))
            case "is_none":
                return none_of(found)
            case "some":
                if isinstance(expr.type, OptT) and isinstance(expr.type.inner, IntT) and isinstance(found, Number):
                    self.fits(found, expr.type.inner, expr.loc)
                return truth_as_finite(found) if isinstance(expr.type, OptT) and _is_bool(expr.type) else found
            case _:
                return self._unwrapped(found, expr)

    def _unwrapped(self, found: Meaning, expr: Unary) -> Meaning:
        none = none_of(found)
        self.must(neg(none), "KV203", f"None is used where {expr.type} is needed", expr.loc)
        match found:
            case Element():
                return Element(found.sort, found.is_, FALSE, found.var)
            case Number():
                return Number(found.term)
            case Finite():
                cases = tuple((value, test) for value, test in found.cases if value is not None)
                return disj(test for value, test in cases if value) if isinstance(expr.type, BoolT) else Finite(cases)
            case _:
                return found

    def fits(self, number: Number, kind: IntT, loc: Loc) -> None:
        """A duty: the number is within known bounds.  Where numbers are symbols a bound is a horizon."""
        if self.world.numbers:
            return
        for bound, low in ((kind.lo, True), (kind.hi, False)):
            if bound is not None:
                pair = (Num(bound), number.term) if low else (number.term, Num(bound))
                self.must(Compare("<=", *pair), "KV201", f"a number does not fit {kind}", loc)

    def _to_index(self, expr: ToIndex) -> Meaning:
        if isinstance(expr.type, SortT):
            refuse_number(expr.type.name, expr.loc)
        found = self.value(expr.arg)
        if isinstance(found, Number) and isinstance(expr.type, IntT):
            for bound, low in ((expr.type.lo, True), (expr.type.hi, False)):
                if bound is not None:
                    pair = (Num(bound), found.term) if low else (found.term, Num(bound))
                    self.must(Compare("<=", *pair), "KV202", f"an index is outside {expr.type}", expr.loc)
        return found

    def _set_of(self, expr: SetOf) -> Meaning:
        assert isinstance(expr.type, SetT)
        items = [self.value(item) for item in expr.items]
        if isinstance(expr.type.element, SortT):
            elements = [item for item in items if isinstance(item, Element)]
            return Elements(expr.type.element.name, lambda v: disj(item.is_(v) for item in elements))
        values = keys_of(expr.type.element, "a set")
        return Members(tuple((v, disj(equal(item, literal(v)) for item in items)) for v in values))

    # --- operators ------------------------------------------------------------------------------------

    def _binary(self, expr: Binary) -> Meaning:
        if (counted := zero_test(self, expr)) is not None:
            return counted
        if expr.op in ("<", "<=") and (order := self._order(expr)) is not None:
            return order
        left, right = self.value(expr.left), self.value(expr.right)
        match expr.op:
            case "==":
                return equal(left, right)
            case "!=":
                return neg(equal(left, right))
            case "in":
                return among(left, right)
            case "union" | "inter" | "diff":
                return combined(expr.op, left, right)
            case "subset":
                return contained(left, right)
            case "<" | "<=":
                return simplified(Compare(expr.op, term_of(left), term_of(right)))
            case "+":
                return Number(plus(term_of(left), term_of(right)))
            case "-":
                return Number(plus(term_of(left), times(-1, term_of(right))))
            case "min" | "max":
                one, other = term_of(left), term_of(right)
                first = Compare("<=", one, other)
                return Number(Choose(first, one, other) if expr.op == "min" else Choose(first, other, one))
            case "*":
                return self._product(term_of(left), term_of(right), expr.loc)
            case _:
                refuse_arithmetic(expr.op, expr.loc)

    def _order(self, expr: Binary) -> Formula | None:
        """The order of elements, by itself or of their numbers."""
        sides = [_without_int(side) for side in (expr.left, expr.right)]
        if not all(isinstance(side.type, SortT) for side in sides):
            return None
        one, other = (self.value(side) for side in sides)
        assert isinstance(one, Element) and isinstance(other, Element)
        before = self.world.order(one.sort)

        def less(v: Var, w: Var) -> Formula:
            same = Same(v, w) if expr.op == "<=" and v != w else Truth(expr.op == "<=" and v == w)
            return disj((Atom(before, (v, w)), same))

        if one.var is not None and other.var is not None:
            return less(one.var, other.var)
        first, second = one, other
        return some_element(
            one.sort,
            lambda v: conj((first.is_(v), some_element(one.sort, lambda w: conj((second.is_(w), less(v, w)))))),
        )

    def _product(self, one: Term, other: Term, loc: Loc) -> Number:
        if isinstance(one, Num):
            return Number(times(one.value, other))
        if isinstance(other, Num):
            return Number(times(other.value, one))
        refuse_arithmetic("*", loc)


def _is_bool(kind: OptT) -> bool:
    return isinstance(kind.inner, BoolT)


def _without_int(expr: Expr) -> Expr:
    """The element whose number is taken."""
    return expr.arg if isinstance(expr, Unary) and expr.op == "int" else expr
