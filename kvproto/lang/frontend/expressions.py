"""Expressions: names, fields, indices, operators, comparisons."""

from __future__ import annotations

import ast
import builtins
import types
from enum import Enum
from typing import Any, NoReturn

from kvproto.diagnostics import did_you_mean
from kvproto.ir.nodes import Binary, BinaryOp, Cond, Const, Expr, Local, Place, Read, SetOf, Unary
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, NoneT, OptT, RecordT, SetT, SortT, Type
from kvproto.lang.binding import Params
from kvproto.lang.frontend import refused
from kvproto.lang.frontend.core import BOOL, INT, Core
from kvproto.lang.frontend.refused import FINITE
from kvproto.lang.frontend.typing import enum_type
from kvproto.lang.frontend.values import Alias, Operand, Static, Unusable, Variable
from kvproto.lang.sorts import Sort
from kvproto.lang.source import assigned_names

ARITHMETIC: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
SETWISE: dict[type[ast.operator], BinaryOp] = {ast.BitOr: "union", ast.BitAnd: "inter", ast.Sub: "diff"}


class Expressions(Core):
    """Translates every expression but calls and comprehensions."""

    def operand(self, node: ast.expr) -> Operand:
        """Translate an expression to whatever it stands for."""
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return self.logic(word, self._operands(values), node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binop(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Call():
                return self.call(node)
            case ast.SetComp():
                return self.comprehension("set", node)
            case ast.Set(elts=elts):
                return self._set_literal(elts, node)
            case ast.Tuple(elts=elts):
                return Static(tuple(self.operand(e) for e in elts), self.loc(node))
            case _:
                self._outside(node)

    def _operands(self, values: list[ast.expr]) -> list[Expr]:
        """Operands of `and` and `or` where a value is needed: truth values, since Python gives one of them."""
        parts: list[Expr] = []
        for value in values:
            part = self.expr(value) if not parts else self.scoped(lambda v=value: self.expr(v))  # type: ignore[misc]
            if not isinstance(part.type, BoolT):
                self.no_condition(part.type, value)
            parts.append(part)
        return parts

    def condition(self, node: ast.BoolOp) -> Expr:
        """`and` and `or` as a condition: sets may be operands."""
        first, *rest = node.values
        parts = [self.truth(first), *(self.scoped(lambda v=v: self.truth(v)) for v in rest)]  # type: ignore[misc]
        return self.logic("and" if isinstance(node.op, ast.And) else "or", parts, node)

    def _outside(self, node: ast.expr) -> NoReturn:
        code, what, reason, cure = refused.expression(node)
        self.fail(code, node, f"{what} is outside the language", reason, cure)

    def _literal(self, node: ast.Constant) -> Expr:
        loc = self.loc(node)
        match node.value:
            case bool():
                return Const(BOOL, node.value, loc)
            case int():
                return Const(IntT(node.value, node.value), node.value, loc)
            case None:
                return Const(NoneT(), None, loc)
            case _:
                what = "a string" if isinstance(node.value, str | bytes) else f"a {type(node.value).__name__}"
                self.fail(
                    "KV132",
                    node,
                    f"{what} is no value of a model",
                    "a model has finitely many values: booleans, bounded integers, members, elements",
                    "use an Enum for names and Int(lo, hi) for quantities",
                )

    # --- names, fields, indices -----------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Operand:
        bound = self.frame.names.get(node.id)
        if isinstance(bound, Variable):
            return Local(bound.type, bound.name, self.loc(node))
        if isinstance(bound, Alias | Static):
            return bound
        if isinstance(bound, Unusable):
            reason = "a name must have one meaning here, on every way"
            self.fail("KV125", node, f"{node.id!r} {bound.why}", reason, bound.cure)
        if node.id in self.frame.fn.__code__.co_freevars:
            self.fail(
                "KV136",
                node,
                f"{node.id!r} belongs to an enclosing function",
                "models are read from module level, where every name has one meaning",
                "move the function to the top level and pass the value as an argument",
            )
        if node.id in assigned_names(self.frame.fn):
            self.fail(
                "KV125",
                node,
                f"{node.id!r} is not assigned before this line",
                "a name that a function assigns is local to it, everywhere in the function",
                "assign it first, or take another name",
            )
        missing = object()
        found = self.frame.globals.get(node.id, getattr(builtins, node.id, missing))
        if found is missing:
            known = [*self.frame.names, *self.frame.globals]
            self.fail(
                "KV105",
                node,
                f"unknown name {node.id!r}{did_you_mean(node.id, known)}",
                "names are locals, parameters, or globals of the module the function stands in",
                "define it, import it, or correct the spelling",
            )
        return self.known(found, node)

    def known(self, found: Any, node: ast.AST) -> Operand:
        """A Python object that the text names: constants become values, the rest stays static."""
        loc = self.loc(node)
        match found:
            case bool():
                return Const(BOOL, found, loc)
            case int() if not isinstance(found, Enum):
                return Const(IntT(found, found), found, loc)
            case None:
                return Const(NoneT(), None, loc)
            case Enum():
                return Const(enum_type(type(found)), found.name, loc)
            case tuple():
                return Static(tuple(self.known(item, node) for item in found), loc)
            case _:
                return Static(found, loc)

    def _attribute(self, node: ast.Attribute) -> Operand:
        base = self.operand(node.value)
        if isinstance(base, Alias):
            return self._field(base.place, node)
        if isinstance(base, Static):
            return self._static_attribute(base.value, node)
        self.fail(
            "KV122",
            node,
            f"a value of type {base.type} has no fields",
            "only records have fields",
            "drop the attribute, or index an array first",
        )

    def _field(self, place: Place, node: ast.Attribute) -> Operand:
        if not isinstance(place.type, RecordT):
            self.fail(
                "KV122",
                node,
                f"{place.type} has no field {node.attr!r}",
                "only records have fields; sets have add, discard and clear as statements",
                "index the array first" if isinstance(place.type, ArrayT) else "see docs/language.md",
            )
        kind = place.type.get(node.attr)
        if kind is None:
            known = [name for name, _ in place.type.fields]
            self.fail(
                "KV106",
                node,
                f"{place.type} has no field {node.attr!r}{did_you_mean(node.attr, known)}",
                "fields are declared by annotations in the state class",
                f"use one of: {', '.join(known)}",
            )
        return self.at(Place(kind, (*place.steps, node.attr), self.loc(node)))

    def at(self, place: Place) -> Operand:
        """A place as an operand: an alias for parts of the state that can change under a name, else its value."""
        if isinstance(place.type, RecordT | ArrayT | SetT):
            return Alias(place)
        return Read(place.type, place, place.loc)

    def _static_attribute(self, owner: Any, node: ast.Attribute) -> Operand:
        loc = self.loc(node)
        if isinstance(owner, Params):
            parameters = type(owner).parameters()
            if node.attr in parameters:
                value = getattr(owner, node.attr)
                found = self.known(value, node)
                assert isinstance(found, Const)
                return Const(found.type, found.value, loc, node.attr)
            known = list(parameters)
        elif isinstance(owner, types.ModuleType) or (isinstance(owner, type) and issubclass(owner, Enum)):
            if hasattr(owner, node.attr):
                return self.known(getattr(owner, node.attr), node)
            known = list(owner.__members__) if isinstance(owner, type) else dir(owner)
        else:
            name = getattr(owner, "__name__", None) or repr(owner)
            self.fail(
                "KV122",
                node,
                f"{name} has no attribute that a model can use",
                "attributes are fields of the state, members of enumerations, parameters, and names of modules",
                f"len({owner.name}) is its size" if isinstance(owner, Sort) else "use one of these",
            )
        name = getattr(owner, "__name__", type(owner).__name__)
        self.fail(
            "KV106",
            node,
            f"{name} has no {node.attr!r}{did_you_mean(node.attr, known)}",
            "it is not declared there",
            "declare it, or correct the spelling",
        )

    def _subscript(self, node: ast.Subscript) -> Operand:
        base = self.operand(node.value)
        if isinstance(node.slice, ast.Slice | ast.Tuple):
            self.fail(
                "KV102",
                node.slice,
                "slices and several indices at once are outside the language",
                "an array has one index type",
                "write s.a[i][j] for an array of arrays",
            )
        if not (isinstance(base, Alias) and isinstance(base.place.type, ArrayT)):
            what = str(base.place.type) if isinstance(base, Alias) else "this"
            self.fail(
                "KV121",
                node,
                f"{what} cannot be indexed",
                "only arrays of the state have indices",
                "declare it as Array(index, element)",
            )
        array = base.place.type
        index = self.index(self.expr(node.slice), array.index, node.slice)
        return self.at(Place(array.element, (*base.place.steps, index), self.loc(node)))

    # --- operators ------------------------------------------------------------------------------------

    def _unary(self, node: ast.UnaryOp) -> Expr:
        match node.op:
            case ast.Not():
                return self.negate(self.truth(node.operand))
            case ast.USub():
                inner = self.integer(node.operand)
                if isinstance(inner, Const) and isinstance(inner.value, int):
                    return Const(IntT(-inner.value, -inner.value), -inner.value, self.loc(node))
                return Unary(INT, "neg", inner, self.loc(node))
            case _:
                self.fail(
                    "KV102",
                    node,
                    "this operator is outside the language",
                    "numbers have no bits here",
                    "use + - * // %",
                )

    def _binop(self, node: ast.BinOp) -> Expr:
        left = self.expr(node.left)
        if isinstance(left.type, SetT) and type(node.op) in SETWISE:
            return self.setwise(SETWISE[type(node.op)], left, self.expr(node.right), node)
        op = ARITHMETIC.get(type(node.op))
        if op is None:
            self.fail(
                "KV102",
                node,
                "this operator is outside the language",
                "numbers have + - * // %, sets have | & -",
                "rewrite it with these",
            )
        return self.binary(op, self.integer(node.left), self.integer(node.right), INT, node)

    def setwise(self, op: BinaryOp, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """Union, intersection or difference of two sets of one type."""
        kind = right.type if isinstance(left, SetOf) and not left.items else left.type
        if not isinstance(kind, SetT) or not isinstance(right.type, SetT):
            self.mismatch(right.type, left.type, node, "the right side")
        one, other = self.same_sets(left, right, node)
        return self.binary(op, one, other, one.type, node)

    def _conditional(self, node: ast.IfExp) -> Expr:
        test = self.truth(node.test)
        then, orelse = (self.scoped(lambda v=v: self.expr(v)) for v in (node.body, node.orelse))  # type: ignore[misc]
        kind = self.meet([(then, node.body), (orelse, node.orelse)])
        one = self.coerce(then, kind, node.body, "this side")
        return Cond(kind, test, one, self.coerce(orelse, kind, node.orelse, "this side"), self.loc(node))

    def expected(self, node: ast.expr, wanted: Type) -> Expr:
        """An expression whose type is known from where it goes: alternatives need not agree among themselves."""
        if not isinstance(node, ast.IfExp):
            return self.expr(node)
        test = self.truth(node.test)

        def side(part: ast.expr) -> Expr:
            return self.coerce(self.expected(part, wanted), wanted, part, "this side")

        then, orelse = (self.scoped(lambda part=part: side(part)) for part in (node.body, node.orelse))  # type: ignore[misc]
        return Cond(wanted, test, then, orelse, self.loc(node))

    def _set_literal(self, elts: list[ast.expr], node: ast.AST) -> Expr:
        items = [self.expr(e) for e in elts]
        kind = self.meet([(i, e) for i, e in zip(items, elts, strict=True)])
        element: Type = kind
        if isinstance(kind, IntT):
            numbers = [i.value for i in items if isinstance(i, Const) and isinstance(i.value, int)]
            element = IntT(min(numbers), max(numbers)) if len(numbers) == len(items) else kind
        element = self.single(element, node, "an element of a set")
        parts = tuple(self.coerce(i, element, e, "an element") for i, e in zip(items, elts, strict=True))
        return SetOf(SetT(element), parts, self.loc(node))

    # --- comparisons ----------------------------------------------------------------------------------

    def _compare(self, node: ast.Compare) -> Expr:
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
        one, other = self.expr(left), self.expr(right)
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
        one, other = self.expr(left), self.expr(right)
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
        return self.binary(op, self.integer(left), self.integer(right), BOOL, node)

    def _in_range(self, number: Expr, numbers: range, node: ast.AST) -> Expr:
        loc = self.loc(node)
        if numbers.step != 1:
            return self.logic("or", [self.equal(number, Const(IntT(n, n), n, loc), node) for n in numbers], node)
        low, high = Const(INT, numbers.start, loc), Const(INT, numbers.stop, loc)
        within = [self.binary("<=", low, number, BOOL, node), self.binary("<", number, high, BOOL, node)]
        return self.logic("and", within, node)

    def _among(self, element: Expr, items: list[Expr], node: ast.AST, at: int = 0) -> Expr:
        """element in (a, b, ...): every item is computed before any is compared."""
        if at == len(items):
            return self.logic("or", [self.equal(element, item, node) for item in items], node)

        def rest(item: Expr) -> Expr:
            return self._among(element, [*items[:at], item, *items[at + 1 :]], node, at + 1)

        return self.once(items[at], rest)

    def _membership(self, left: ast.expr, right: ast.expr, node: ast.AST) -> Expr:
        element = self.expr(left)
        if isinstance(right, ast.List):
            self.fail("KV134", right, "a list as a value is outside the language", FINITE, "write a tuple: `in (A, B)`")
        container = self.operand(right)
        if isinstance(container, Alias) and isinstance(container.place.type, ArrayT):
            index = container.place.type.index
            self.fail(
                "KV107",
                right,
                f"`in` needs a set, not {container.place.type}",
                "membership is defined for sets, tuples of constants and ranges",
                f"write any({ast.unparse(right)}[x] == ... for x in {index})",
            )
        if isinstance(container, Static) and isinstance(container.value, tuple):
            return self._among(element, [self.value(item, right) for item in container.value], node)
        if isinstance(container, Static) and isinstance(container.value, range):
            return self._in_range(self.integer(left), container.value, node)
        if isinstance(container, Static) and isinstance(container.value, Sort):
            self.fail("KV102", node, "every element is in its sort", "this test is always true", "drop it")
        members = self.value(container, right)
        if not isinstance(members.type, SetT):
            self.fail(
                "KV107",
                right,
                f"`in` needs a set, not {members.type}",
                "membership is defined for sets, tuples of constants and ranges",
                "compare with == instead",
            )
        if isinstance(members, SetOf):
            return self._among(element, list(members.items), node)
        item = self.coerce(element, members.type.element, left, "the element")
        if not isinstance(element.type, OptT):
            return Binary(BOOL, "in", item, members, self.loc(node))
        there = self.negate(Unary(BOOL, "is_none", element, element.loc))  # None is in no set
        return self.once(members, lambda m: self.logic("and", [there, self.binary("in", item, m, BOOL, node)], node))
