"""Calls in expression position: built-in functions, construction of records, methods, helpers."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any

from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Const, Expr, Quant, SetOf, Unary
from kvproto.ir.shapes import shape_of
from kvproto.ir.types import ArrayT, BoolT, IntT, OptT, SetT, SortT, cardinality, values_of
from kvproto.ir.walk import subexpressions
from kvproto.lang.binding import shapes
from kvproto.lang.frontend.bundles import is_record_class, kind_of
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.loops import Loops, Subsets
from kvproto.lang.frontend.typing import sort_type
from kvproto.lang.frontend.values import Alias, Bundle, Found, Operand, Static
from kvproto.lang.native import require, subsets
from kvproto.lang.sorts import Sort


class Calls(Loops):
    """Translates calls in expression position."""

    @abstractmethod
    def inline_pure(self, fn: Callable[..., Any], node: ast.Call) -> Operand:
        """Translate a helper in expression position."""

    def call(self, node: ast.Call) -> Operand:
        """A call: built-in, helper function, or refused."""
        if isinstance(node.func, ast.Attribute):
            owner = self.operand(node.func.value)
            if isinstance(owner, Alias | Bundle | Quant | SetOf):
                return self._method(owner, node, node.func)
        target = self.operand(node.func)
        fn = target.value if isinstance(target, Static) else None
        if is_record_class(fn):
            return self.construct(fn, node)
        if isinstance(fn, Sort):
            return self._element_of(fn, node)
        builtin = self._builtins().get(fn) if _hashable(fn) else None
        if builtin is not None:
            self._plain_arguments(node)
            return builtin(node)
        if fn is require:
            self.fail(
                "KV128",
                node,
                "require(...) inside an expression",
                "a guard is a statement: it decides whether the action happens at all",
                "write it in a line of its own",
            )
        if inspect.isfunction(fn) and not (fn.__module__ or "").startswith("kvproto.lang"):
            return self.inline_pure(fn, node)
        name = getattr(fn, "__name__", ast.unparse(node.func))
        self.fail(
            "KV111",
            node,
            f"{name}(...) cannot be called in a model",
            "a model calls its own helper functions and any, all, sum, min, max, len, next, int, set, range",
            "write it as a helper with `def`, or as a loop over a sort",
        )

    def _method(self, owner: Alias | Bundle | Expr, node: ast.Call, func: ast.Attribute) -> Expr:
        counts = isinstance(owner, Alias | Bundle) and shape_of(kind_of(owner)) == "bag" and func.attr == "count"
        if counts and isinstance(owner, Alias | Bundle):
            return self.copies(owner, self._one(node), node)
        mutating = func.attr in ("add", "discard", "clear", "remove", "update", "pop", "append")
        queue = isinstance(owner, Alias | Bundle) and shape_of(kind_of(owner)) == "queue"
        example = ("x = {}.pop(0)" if func.attr == "pop" else "{}.append(x)") if queue else "{}.discard(x)"
        self.fail(
            "KV111",
            node,
            f".{func.attr}(...) cannot be called here",
            "methods that change something are statements" if mutating else "values of a model have no such method",
            f"write it in a line of its own: {example.format(ast.unparse(func.value))}"
            if mutating
            else "use |, &, -, in, <= and len on sets",
        )

    def _builtins(self) -> dict[Any, Callable[[ast.Call], Operand]]:
        return {
            any: lambda n: self._fold("any", n),
            all: lambda n: self._fold("all", n),
            sum: lambda n: self._fold("sum", n),
            min: lambda n: self._extreme("min", n),
            max: lambda n: self._extreme("max", n),
            len: self._len,
            next: self._next,
            int: self._int,
            set: self._set,
            frozenset: self._set,
            range: self._range,
            subsets: self._subsets_call,
        }

    def _plain_arguments(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        bad = next((k for k in node.keywords if k.arg != "default" or name not in ("min", "max")), None)
        starred = next((a for a in node.args if isinstance(a, ast.Starred)), None)
        if bad or starred:
            self.fail(
                "KV111",
                bad.value if bad else node,
                f"this argument of {name}(...) is outside the language",
                "built-in functions take plain arguments by position, and min and max a default",
                "write it without this argument",
            )

    def _one(self, node: ast.Call) -> ast.expr:
        if len(node.args) != 1:
            self.fail(
                "KV111",
                node,
                f"{ast.unparse(node.func)}(...) with {len(node.args)} arguments",
                "exactly one is needed",
                "correct the call; docs/language.md lists the functions there are",
            )
        return node.args[0]

    def _element_of(self, sort: Sort, node: ast.Call) -> Expr:
        """`Page(n)`: the element with that number."""
        self._plain_arguments(node)
        arg = self._one(node)
        found, kind = self.expr(arg), sort_type(sort)
        inner = found.type.inner if isinstance(found.type, OptT) else found.type
        if not isinstance(inner, IntT) and inner != kind:
            self.fail(
                "KV107",
                arg,
                f"{sort.name}(...) of a value of type {inner}",
                "it gives the element with a number, counted from 0",
                f"write {sort.name}(int({ast.unparse(arg)}))" if isinstance(inner, SortT) else "give it a number",
            )
        return self.index(found, kind, arg)

    def _fold(self, op: str, node: ast.Call) -> Found:
        arg = self._one(node)
        if not isinstance(arg, ast.GeneratorExp | ast.ListComp):
            self.fail(
                "KV110",
                arg,
                f"{op}(...) of something that is no generator",
                "the domain must be visible: a sort, an enumeration, a range, a set of the state",
                f"write {op}(... for x in Sort)",
            )
        return self.comprehension(op, arg)

    def _extreme(self, op: str, node: ast.Call) -> Found:
        default = next((k.value for k in node.keywords), None)
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
            return self.comprehension(op, node.args[0], default)
        if len(node.args) != 2 or default is not None:
            self.fail(
                "KV111",
                node,
                f"{op}(...) takes two numbers or one generator",
                "other forms of Python have no finite meaning here",
                f"write {op}(a, b) or {op}(... for x in Sort)",
            )
        left, right = (self.integer(a) for a in node.args)
        return self.binary("min" if op == "min" else "max", left, right, INT, node)

    def _len(self, node: ast.Call) -> Expr:
        arg = self._one(node)
        if isinstance(arg, ast.ListComp):
            return self.value(self.comprehension("count", arg), arg)
        found = self.operand(arg)
        loc = self.loc(node)
        if isinstance(found, Static):
            kind = found.value
            if isinstance(kind, Sort):
                shapes([kind.name], node)
            if isinstance(kind, Sort | tuple) or (isinstance(kind, type) and issubclass(kind, Enum)):
                return Const(IntT(len(kind), len(kind)), len(kind), loc)
        if isinstance(found, Alias | Bundle):
            kind = kind_of(found)
            if isinstance(kind, ArrayT):
                size = cardinality(kind.index)
                shapes([kind.index.name] if isinstance(kind.index, SortT) else [], node)
                return Const(IntT(size, size), size, loc)
            if (length := self.length(found, node)) is not None:
                return length
        members = self.value(found, arg)
        if not isinstance(members.type, SetT):
            self.fail(
                "KV107",
                arg,
                f"len(...) of a value of type {members.type}",
                "sorts, enumerations, arrays, queues, bags and sets have a length",
                "count with sum(... for x in Sort)",
            )
        small = self.bounded_set(members.type, arg)
        return Unary(IntT(0, cardinality(small.element)), "card", members, loc)

    def _next(self, node: ast.Call) -> Found:
        if len(node.args) != 2 or not isinstance(node.args[0], ast.GeneratorExp):
            self.fail(
                "KV111",
                node,
                "next(...) takes a generator and a default",
                "the first element that satisfies a condition may not exist, and then there must be an answer",
                "write next((p for p in Page if ...), None)",
            )
        return self.comprehension("first", node.args[0], node.args[1])

    def _int(self, node: ast.Call) -> Expr:
        found = self.expr(self._one(node))
        if isinstance(found.type, OptT):
            found = Unary(found.type.inner, "unwrap", found, found.loc)
        if not isinstance(found.type, BoolT | IntT | SortT):
            self.fail("KV109", node, f"int(...) of a {found.type}", "it has no number", "use == or in")
        return Unary(INT, "int", found, self.loc(node))

    def _set(self, node: ast.Call) -> Found:
        if not node.args:
            return SetOf(SetT(BOOL), (), self.loc(node))
        arg = self._one(node)
        if isinstance(arg, ast.GeneratorExp):
            return self.comprehension("set", arg)
        found = self.anything(arg)
        if not isinstance(found.type, SetT) and shape_of(found.type) != "set":
            self.fail("KV107", arg, f"set(...) of a {found.type}", "it is no collection", "write {x}")
        if isinstance(found, Bundle):
            return replace(found, borrowed=False)
        if isinstance(found, SetOf):
            return found
        return self.binary("union", found, SetOf(found.type, (), found.loc), found.type, node)  # a copy

    def _range(self, node: ast.Call) -> Operand:
        bounds = [self.static_number(a) for a in node.args]
        if not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
            reason = "it takes one to three numbers, and the step is not 0"
            self.fail("KV110", node, "this is no range", reason, "write range(n)")
        return Static(range(*bounds), self.loc(node))

    def _subsets_call(self, node: ast.Call) -> Operand:
        arg, loc = self._one(node), self.loc(node)
        found = self.operand(arg)
        if isinstance(found, Static):
            domain = self.source(arg).domains[0]
            if not isinstance(domain.type, OptT | SetT) and domain.values == values_of(domain.type):
                return Static(Subsets(domain.type, None), loc)
        elif isinstance(kind := kind_of(found) if isinstance(found, Alias) else found.type, SetT):
            return Static(Subsets(self.bounded_set(kind, arg).element, self.named(self.value(found, arg))), loc)
        self.fail(
            "KV110",
            node,
            "subsets(...) of something that has none here",
            "it takes a sort, an enumeration, or a set of single values",
            "write subsets(Sort)",
        )

    def static_number(self, node: ast.expr) -> int:
        """A number that does not depend on the state."""
        number = self.integer(node)
        shapes((part.parameter for part in subexpressions(number) if isinstance(part, Const)), node)
        found = fold_expr(number)
        if not isinstance(found, Const) or not isinstance(found.value, int):
            self.fail(
                "KV110",
                node,
                "a loop bound depends on the state",
                "loops are unrolled, so their domains are fixed by the scope",
                "loop over a fixed domain and use `if` inside",
            )
        return found.value


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
