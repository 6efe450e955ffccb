"""Calls: built-in functions over finite domains, comprehensions, and helpers in expression position."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Cond, Const, Domain, Expr, Let, Local, Quant, QuantOp, Read, SetLocal, SetOf, Unary
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, OptT, ScalarT, SetT, SortT, values_of
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.expressions import Expressions
from kvproto.lang.frontend.typing import enum_type, sort_type
from kvproto.lang.frontend.values import Alias, Binding, Frame, Operand, Static, Variable
from kvproto.lang.native import require
from kvproto.lang.sorts import Sort
from kvproto.lang.source import function_source

Generators = ast.GeneratorExp | ast.ListComp | ast.SetComp


class Calls(Expressions):
    """Translates calls and comprehensions in expression position."""

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
                "built-in functions take plain arguments here",
                "write the argument by position",
            )

    def _one(self, node: ast.Call) -> ast.expr:
        if len(node.args) != 1:
            self.fail(
                "KV111",
                node,
                f"{ast.unparse(node.func)}(...) with {len(node.args)} arguments",
                "exactly one is needed here",
                "see docs/language.md",
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
        return Unary(IntT(0, len(values_of(members.type.element))), "card", members, loc)

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
        if isinstance(found.type, EnumT | SetT):
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
            self.fail("KV110", node, "this range is not one", "range takes one to three numbers", "write range(n)")
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
            return Domain(found.type.element, values_of(found.type.element), True, loc), found
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
        if not isinstance(kind, BoolT | IntT | SortT | EnumT):
            self.mismatch(kind, INT, node, "an element of the tuple")
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
            self.fail("KV110", node, f"two loops inside one {op}", "which comes first?", "nest two calls")
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
        where += [self.truth(test) for test in part.ifs]
        body = self._generators(op, node, at + 1, default)
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
        if op == "set" and not isinstance(found.type, BoolT | IntT | SortT | EnumT):
            self.mismatch(found.type, SetT(BOOL), elt, "an element of a set")
        if op == "set" and isinstance(found.type, IntT) and found.type.lo is None:
            self.fail(
                "KV135",
                elt,
                "a set of numbers without bounds",
                "a set holds elements of a type with few values",
                "collect elements of a sort, or a variable of type Int(lo, hi)",
            )
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

    # --- helpers --------------------------------------------------------------------------------------

    def arguments(self, fn: Callable[..., Any], node: ast.Call, definition: ast.FunctionDef) -> dict[str, Operand]:
        """Argument operands by parameter name, translated in the caller's frame."""
        spec = definition.args
        names = [a.arg for a in spec.args]
        if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults:
            self.fail(
                "KV119",
                node,
                f"{fn.__name__} has parameters with defaults or stars",
                "helpers are inlined with one value for each parameter",
                "give it plain parameters",
            )
        given = dict(zip(names, node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        if len(node.args) > len(names) or set(given) != set(names) or any(k.arg is None for k in node.keywords):
            self.fail(
                "KV111",
                node,
                f"{fn.__name__} takes {len(names)} arguments: {', '.join(names)}",
                "every parameter needs exactly one argument",
                "correct the call",
            )
        return {name: self.operand(given[name]) for name in names}

    def open_frame(self, fn: Callable[..., Any], node: ast.Call, *, pure: bool) -> tuple[Frame, ast.FunctionDef]:
        """A frame for inlining `fn`, its arguments bound."""
        source, definition = function_source(fn)
        if fn in self.frame.active():
            self.fail(
                "KV112",
                node,
                f"{fn.__name__} calls itself",
                "helpers are inlined, so recursion has no end",
                "write a loop over a finite sort",
            )
        values = self.arguments(fn, node, definition)
        frame = Frame(fn, source, fn.__globals__, {}, self.frame, pure)
        caller, self.frame = self.frame, frame
        for name, found in values.items():
            frame.names[name] = self._argument(name, found, node, caller)
        self.frame = caller
        return frame, definition

    def _argument(self, name: str, found: Operand, node: ast.Call, caller: Frame) -> Binding:
        if isinstance(found, Alias):
            return self.freeze(found)
        if isinstance(found, Static):
            return found
        if isinstance(found, Local) and found.name in self.fixed:
            return Variable(found.name, found.type, fixed=True)
        fresh = self.fresh(name)
        self.keep(SetLocal(fresh, found.type, found, caller.source.loc(node)))
        return Variable(fresh, found.type)

    def predicate(self, definition: ast.FunctionDef) -> Expr:
        """The body of a property (the present frame is its own, and pure) as one condition."""
        found = self.value(self._pure_body(definition.body, definition), definition)
        if not isinstance(found.type, BoolT):
            self.mismatch(found.type, BOOL, definition.body[-1], "the property")
        for setting in reversed(self.frame.lets):
            found = Let(found.type, setting.name, setting.value, found, setting.loc)
        return found

    def inline_pure(self, fn: Callable[..., Any], node: ast.Call) -> Operand:
        """A helper in expression position: local names and `if`, ending in `return`."""
        frame, definition = self.open_frame(fn, node, pure=True)
        caller, self.frame = self.frame, frame
        found = self._pure_body(definition.body, definition)
        self.frame = caller
        if isinstance(found, Alias | Static):
            for setting in frame.lets:
                self.keep(setting)
            return found
        for setting in reversed(frame.lets):
            found = Let(found.type, setting.name, setting.value, found, setting.loc)
        return found

    def _pure_body(self, body: list[ast.stmt], owner: ast.AST) -> Operand:
        for at, stmt in enumerate(body):
            match stmt:
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._pure_local(name, value, stmt)
                case ast.If():
                    return self._pure_if(stmt, body[at + 1 :], owner)
                case ast.Match():
                    from kvproto.lang.frontend.matching import as_if

                    return self._pure_body([*as_if(stmt, self.frame.source), *body[at + 1 :]], owner)
                case ast.Return(value=value) if value is not None:
                    return self.operand(value)
                case _:
                    self.fail(
                        "KV113",
                        stmt,
                        f"{self.frame.fn.__name__} is called inside an expression and does more than compute a value",
                        "an expression has no effect: no stores, loops, guards or assertions",
                        f"call it in a line of its own, `x = {self.frame.fn.__name__}(...)`, or use any, all, sum, next",
                    )
        self.fail(
            "KV127",
            owner,
            f"{self.frame.fn.__name__} does not return a value on every way",
            "its call stands where a value is needed",
            "end it with `return ...`",
        )

    def _pure_local(self, name: str, value: ast.expr, stmt: ast.stmt) -> None:
        found = self.operand(value)
        if isinstance(found, Alias | Static):
            self.frame.names[name] = self.freeze(found) if isinstance(found, Alias) else found
            return
        fresh = self.fresh(name)
        self.bind(fresh, found.type, found, self.loc(stmt))
        self.frame.names[name] = Variable(fresh, found.type)

    def _pure_if(self, stmt: ast.If, rest: list[ast.stmt], owner: ast.AST) -> Expr:
        test = self.truth(stmt.test)
        sides = []
        for branch in (stmt.body, stmt.orelse):
            names, lets = dict(self.frame.names), self.frame.lets
            self.frame.lets = []
            side = self.value(self._pure_body([*branch, *rest], owner), stmt)
            for setting in reversed(self.frame.lets):
                side = Let(side.type, setting.name, setting.value, side, setting.loc)
            self.frame.names, self.frame.lets = names, lets
            sides.append(side)
        kind = self.meet([(side, stmt) for side in sides])
        then, orelse = (self.coerce(side, kind, stmt, "one way") for side in sides)
        return Cond(kind, test, then, orelse, self.loc(stmt))


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


