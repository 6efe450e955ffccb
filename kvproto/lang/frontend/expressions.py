"""Expressions: names, fields, indices, operators, literals."""

from __future__ import annotations

import ast
import builtins
import types
from abc import abstractmethod
from enum import Enum
from typing import Any, NoReturn

from kvproto.diagnostics import did_you_mean
from kvproto.ir.nodes import BinaryOp, Const, Expr, SetOf, Unary
from kvproto.ir.shapes import large_set, shape_of, value_count
from kvproto.ir.types import ArrayT, BoolT, IntT, NoneT, RecordT, SetT, Type
from kvproto.lang.binding import Params
from kvproto.lang.frontend import refused
from kvproto.lang.frontend.bundles import kind_of
from kvproto.lang.frontend.comparing import SETWISE, Comparisons
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.typing import MAX_INDEX, enum_type
from kvproto.lang.frontend.values import Alias, Bundle, Fixed, Found, Operand, Static, Unusable, Variable
from kvproto.lang.sorts import Sort
from kvproto.lang.source import assigned_names

METHODS = {
    "queue": "a queue has append, pop and clear as statements; q[0] is its first element, len(q) its length",
    "bag": "a bag has add, discard and clear as statements, and count(x)",
}

ARITHMETIC: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


class Expressions(Comparisons):
    """Translates every expression but comparisons, calls and comprehensions."""

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
                return self.compare(node)
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
            part = self.anything(value) if not parts else self.scoped(lambda v=value: self.anything(v))  # type: ignore[misc]
            if isinstance(part, Bundle) or not isinstance(part.type, BoolT):
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
            return self.variable(bound, self.loc(node))
        if isinstance(bound, Fixed):
            return bound.value
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
        if isinstance(base, Alias | Bundle):
            return self._field(base, node)
        if isinstance(base, Static):
            return self._static_attribute(base.value, node)
        self.fail(
            "KV122",
            node,
            f"a value of type {base.type} has no fields",
            "only records have fields",
            "drop the attribute, or index an array first",
        )

    def _field(self, base: Alias | Bundle, node: ast.Attribute) -> Operand:
        kind = kind_of(base)
        if not isinstance(kind, RecordT) or kind.shape != "record":
            self.fail(
                "KV122",
                node,
                f"{kind} has no field {node.attr!r}",
                METHODS.get(shape_of(kind), "only records have fields; sets have add, discard and clear as statements"),
                "index the array first" if isinstance(kind, ArrayT) else "see docs/language.md",
            )
        if kind.get(node.attr) is None:
            self.no_field(kind, node.attr, node)
        return self.field(base, node.attr, node)

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
        if isinstance(base, Alias | Bundle):
            kind = kind_of(base)
            if shape_of(kind) == "queue":
                return self.element(base, self.integer(node.slice), node)
            if isinstance(kind, ArrayT):
                return self.item(base, self.index(self.expr(node.slice), kind.index, node.slice), node)
        if isinstance(base, Static) and isinstance(base.value, tuple) and base.value:
            return self.table_entry(base.value, self.expr(node.slice), node)
        what = str(kind_of(base)) if isinstance(base, Alias | Bundle) else "this"
        listed = isinstance(base, Static) and isinstance(base.value, list | dict)
        self.fail(
            "KV121",
            node,
            f"{what} cannot be indexed",
            "only arrays, queues and tuples of constants have indices",
            "a constant table is a tuple: TABLE = (1, 2, 4)" if listed else "declare it as Array(index, element)",
        )

    @abstractmethod
    def table_entry(self, table: tuple[Operand, ...], index: Expr, node: ast.Subscript) -> Operand:
        """An entry of a constant tuple."""

    @abstractmethod
    def element(self, queue: Alias | Bundle, index: Expr, node: ast.AST) -> Found:
        """An element of a queue."""

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

    def _binop(self, node: ast.BinOp) -> Found:
        left = self.anything(node.left)
        if isinstance(left, Bundle) or isinstance(left.type, SetT):
            if type(node.op) in SETWISE and (isinstance(left.type, SetT) or shape_of(left.type) == "set"):
                return self.setwise(SETWISE[type(node.op)], left, self.anything(node.right), node)
        op = ARITHMETIC.get(type(node.op))
        if op is None:
            self.fail(
                "KV102",
                node,
                "this operator is outside the language",
                "numbers have + - * // %, sets have | & -",
                "rewrite it with these",
            )
        number = self.as_integer(self.value(left, node.left), node.left)
        return self.binary(op, number, self.integer(node.right), INT, node)

    def _conditional(self, node: ast.IfExp) -> Found:
        test = self.truth(node.test)
        then, orelse = (self.scoped(lambda v=v: self.anything(v)) for v in (node.body, node.orelse))  # type: ignore[misc]
        kind = self.meet([(then, node.body), (orelse, node.orelse)])
        one = self.coerce_any(then, kind, node.body, "this side")
        return self.alternatives(test, one, self.coerce_any(orelse, kind, node.orelse, "this side"), kind, node)

    def _set_literal(self, elts: list[ast.expr], node: ast.AST) -> Found:
        items = [self.anything(e) for e in elts]
        kind = self.meet([(i, e) for i, e in zip(items, elts, strict=True)])
        element: Type = kind
        if isinstance(kind, RecordT) and kind.shape == "record":
            return self.set_of(large_set(self.element_record(kind, node)), items, node)
        if isinstance(kind, IntT):
            numbers = [i.value for i in items if isinstance(i, Const) and isinstance(i.value, int)]
            element = IntT(min(numbers), max(numbers)) if len(numbers) == len(items) else kind
        element = self.single(element, node, "an element of a set")
        parts = tuple(self.coerce_any(i, element, e, "an element") for i, e in zip(items, elts, strict=True))
        return SetOf(SetT(element), tuple(p for p in parts if not isinstance(p, Bundle)), self.loc(node))

    def element_record(self, kind: RecordT, node: ast.AST) -> RecordT:
        """A record type whose values a set can hold, or KV135."""
        if value_count(kind) > MAX_INDEX:
            self.fail(
                "KV135",
                node,
                f"a set of {kind}, which has more than {MAX_INDEX} values",
                "a set has one entry for each possible element",
                "use a smaller record or a smaller scope",
            )
        return kind
