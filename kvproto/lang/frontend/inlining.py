"""Helper functions: inlined where they are called, here in expression position."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from kvproto.ir.nodes import Cond, Const, Expr, Let, Local, Quant, Read, SetLocal
from kvproto.ir.types import BoolT, IntT, RecordT, SetT
from kvproto.lang.frontend import refused
from kvproto.lang.frontend.calls import Calls
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.matching import as_if
from kvproto.lang.frontend.values import Alias, Binding, Bundle, Fixed, Found, Frame, Operand, Static, Variable
from kvproto.lang.source import assigned_names, function_source


class Inlining(Calls):
    """Translates helpers in expression position, and properties."""

    def __init__(self, state: RecordT) -> None:
        super().__init__(state)
        self.lent_results: set[str] = set()
        """Locals that hold what a helper has returned of the state itself."""

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
        self.sources[source.shown] = source.text
        if fn in self.frame.active():
            self.fail(
                "KV112",
                node,
                f"{fn.__name__} calls itself",
                "helpers are inlined, so recursion has no end",
                "write a loop over a finite sort",
            )
        values = self.arguments(fn, node, definition)
        for found in values.values():
            if isinstance(found, Alias | Static):
                continue
            if not pure:
                self.own(found, node)
            if isinstance(found.type, SetT):
                self.bounded_set(found.type, node)
        frame = Frame(fn, source, fn.__globals__, {}, self.frame, pure)
        caller, self.frame = self.frame, frame
        changed = assigned_names(fn)
        for name, found in values.items():
            frame.names[name] = self._argument(name, found, node, caller, changes=name in changed)
        self.frame = caller
        return frame, definition

    def _argument(self, name: str, found: Operand, node: ast.Call, caller: Frame, *, changes: bool) -> Binding:
        if isinstance(found, Alias):
            return self.freeze(found)
        if isinstance(found, Static):
            return found
        if isinstance(found, Local) and found.name in self.fixed and not changes:
            return Variable(found.name, found.type, fixed=True)
        loc = caller.source.loc(node)
        if isinstance(found, Bundle):
            if not changes and all(self.constant(part) for part in found.parts):
                return Fixed(found)
            return self.name_value(self.fresh(name), found, loc)
        fresh = self.fresh(name)
        kind = INT if changes and isinstance(found.type, IntT) else found.type
        self.keep(SetLocal(fresh, kind, found, loc))
        return Variable(fresh, kind)

    def constant(self, part: Expr) -> bool:
        """Whether the expression has the same value for as long as it can be named."""
        return isinstance(part, Const) or (isinstance(part, Local) and part.name in self.fixed)

    def lent(self, found: Found) -> bool:
        """Whether a value is what one of several parts of the state holds, which in Python would be that part."""
        match found:
            case Bundle():
                return found.borrowed
            case Read():
                return isinstance(found.type, SetT)
            case Local(name=name):
                return name in self.lent_results
            case Cond(then=one, orelse=other):
                return self.lent(one) or self.lent(other)
            case Let(body=body):
                return self.lent(body)
            case Quant(op="first", body=body, default=default):
                return self.lent(body) or (default is not None and self.lent(default))
            case _:
                return False

    def own(self, found: Found, node: ast.AST) -> Found:
        """A value that may get a name, or KV143."""
        if not self.frame.pure and self.lent(found):
            copied = "" if isinstance(found, Bundle) else "copy the set: `set(...)`; or "
            self.fail(
                "KV143",
                node,
                f"one of several parts of the state, chosen here, gets a name: {found.type}",
                "in Python the name would go on standing for that part, and here for what it holds now",
                f"{copied}choose the index first: s.job[a if c else b]",
            )
        return found

    def predicate(self, definition: ast.FunctionDef) -> Expr:
        """The body of a property (the present frame is its own, and pure) as one condition."""
        found = self.value(self._pure_body(definition.body, definition), definition)
        if not isinstance(found.type, BoolT):
            self.mismatch(found.type, BOOL, definition.body[-1], "the property")
        return self.within_lets(found, self.frame.lets)

    def inline_pure(self, fn: Callable[..., Any], node: ast.Call) -> Operand:
        """A helper in expression position: local names and `if`, ending in `return`."""
        frame, definition = self.open_frame(fn, node, pure=True)
        caller, self.frame = self.frame, frame
        found = self._pure_body(definition.body, definition)
        self.frame = caller
        if isinstance(found, Alias | Static | Bundle):
            for setting in frame.lets:
                self.keep(setting)
            return found
        return self.within_lets(found, frame.lets)

    def _pure_body(self, body: list[ast.stmt], owner: ast.AST) -> Operand:
        for at, stmt in enumerate(body):
            match stmt:
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._pure_local(name, value, stmt)
                case ast.If() | ast.Match():
                    self.no_rest([stmt], body[at + 1 :])
                    if isinstance(stmt, ast.If):
                        return self._pure_if(stmt, body[at + 1 :], owner)
                    return self._pure_body([*as_if(stmt, self.frame.source), *body[at + 1 :]], owner)
                case ast.Return(value=value) if value is not None:
                    self.no_rest([stmt], body[at + 1 :])
                    return self.operand(value)
                case _:
                    self._no_effect(stmt)
        is_property = self.frame.caller is None
        self.fail(
            "KV127",
            owner,
            f"{self.frame.fn.__name__} does not return a value on every way",
            "a property is true or false of every state" if is_property else "its call stands where a value is needed",
            "end it with `return ...`",
        )

    def no_rest(self, ended: list[ast.stmt], rest: list[ast.stmt]) -> None:
        """Refuse statements after some that always return."""
        if rest and always_returns(ended):
            self.fail("KV147", rest[0], "this is never reached", "it stands after a `return` on every way", "delete it")

    def _no_effect(self, stmt: ast.stmt) -> NoReturn:
        """Refuse a statement of a helper or property that only computes a value."""
        name = self.frame.fn.__name__
        if isinstance(stmt, ast.Expr) and not isinstance(stmt.value, ast.Call):
            self.operand(stmt.value)
            text = ast.unparse(stmt.value)
            cure = f"write `return {text}`" if len(text) <= 40 else "write `return ...`"
            self.fail("KV101", stmt, "a line that computes a value and drops it", "it has no effect", cure)
        if type(stmt) in refused.STATEMENTS:
            code, what, reason, cure = refused.statement(stmt)
            self.fail(code, stmt, f"{what} is outside the language", reason, cure)
        if self.frame.caller is None:
            self.fail(
                "KV113",
                stmt,
                f"property {name} does more than compute a value",
                "a property has no effect: no stores, loops, guards or assertions",
                "use locals, `if` and `return`, with any, all, sum and next instead of loops",
            )
        self.fail(
            "KV113",
            stmt,
            f"{name} is called inside an expression and does more than compute a value",
            "an expression has no effect: no stores, loops, guards or assertions",
            f"call it in a line of its own, `x = {name}(...)`, or use any, all, sum, next",
        )

    def _pure_local(self, name: str, value: ast.expr, stmt: ast.stmt) -> None:
        found = self.operand(value)
        if isinstance(found, Alias | Static):
            self.frame.names[name] = self.freeze(found) if isinstance(found, Alias) else found
            return
        self.frame.names[name] = self.name_value(self.fresh(name), found, self.loc(stmt))

    def _pure_if(self, stmt: ast.If, rest: list[ast.stmt], owner: ast.AST) -> Found:
        test = self.truth(stmt.test)
        sides = []
        for branch in (stmt.body, stmt.orelse):
            names, body = dict(self.frame.names), unless_ended(branch, rest)
            sides.append(self.scoped(lambda body=body: self.whole(self._pure_body(body, owner), stmt)))  # type: ignore[misc]
            self.frame.names = names
        kind = self.meet([(side, stmt) for side in sides])
        then, orelse = (self.coerce_any(side, kind, stmt, "one way") for side in sides)
        return self.alternatives(test, then, orelse, kind, stmt)


def unless_ended(body: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
    """The statements on one way of a branch: what follows the branch counts only if this way gets there."""
    return body if always_returns(body) else [*body, *rest]


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether every way through the statements ends in a `return`."""
    for stmt in body:
        if isinstance(stmt, ast.Return):
            return True
        if isinstance(stmt, ast.If) and stmt.orelse and always_returns(stmt.body) and always_returns(stmt.orelse):
            return True
        if isinstance(stmt, ast.Match) and all(always_returns(c.body) for c in stmt.cases):
            last = stmt.cases[-1]
            if isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None:
                return True
    return False
