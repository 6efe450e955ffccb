"""Calls: built-in functions over finite domains, comprehensions, and helpers in expression position."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Const, Domain, Expr, Local, Quant, QuantOp, Read, SetOf, Unary
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, ScalarT, SetT, SortT, values_of
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.expressions import Expressions
from kvproto.lang.frontend.typing import enum_type, sort_type
from kvproto.lang.frontend.values import Alias, Binding, Operand, Static, Variable
from kvproto.lang.native import require
from kvproto.lang.sorts import Sort

Generators = ast.GeneratorExp | ast.ListComp | ast.SetComp


class Calls(Expressions):
    """Translates calls and comprehensions in expression position."""

    @abstractmethod
    def inline_pure(self, fn: Callable[..., Any], node: ast.Call) -> Operand:
        """Translate a helper in expression position."""

    def call(self, node: ast.Call) -> Operand:
        """A call: built-in, helper function, or refused."""
        if isinstance(node.func, ast.Attribute) and isinstance(self.operand(node.func.value), Alias | Quant | SetOf):
            self._method(node, node.func)
        target = self.operand(node.func)
        fn = target.value if isinstance(target, Static) else None
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

    def _method(self, node: ast.Call, func: ast.Attribute) -> None:
        mutating = func.attr in ("add", "discard", "clear", "remove", "update", "pop")
        self.fail(
            "KV111",
            node,
            f".{func.attr}(...) cannot be called here",
            "methods that change a set are statements" if mutating else "values of a model have no such method",
            f"write it in a line of its own: {ast.unparse(func.value)}.discard(x)"
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

    def _fold(self, op: str, node: ast.Call) -> Expr:
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

    def _extreme(self, op: str, node: ast.Call) -> Expr:
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
            return self.comprehension("count", arg)
        found = self.operand(arg)
        loc = self.loc(node)
        if isinstance(found, Static):
            kind = found.value
            if isinstance(kind, Sort | tuple) or (isinstance(kind, type) and issubclass(kind, Enum)):
                return Const(IntT(len(kind), len(kind)), len(kind), loc)
        if isinstance(found, Alias) and isinstance(found.place.type, ArrayT):
            size = len(values_of(found.place.type.index))
            return Const(IntT(size, size), size, loc)
        members = self.value(found, arg)
        if not isinstance(members.type, SetT):
            self.fail(
                "KV107",
                arg,
                f"len(...) of a value of type {members.type}",
                "sorts, enumerations, arrays and sets have a length",
                "count with sum(... for x in Sort)",
            )
        kind = self.bounded_set(members.type, arg)
        return Unary(IntT(0, len(values_of(kind.element))), "card", members, loc)

    def _next(self, node: ast.Call) -> Expr:
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

    def _set(self, node: ast.Call) -> Expr:
        if not node.args:
            return SetOf(SetT(BOOL), (), self.loc(node))
        arg = self._one(node)
        if isinstance(arg, ast.GeneratorExp):
            return self.comprehension("set", arg)
        found = self.expr(arg)
        if not isinstance(found.type, SetT):
            self.fail("KV107", arg, f"set(...) of a {found.type}", "it is no collection", "write {x}")
        return found

    def _range(self, node: ast.Call) -> Operand:
        bounds = [self.static_number(a) for a in node.args]
        if not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
            reason = "it takes one to three numbers, and the step is not 0"
            self.fail("KV110", node, "this is no range", reason, "write range(n)")
        return Static(range(*bounds), self.loc(node))

    def static_number(self, node: ast.expr) -> int:
        """A number that does not depend on the state."""
        found = fold_expr(self.integer(node))
        if not isinstance(found, Const) or not isinstance(found.value, int):
            self.fail(
                "KV110",
                node,
                "a loop bound depends on the state",
                "loops are unrolled, so their domains are fixed by the scope",
                "loop over a fixed domain and use `if` inside",
            )
        return found.value

    # --- domains and comprehensions -------------------------------------------------------------------

    def domain(self, node: ast.expr) -> tuple[Domain, Expr | None]:
        """What a loop ranges over, and for a set of the state the set whose members count."""
        found = self.operand(node)
        loc = self.loc(node)
        if isinstance(found, Static):
            kind = found.value
            if isinstance(kind, Sort):
                sort = sort_type(kind)
                return Domain(sort, values_of(sort), True, loc), None
            if isinstance(kind, type) and issubclass(kind, Enum):
                return Domain(enum_type(kind), enum_type(kind).members, True, loc), None
            if isinstance(kind, range):
                low, high = (min(kind), max(kind)) if kind else (0, 0)
                return Domain(IntT(low, high), tuple(kind), False, loc), None
            if isinstance(kind, tuple) and kind and all(isinstance(item, Const) for item in kind):
                return self._tuple_domain(kind, node), None
        if isinstance(found, Alias) and isinstance(found.place.type, SetT):
            element = found.place.type.element
            return Domain(element, values_of(element), True, loc), Read(found.place.type, found.place, loc)
        if not isinstance(found, Alias | Static) and isinstance(found.type, SetT):
            kind = self.bounded_set(found.type, node)
            return Domain(kind.element, values_of(kind.element), True, loc), found
        self.fail(
            "KV110",
            node,
            "this cannot be looped over",
            "loops run over sorts, enumerations, ranges, sets and tuples of constants",
            "loop over the index sort of an array: `for r in Req: ... s.req[r]`",
        )

    def _tuple_domain(self, items: tuple[Const, ...], node: ast.expr) -> Domain:
        kind = self.meet([(item, node) for item in items])
        if isinstance(kind, IntT):
            numbers = [item.value for item in items if isinstance(item.value, int)]
            kind = IntT(min(numbers), max(numbers))
        kind = self.single(kind, node, "an element of a tuple to loop over")
        values = tuple(item.value for item in items)
        return Domain(kind, cast("tuple[bool | int | str, ...]", values), False, self.loc(node))

    def enter_loop(self, target: ast.expr, kind: ScalarT) -> tuple[str, str, Binding | None]:
        """Bind a loop variable; gives (source name, IR name, what the name meant before)."""
        if not isinstance(target, ast.Name):
            self.fail(
                "KV124",
                target,
                "a loop variable must be a single name",
                "tuples are no values of a model",
                "write nested loops",
            )
        inner = self.fresh(target.id)
        self.fixed.add(inner)
        before = self.frame.names.get(target.id)
        self.frame.names[target.id] = Variable(inner, kind, fixed=True)
        return target.id, inner, before

    def leave_loop(self, name: str, before: Binding | None) -> None:
        """Forget a loop variable."""
        if before is None:
            del self.frame.names[name]
        else:
            self.frame.names[name] = before

    def comprehension(self, op: str, node: ast.expr, default: ast.expr | None = None) -> Expr:
        """`op(body for ... in ... if ...)`, one quantifier for each `for`."""
        assert isinstance(node, Generators)
        if op in ("first", "min", "max") and len(node.generators) != 1:
            name = "next" if op == "first" else op
            reason = "one loop gives one candidate a round"
            self.fail("KV110", node, f"two loops inside one {name}", reason, "nest two calls")
        return self._generators(op, node, 0, default)

    def _generators(self, op: str, node: Generators, at: int, default: ast.expr | None) -> Expr:
        if at == len(node.generators):
            return self._element(op, node.elt)
        part = node.generators[at]
        domain, members = self.domain(part.iter)
        name, inner, before = self.enter_loop(part.target, domain.type)
        where: list[Expr] = []
        if members is not None:
            assert isinstance(members.type, SetT)
            member = Local(domain.type, inner, domain.loc)
            where.append(self.binary("in", member, members, BOOL, part.iter))
        where += [self.scoped(lambda t=test: self.truth(t)) for test in part.ifs]  # type: ignore[misc]
        body = self.scoped(lambda: self._generators(op, node, at + 1, default))
        self.leave_loop(name, before)
        guard = self.logic("and", where, node) if where else None
        return self._quantifier(op, inner, domain, guard, body, default, node)

    def _element(self, op: str, elt: ast.expr) -> Expr:
        if op in ("any", "all"):
            return self.truth(elt)
        if op == "count":
            return Const(IntT(1, 1), 1, self.loc(elt))
        found = self.expr(elt)
        if op == "sum" and isinstance(found.type, BoolT):
            return Unary(IntT(0, 1), "int", found, found.loc)
        if op in ("sum", "min", "max"):
            return self.integer(elt)
        if op == "set" and not isinstance(found.type, SetT):
            self.bounded_set(SetT(self.single(found.type, elt, "an element of a set")), elt)
        return found

    def _quantifier(
        self,
        op: str,
        var: str,
        domain: Domain,
        where: Expr | None,
        body: Expr,
        default: ast.expr | None,
        node: ast.expr,
    ) -> Expr:
        loc = self.loc(node)
        if op in ("any", "all"):
            return Quant(BOOL, cast("QuantOp", op), var, domain, where, body, None, loc)
        if op in ("sum", "count"):
            return Quant(INT, "sum", var, domain, where, body, None, loc)
        if op == "set":
            if isinstance(body.type, SetT):
                return Quant(body.type, "set", var, domain, where, body, None, loc)
            assert isinstance(body.type, BoolT | IntT | SortT | EnumT)
            return Quant(SetT(body.type), "set", var, domain, where, body, None, loc)
        otherwise = self.expr(default) if default is not None else None
        if otherwise is None:
            return Quant(INT, cast("QuantOp", op), var, domain, where, body, None, loc)
        assert default is not None
        kind = self.meet([(body, node), (otherwise, default)])
        one = self.coerce(body, kind, node, "the element")
        other = self.coerce(otherwise, kind, default, "the default")
        return Quant(kind, cast("QuantOp", op), var, domain, where, one, other, loc)


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
