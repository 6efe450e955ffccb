"""Statements: guards, stores, locals, branches, loops, helpers called in a line of their own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.ir.nodes import (
    Assert,
    Assign,
    BinaryOp,
    Const,
    Expr,
    For,
    If,
    Local,
    Place,
    Read,
    Require,
    SetLocal,
    SetOf,
    Stmt,
)
from kvproto.ir.types import ArrayT, IntT, NoneT, Path, PathPart, RecordT, SetT, Type, leaves
from kvproto.lang.frontend import refused
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.expressions import ARITHMETIC, SETWISE
from kvproto.lang.frontend.inlining import Inlining, always_returns, unless_ended
from kvproto.lang.frontend.matching import as_if
from kvproto.lang.frontend.typing import ir_type
from kvproto.lang.frontend.values import Alias, Binding, Operand, Static, Unusable, Variable
from kvproto.lang.native import require
from kvproto.lang.source import function_source


class Statements(Inlining):
    """Translates statements of actions, init functions and helpers called as statements."""

    def __init__(self, state: RecordT, on_assert: Callable[[ast.Assert, str], str]) -> None:
        super().__init__(state)
        self._on_assert = on_assert

    def body(self, stmts: list[ast.stmt]) -> list[Stmt]:
        """Translate a block in the present frame and give its statements."""
        outer, self.block = self.block, []
        self._sequence(stmts)
        inner, self.block = self.block, outer
        return inner

    def _sequence(self, stmts: list[ast.stmt]) -> None:
        for at, stmt in enumerate(stmts):
            rest = stmts[at + 1 :]
            if isinstance(stmt, ast.Match):
                self._sequence([*as_if(stmt, self.frame.source), *rest])
                return
            if isinstance(stmt, ast.Return):
                self._return(stmt, rest)
                return
            if isinstance(stmt, ast.If) and _returns([stmt]):
                self.no_rest([stmt], rest)
                self._if(stmt, unless_ended(stmt.body, rest), unless_ended(stmt.orelse, rest))
                return
            self.statement(stmt)

    def _return(self, stmt: ast.Return, rest: list[ast.stmt]) -> None:
        self.no_rest([stmt], rest)
        if stmt.value is None:
            if self.frame.returns_value:
                self.fail("KV127", stmt, "a `return` without a value", "the call's value is used", "return a value")
            return
        if not self.frame.returns_value:
            self.fail(
                "KV114",
                stmt,
                f"{self.frame.fn.__name__} returns a value that nobody takes",
                "actions change the state; helpers called in a line of their own give nothing",
                "drop the value, or assign it: `x = helper(...)`",
            )
        found = self.expr(stmt.value)
        self.frame.result = self.frame.result or self.fresh("result")
        setting = SetLocal(self.frame.result, found.type, found, self.loc(stmt))
        self.frame.returned.append((setting, stmt.value))
        self.keep(setting)

    def statement(self, stmt: ast.stmt) -> None:
        """Translate one statement into the present block."""
        match stmt:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Expr(value=ast.Call() as call):
                self._call_statement(call)
            case ast.Assert():
                message = self._message(stmt)
                claim = self._on_assert(stmt, message)
                self.block.append(Assert(self.truth(stmt.test), claim, message, self.loc(stmt)))
            case ast.Assign():
                self._assign(stmt)
            case ast.AnnAssign():
                self._declare(stmt)
            case ast.AugAssign():
                self._augment(stmt)
            case ast.If():
                self._if(stmt, stmt.body, stmt.orelse)
            case ast.For():
                self._for(stmt)
            case ast.Expr(value=value):
                if type(value) in refused.EXPRESSIONS:
                    self.operand(value)
                self.fail(
                    "KV101",
                    stmt,
                    "a line that computes a value and drops it",
                    "it has no effect, so something else was probably meant",
                    "use require(...) for a guard, assert for a claim"
                    if isinstance(value, ast.Compare | ast.BoolOp)
                    else "delete it, or assign the value",
                )
            case _:
                code, what, reason, cure = refused.statement(stmt)
                self.fail(code, stmt, f"{what} is outside the language", reason, cure)

    @staticmethod
    def _message(stmt: ast.Assert) -> str:
        text = stmt.msg
        return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ast.unparse(stmt.test)

    # --- calls as statements --------------------------------------------------------------------------

    def _call_statement(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            owner = self.operand(node.func.value)
            if isinstance(owner, Alias):
                self._mutate(owner.place, node, node.func)
                return
        target = self.operand(node.func)
        fn = target.value if isinstance(target, Static) else None
        if fn is require:
            if len(node.args) != 1 or node.keywords:
                self.fail(
                    "KV128",
                    node,
                    "require takes one condition",
                    "a guard says when the action can happen, and nothing else",
                    "write require(condition); a comment can say why",
                )
            self.block.append(Require(self.truth(node.args[0]), self.loc(node)))
        elif inspect.isfunction(fn):
            self.inline(fn, node, wants_value=False)
        else:
            self.operand(node)  # teaches about the callee if it is unknown
            self.fail("KV101", node, "a call whose value is dropped", "it has no effect", "delete it, or use the value")

    def _mutate(self, place: Place, node: ast.Call, func: ast.Attribute) -> None:
        kind, loc = place.type, self.loc(node)
        if not isinstance(kind, SetT) or func.attr not in ("add", "discard", "clear"):
            self.fail(
                "KV111",
                node,
                f".{func.attr}(...) cannot be called on {kind}",
                "sets of the state have add, discard and clear; nothing else has methods",
                "use `discard` for `remove`" if func.attr == "remove" else "assign the new value instead",
            )
        if len(node.args) != (0 if func.attr == "clear" else 1) or node.keywords:
            self.fail(
                "KV111",
                node,
                f".{func.attr}(...) with {len(node.args)} arguments",
                "add and discard take one element, clear takes none",
                "correct the call",
            )
        if func.attr == "clear":
            self.block.append(Assign(place, SetOf(kind, (), loc), loc))
            return
        item = self.coerce(self.expr(node.args[0]), kind.element, node.args[0], "the element")
        op: BinaryOp = "union" if func.attr == "add" else "diff"
        value = self.binary(op, Read(kind, place, loc), SetOf(kind, (item,), loc), kind, node)
        self.block.append(Assign(place, value, loc))

    def inline(self, fn: Callable[..., Any], node: ast.Call, *, wants_value: bool) -> Variable | None:
        """A helper called in a line of its own; gives the variable that holds its value, if it is wanted."""
        if (getattr(fn, "__module__", "") or "").startswith("kvproto.lang"):
            self.operand(node)
        frame, definition = self.open_frame(fn, node, pure=False)
        frame.returns_value = wants_value
        if wants_value and not always_returns(definition.body):
            self.frame.source.fail(
                "KV127",
                node,
                f"{fn.__name__} does not return a value on every way",
                "its value is used",
                "end it with `return ...`",
            )
        caller, self.frame = self.frame, frame
        outer, self.block = self.block, []
        self._sequence(definition.body)
        kind = self._settle_result() if frame.returned else None
        outer.extend(self.block)
        self.frame, self.block = caller, outer
        return None if kind is None else Variable(frame.result, kind)

    def _settle_result(self) -> Type:
        """Give the values that a helper returns, all seen now, the one type they have in common."""
        returned = self.frame.returned
        kind = self.meet([(setting.value, node) for setting, node in returned])
        final: dict[int, Stmt] = {}
        for setting, node in returned:
            value = self.coerce(setting.value, kind, node, "the returned value")
            final[id(setting)] = SetLocal(setting.name, kind, value, setting.loc)
        self.block = list(_replaced(tuple(self.block), final))
        return kind

    # --- stores and locals ----------------------------------------------------------------------------

    def _assign(self, stmt: ast.Assign) -> None:
        if len(stmt.targets) != 1 or isinstance(stmt.targets[0], ast.Tuple | ast.List | ast.Starred):
            self.fail(
                "KV124",
                stmt,
                "several targets in one assignment",
                "which is stored first would matter",
                "write one assignment a line",
            )
        target = stmt.targets[0]
        if isinstance(target, ast.Name):
            self._local(target.id, stmt.value, None, stmt)
        else:
            self._store(target, stmt.value, stmt)

    def _declare(self, stmt: ast.AnnAssign) -> None:
        target = ast.unparse(stmt.target)
        if not isinstance(stmt.target, ast.Name):
            self.fail(
                "KV124",
                stmt.annotation,
                "a type at a place of the state",
                "the state class has declared it",
                f"write {target} = ...",
            )
        if stmt.value is None:
            self.fail(
                "KV124",
                stmt,
                "a local without a value",
                "in Python this line gives the name no value",
                f"write {target}: {ast.unparse(stmt.annotation)} = ...",
            )

        def fail(message: str, reason: str, cure: str) -> KvError:
            loc = self.loc(stmt.annotation)
            line = self.frame.source.lines[loc.line - 1]
            return KvError("KV117", message, reason=reason, cure=cure, loc=loc, line=line)

        text = ast.unparse(stmt.annotation)
        try:
            kind = eval(text, dict(self.frame.globals))
        except Exception as problem:
            raise fail(
                f"{text} cannot be evaluated: {problem}", "a type is an ordinary Python expression", "check the names"
            ) from None
        self._local(stmt.target.id, stmt.value, ir_type(kind, fail), stmt)

    def _local(self, name: str, value: ast.expr, declared: Type | None, stmt: ast.stmt) -> None:
        before = self.frame.names.get(name)
        if isinstance(before, Variable) and before.fixed:
            self.fail(
                "KV123",
                stmt,
                f"{name!r} is a parameter or loop variable and cannot be assigned",
                "it stands for one fixed element in this step",
                "use another name",
            )
        if not isinstance(before, Variable):
            sibling = self.frame.elsewhere.get(name)
            before = sibling if isinstance(sibling, Variable) and not sibling.fixed else None
        kind = declared or (before.type if isinstance(before, Variable) else None)
        found = self.expected(value, kind) if kind and isinstance(value, ast.IfExp) else self._right_side(value)
        if isinstance(found, Alias | Static):
            self.frame.names[name] = self.freeze(found) if isinstance(found, Alias) else found
            return
        kind = kind or self._first_type(name, found, stmt)
        inner = before.name if isinstance(before, Variable) else self.fresh(name)
        self.bind(inner, kind, self.coerce(found, kind, value, repr(name)), self.loc(stmt))
        self.frame.names[name] = Variable(inner, kind)

    def _first_type(self, name: str, found: Expr, stmt: ast.stmt) -> Type:
        """The type of a local that gets its first value."""
        empty = isinstance(found, SetOf) and not found.items
        if isinstance(found.type, NoneT) or empty:
            self.fail(
                "KV107",
                stmt,
                f"{name!r} starts as {'the empty set' if empty else 'None'} without a type",
                "what it can hold later cannot be seen here",
                f"write {name}: Set(Page) = set()" if empty else f"write {name}: Opt(Page) = None",
            )
        if isinstance(found.type, SetT):
            self.bounded_set(found.type, stmt)
        return INT if isinstance(found.type, IntT) else found.type

    def _right_side(self, value: ast.expr) -> Expr | Alias | Static:
        """A value; a call of a helper here may also do things."""
        if isinstance(value, ast.Call):
            target = self.operand(value.func) if isinstance(value.func, ast.Name | ast.Attribute) else None
            fn = target.value if isinstance(target, Static) else None
            if inspect.isfunction(fn) and not (fn.__module__ or "").startswith("kvproto.lang") and not self.frame.pure:
                if _simple(fn):
                    return self.operand(value)
                result = self.inline(fn, value, wants_value=True)
                assert result is not None
                return Local(result.type, result.name, self.loc(value))
        return self.operand(value)

    def _place(self, target: ast.expr) -> Place:
        found = self.operand(target)
        if isinstance(found, Alias):
            return found.place
        if isinstance(found, Read):
            return found.place
        self.fail(
            "KV148",
            target,
            "this cannot be assigned",
            "only fields and elements of the state, and local names, hold values",
            "assign to a field of the state",
        )

    def _store(self, target: ast.expr, value: ast.expr, stmt: ast.stmt) -> None:
        if isinstance(value, ast.IfExp) and not isinstance(kind := self._place(target).type, RecordT | ArrayT):
            found: Operand = self.expected(value, kind)
        else:
            found = self._right_side(value)
        place = self._place(target)
        if isinstance(place.type, RecordT | ArrayT):
            self._copy(place, found, value, stmt)
            return
        right = self.coerce(self.value(found, value), place.type, value, "the value")
        self.block.append(Assign(place, right, self.loc(stmt)))

    def _copy(self, place: Place, found: Expr | Alias | Static, value: ast.expr, stmt: ast.stmt) -> None:
        """Copy a record or an array field by field."""
        if not isinstance(found, Alias) or found.place.type != place.type:
            have = found.place.type if isinstance(found, Alias) else getattr(found, "type", None)
            self.mismatch(have or NoneT(), place.type, value, "the value")
        loc = self.loc(stmt)
        source, goal = self.freeze(found).place, self.freeze(Alias(place)).place
        for path, kind in leaves(place.type):
            tail = tuple(self._step(part, place.type, path[:at], stmt) for at, part in enumerate(path))
            read = Read(kind, Place(kind, (*source.steps, *tail), loc), loc)
            self.block.append(Assign(Place(kind, (*goal.steps, *tail), loc), read, loc))

    def _step(self, part: PathPart, root: Type, before: Path, node: ast.AST) -> str | Expr:
        kind = root
        for earlier in before:
            kind = kind.element if isinstance(kind, ArrayT) else dict(kind.fields)[str(earlier)]  # type: ignore[union-attr]
        return Const(kind.index, part, self.loc(node)) if isinstance(kind, ArrayT) else str(part)

    def _augment(self, stmt: ast.AugAssign) -> None:
        if isinstance(stmt.target, ast.Name):
            bound = self.frame.names.get(stmt.target.id)
            if isinstance(bound, Alias) and isinstance(bound.place.type, SetT):
                place: Place | None = bound.place
            else:
                binop = ast.copy_location(ast.BinOp(_loaded(stmt.target), stmt.op, stmt.value), stmt)
                self._local(stmt.target.id, binop, None, stmt)
                return
        else:
            place = self._place(stmt.target)
        assert place is not None
        loc = self.loc(stmt)
        if isinstance(place.type, SetT) and type(stmt.op) in SETWISE:
            value = self.setwise(SETWISE[type(stmt.op)], Read(place.type, place, loc), self.expr(stmt.value), stmt)
        elif type(stmt.op) in ARITHMETIC and not isinstance(place.type, SetT):
            value = self.binary(
                ARITHMETIC[type(stmt.op)], self.integer(stmt.target), self.integer(stmt.value), INT, stmt
            )
        else:
            self.fail(
                "KV102",
                stmt,
                "this operator is outside the language",
                "numbers have + - * // %, sets have | & -",
                "rewrite it with these",
            )
        self.block.append(Assign(place, self.coerce(value, place.type, stmt, "the value"), loc))

    # --- branches and loops ---------------------------------------------------------------------------

    def _if(self, stmt: ast.If, then: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        test = self.truth(stmt.test)
        before = dict(self.frame.names)
        one = self.body(then)
        after_then, self.frame.names = self.frame.names, dict(before)
        outer, self.frame.elsewhere = self.frame.elsewhere, {**self.frame.elsewhere, **after_then}
        other = self.body(orelse)
        self.frame.elsewhere = outer
        self.frame.names = _merge(after_then, self.frame.names)
        self.block.append(If(test, tuple(one), tuple(other), self.loc(stmt.test)))

    def _for(self, stmt: ast.For) -> None:
        if stmt.orelse:
            self.fail(
                "KV116",
                stmt.orelse[0],
                "`else` after a loop",
                "loops always run to their end, so it is no alternative",
                "put what stands in it after the loop",
            )
        if returns := _returns(stmt.body):
            self.fail(
                "KV114",
                returns[0],
                "`return` inside a loop",
                "loops are unrolled and run over the whole domain",
                "choose the element first: next((x for x in Sort if ...), None)",
            )
        domain, members = self.domain(stmt.iter)
        if members is not None and not isinstance(members, Read):
            fresh = self.fresh("members")
            self.bind(fresh, members.type, members, members.loc)
            members = Local(members.type, fresh, members.loc)
        name, inner, _ = self.enter_loop(stmt.target, domain.type)
        before = dict(self.frame.names)
        self._forget_what_changes(stmt)
        where = None
        if members is not None:
            where = self.binary("in", Local(domain.type, inner, domain.loc), members, BOOL, stmt.iter)
        body = self.body(stmt.body)
        certain = members is None and len(domain.values) > 0
        self.frame.names = self.frame.names if certain else _merge(self.frame.names, before)
        self.frame.names[name] = Unusable(
            "was the variable of a loop that has ended", "keep the element in a local of another name"
        )
        self.block.append(For(inner, domain, where, tuple(body), self.loc(stmt)))

    def _forget_what_changes(self, loop: ast.For) -> None:
        """Names for parts of the state that the loop gives a new meaning have none at the start of a round."""
        for node in (n for stmt in loop.body for n in ast.walk(stmt)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if isinstance(self.frame.names.get(node.id), Alias | Static):
                    self.frame.names[node.id] = Unusable(
                        "stands for different things in different rounds of this loop",
                        "use another name inside the loop",
                    )


def _loaded(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _same(one: Binding, other: Binding) -> bool:
    both = isinstance(one, Alias) and isinstance(other, Alias)
    return one == other or (both and one.place.steps == other.place.steps)  # type: ignore[union-attr]


def _merge(one: dict[str, Binding], other: dict[str, Binding]) -> dict[str, Binding]:
    """Names after two ways have met: usable only if both give them the same meaning."""
    merged: dict[str, Binding] = {}
    for name in [*one, *(n for n in other if n not in one)]:
        left, right = one.get(name), other.get(name)
        if left is None or right is None:
            merged[name] = Unusable("is not assigned on every way to this line", "assign it before the branches")
        elif isinstance(left, Unusable) or _same(left, right):
            merged[name] = left
        else:
            merged[name] = Unusable(
                "means different things on different ways to this line", "use it inside the branches, or another name"
            )
    return merged


def _replaced(body: tuple[Stmt, ...], final: Mapping[int, Stmt]) -> tuple[Stmt, ...]:
    """The statements with some (by identity) replaced; those inside of loops are not among them."""
    done: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, If):
            then, orelse = _replaced(stmt.then, final), _replaced(stmt.orelse, final)
            done.append(If(stmt.test, then, orelse, stmt.loc))
        else:
            done.append(final.get(id(stmt), stmt))
    return tuple(done)


def _returns(body: list[ast.stmt]) -> list[ast.Return]:
    return [node for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.Return)]


def _simple(fn: Callable[..., Any]) -> bool:
    """The helper is a single `return` (after its docstring), so it can be translated as an expression."""
    body = function_source(fn)[1].body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return len(body) == 1 and isinstance(body[0], ast.Return)
