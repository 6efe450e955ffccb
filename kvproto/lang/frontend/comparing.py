"""Comparisons, membership, and the algebra of sets."""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import NoReturn

from kvproto.ir.nodes import Binary, BinaryOp, Const, Expr, SetOf, Unary
from kvproto.ir.shapes import shape_of
from kvproto.ir.types import ArrayT, EnumT, IntT, NoneT, OptT, RecordT, SetT, SortT, Type
from kvproto.lang.frontend.bundles import Bundles, kind_of
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.refused import FINITE
from kvproto.lang.frontend.values import Alias, Bundle, Found, Static
from kvproto.lang.sorts import Sort

SETWISE: dict[type[ast.operator], BinaryOp] = {ast.BitOr: "union", ast.BitAnd: "inter", ast.Sub: "diff"}


class Comparisons(Bundles):
    """Translates what compares values, and operators of sets."""

    # --- sets -----------------------------------------------------------------------------------------

    def setwise(self, op: BinaryOp, left: Found, right: Found, node: ast.AST) -> Found:
        """Union, intersection or difference of two sets of one type."""
        if isinstance(left, Bundle) or isinstance(right, Bundle):
            one, other = self.large_sets(left, right, node)
            pairs = zip(one.parts, other.parts, strict=True)
            return Bundle(one.type, tuple(self.bitwise(op, a, b, node) for a, b in pairs), self.loc(node))
        kind = right.type if isinstance(left, SetOf) and not left.items else left.type
        if not isinstance(kind, SetT) or not isinstance(right.type, SetT):
            self.mismatch(right.type, left.type, node, "the right side")
        small, same = self.same_sets(left, right, node)
        return self.binary(op, small, same, small.type, node)

    def large_sets(self, left: Found, right: Found, node: ast.AST) -> tuple[Bundle, Bundle]:
        """Two sets of one type with one boolean for each element."""
        kind = left.type if isinstance(left, Bundle) else right.type
        if not isinstance(kind, RecordT) or kind.shape != "set":
            self.mismatch(right.type, left.type, node, "the right side")
        one = self.coerce_whole(left, kind, node, "the left side")
        return one, self.coerce_whole(right, kind, node, "the right side")

    def bitwise(self, op: BinaryOp, one: Expr, other: Expr, node: ast.AST) -> Expr:
        """The operator on one element: whether it is in the left and in the right set."""
        match op:
            case "union":
                return self.logic("or", [one, other], node)
            case "inter":
                return self.logic("and", [one, other], node)
            case "diff":
                return self.logic("and", [one, self.negate(other)], node)
            case _:
                return self.logic("or", [self.negate(one), other], node)

    # --- comparisons ----------------------------------------------------------------------------------

    def compare(self, node: ast.Compare) -> Expr:
        """A comparison or a chain of them."""
        sides = [node.left, *node.comparators]
        tests: list[Expr] = []
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):

            def test(op: ast.cmpop = op, left: ast.expr = left, right: ast.expr = right) -> Expr:
                return self.comparison(op, left, right, node)

            tests.append(self.scoped(test) if tests else test())
        return self.logic("and", tests, node)

    def comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        """One comparison of a chain."""
        match op:
            case ast.Eq() | ast.Is():
                return self._equality(op, left, right, node)
            case ast.NotEq() | ast.IsNot():
                return self.negate(self._equality(op, left, right, node))
            case ast.In():
                return self._membership(left, right, node)
            case ast.NotIn():
                return self.negate(self._membership(left, right, node))
            case ast.Lt():
                return self._order("<", left, right, node)
            case ast.LtE():
                return self._order("<=", left, right, node)
            case ast.Gt():
                return self._order("<", right, left, node)
            case _:
                return self._order("<=", right, left, node)

    def _equality(self, op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        one, other = self.anything(left), self.anything(right)
        if isinstance(op, ast.Is | ast.IsNot) and not isinstance(other.type, NoneT | EnumT):
            self.fail(
                "KV146",
                node,
                "`is` between values",
                "identity of Python objects has no meaning in a model",
                "write == or !=; `is` is for None and members",
            )
        return self.equal(one, other, node)

    def _order(self, op: BinaryOp, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        first, second = self.anything(left), self.anything(right)
        if isinstance(first, Bundle) or isinstance(second, Bundle):
            return self._order_of_sets(op, *self.large_sets(first, second, node), node)
        one, other = first, second
        if isinstance(one.type, SetT) and isinstance(other.type, SetT):
            one, other = self.same_sets(one, other, node)
            subset = self.binary("subset", one, other, BOOL, node)
            if op == "<=":
                return subset
            return self.logic("and", [subset, self.negate(self.equal(one, other, node))], node)
        if isinstance(one.type, SortT) and one.type == other.type:
            return self.binary(op, one, other, BOOL, node)
        if isinstance(one.type, EnumT | type(BOOL)) or isinstance(other.type, EnumT | type(BOOL)):
            self.fail(
                "KV108",
                node,
                f"{one.type} and {other.type} are compared by order",
                "members and booleans have no order",
                "use `in (A, B)` or ==",
            )
        return self.binary(op, self.as_integer(one, left), self.as_integer(other, right), BOOL, node)

    def _order_of_sets(self, op: BinaryOp, one: Bundle, other: Bundle, node: ast.AST) -> Expr:
        pairs = zip(one.parts, other.parts, strict=True)
        subset = self.logic("and", [self.bitwise("subset", a, b, node) for a, b in pairs], node)
        if op == "<=":
            return subset
        return self.logic("and", [subset, self.negate(self.equal(one, other, node))], node)

    def _in_range(self, number: Expr, numbers: range, node: ast.AST) -> Expr:
        loc = self.loc(node)
        if numbers.step != 1:
            return self.logic("or", [self.equal(number, Const(IntT(n, n), n, loc), node) for n in numbers], node)
        low, high = Const(INT, numbers.start, loc), Const(INT, numbers.stop, loc)
        within = [self.binary("<=", low, number, BOOL, node), self.binary("<", number, high, BOOL, node)]
        return self.logic("and", within, node)

    def _among(self, element: Found, items: list[Found], node: ast.AST, at: int = 0) -> Expr:
        """element in (a, b, ...): every item is computed before any is compared."""
        if at == len(items):
            return self.logic("or", [self.equal(element, item, node) for item in items], node)

        def rest(item: Expr) -> Expr:
            return self._among(element, [*items[:at], item, *items[at + 1 :]], node, at + 1)

        item = items[at]
        return self._among(element, items, node, at + 1) if isinstance(item, Bundle) else self.once(item, rest)

    def _membership(self, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        element = self.anything(left)
        if isinstance(right, ast.List):
            self.fail("KV134", right, "a list as a value is outside the language", FINITE, "write a tuple: `in (A, B)`")
        if isinstance(right, ast.Set) and isinstance(element, Bundle):
            return self._among(element, [self.anything(item) for item in right.elts], node)
        container = self.operand(right)
        if isinstance(container, Static):
            return self._in_static(element, container, left, right, node)
        if isinstance(container, Alias | Bundle):
            kind = kind_of(container)
            if shape_of(kind) in ("queue", "set", "bag"):
                return self.contains(container, element, left, node)
            if isinstance(kind, ArrayT):
                self._no_container(kind, right, f"write any({ast.unparse(right)}[x] == ... for x in {kind.index})")
        members = self.value(container, right)
        if not isinstance(members.type, SetT):
            self._no_container(members.type, right, "compare with == instead")
        if isinstance(members, SetOf):
            return self._among(element, list(members.items), node)
        item = self.coerce(self.value(element, left), members.type.element, left, "the element")
        if not isinstance(element.type, OptT):
            return Binary(BOOL, "in", item, members, self.loc(node))
        there = self.negate(Unary(BOOL, "is_none", self.value(element, left), item.loc))  # None is in no set
        return self.once(members, lambda m: self.logic("and", [there, self.binary("in", item, m, BOOL, node)], node))

    def _in_static(self, element: Found, container: Static, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        """Membership in something that is known while the model is read."""
        if isinstance(container.value, tuple):
            return self._among(element, [self.whole(item, right) for item in container.value], node)
        if isinstance(container.value, range):
            return self._in_range(self.as_integer(self.value(element, left), left), container.value, node)
        if isinstance(container.value, Sort):
            self.fail("KV102", node, "every element is in its sort", "this test is always true", "drop it")
        return self.value(container, right)

    def _no_container(self, kind: Type, node: ast.AST, cure: str) -> NoReturn:
        self.fail(
            "KV107",
            node,
            f"`in` needs a set, not {kind}",
            "membership is defined for sets, bags, queues, tuples of constants and ranges",
            cure,
        )

    @abstractmethod
    def contains(self, found: Alias | Bundle, element: Found, written: ast.expr, node: ast.AST) -> Expr:
        """`element in found`, which is a queue, a bag or a large set."""
