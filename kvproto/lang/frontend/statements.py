"""Statements: guards, stores, locals, branches, loops, helpers called in a line of their own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from kvproto.diagnostics import KvError, Loc
from kvproto.ir.nodes import Assert, Assign, If, Place, Read, Require, SetLocal, SetOf, Stmt
from kvproto.ir.shapes import shape_of
from kvproto.ir.types import ArrayT, IntT, NoneT, RecordT, SetT, Type
from kvproto.lang.frontend import refused
from kvproto.lang.frontend.comparing import SETWISE
from kvproto.lang.frontend.core import INT
from kvproto.lang.frontend.expressions import ARITHMETIC
from kvproto.lang.frontend.inlining import always_returns, unless_ended
from kvproto.lang.frontend.loops import Loop
from kvproto.lang.frontend.matching import as_if
from kvproto.lang.frontend.meeting import parts_of
from kvproto.lang.frontend.mutation import Mutations
from kvproto.lang.frontend.typing import ir_type
from kvproto.lang.frontend.values import (
    Alias,
    Binding,
    Bundle,
    Fixed,
    Found,
    Operand,
    Static,
    Unusable,
    Variable,
    leaf_names,
)
from kvproto.lang.native import require
from kvproto.lang.source import function_source


class Statements(Mutations):
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
        found = self.anything(stmt.value)
        self.frame.result = self.frame.result or self.fresh("result")
        settings = tuple(self._settings(self.frame.result, found, self.loc(stmt)))
        self.frame.returned.append((settings, found, stmt.value))
        for setting in settings:
            self.keep(setting)

    @staticmethod
    def _settings(name: str, found: Found, loc: Loc) -> list[SetLocal]:
        """What gives a result its value, leaf by leaf."""
        names = leaf_names(name, found.type) if isinstance(found, Bundle) else [name]
        return [SetLocal(leaf, part.type, part, loc) for leaf, part in zip(names, parts_of(found), strict=True)]

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
                self.mutate(owner.place, node, node.func)
                return
            if isinstance(owner, Bundle):
                self._no_parts(node.func.value, node)
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

    def inline(self, fn: Callable[..., Any], node: ast.Call, *, wants_value: bool) -> Found | None:
        """A helper called in a line of its own; gives its value, which is kept in a variable, if it is wanted."""
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
        if kind is None:
            return None
        found = self.variable(Variable(frame.result, kind), self.loc(node))
        if not any(self.lent(part) for _, part, _ in frame.returned):
            return found
        self.lent_results.add(frame.result)
        return replace(found, borrowed=True) if isinstance(found, Bundle) else found

    def _settle_result(self) -> Type:
        """Give the values that a helper returns, all seen now, the one type they have in common."""
        returned = self.frame.returned
        kind = self.meet([(found, node) for _, found, node in returned])
        final: dict[int, Stmt] = {}
        for settings, found, node in returned:
            value = self.coerce_any(found, kind, node, "the returned value")
            if isinstance(value, Bundle):
                continue
            final[id(settings[0])] = SetLocal(settings[0].name, kind, value, settings[0].loc)
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
        found = self.own(found, value)
        kind = kind or self._first_type(name, found, stmt)
        inner = before.name if isinstance(before, Variable) else self.fresh(name)
        fitting = self.coerce_any(found, kind, value, repr(name))
        if isinstance(fitting, Bundle):
            self.frame.names[name] = self.name_value(inner, self.apart(fitting, inner), self.loc(stmt))
            return
        self.bind(inner, kind, fitting, self.loc(stmt))
        self.frame.names[name] = Variable(inner, kind)

    def _first_type(self, name: str, found: Found, stmt: ast.stmt) -> Type:
        """The type of a local that gets its first value."""
        if isinstance(found, Bundle):
            return found.type
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

    def _right_side(self, value: ast.expr) -> Operand:
        """A value; a call of a helper here may also do things, and `pop` takes something out of a queue."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner = self.operand(value.func.value)
            queue = isinstance(owner, Alias) and shape_of(owner.place.type) == "queue"
            if isinstance(owner, Alias) and queue and value.func.attr == "pop" and not self.frame.pure:
                taken = self.pop(owner, value)
                assert taken is not None
                return taken
            if not isinstance(owner, Static):
                return self.operand(value)
        if isinstance(value, ast.Call):
            target = self.operand(value.func) if isinstance(value.func, ast.Name | ast.Attribute) else None
            fn = target.value if isinstance(target, Static) else None
            if inspect.isfunction(fn) and not (fn.__module__ or "").startswith("kvproto.lang") and not self.frame.pure:
                if _simple(fn):
                    return self.operand(value)
                result = self.inline(fn, value, wants_value=True)
                assert result is not None
                return result
        return self.operand(value)

    def _place(self, target: ast.expr) -> Place:
        if isinstance(target, ast.Attribute | ast.Subscript):
            owner = self.operand(target.value)
            if isinstance(owner, Alias) and shape_of(owner.place.type) == "queue" and isinstance(target, ast.Subscript):
                index = self.place_in_line(owner, self.integer(target.slice), "KV202", target)
                slots = self.field(owner, "slots", target)
                assert isinstance(slots, Alias) and isinstance(slots.place.type, ArrayT)
                return Place(slots.place.type.element, (*slots.place.steps, index), self.loc(target))
            if isinstance(owner, Bundle):
                self._no_parts(target.value, target)
        found = self.operand(target)
        if isinstance(found, Alias | Read):
            return found.place
        self.fail(
            "KV148",
            target,
            "this cannot be assigned",
            "only fields and elements of the state, and local names, hold values",
            "assign to a field of the state",
        )

    def _no_parts(self, owner: ast.expr, node: ast.AST) -> NoReturn:
        """KV148: a change of something that is no part of the state."""
        self.fail(
            "KV148",
            node,
            f"{ast.unparse(owner)} is a value, and no part of it can be changed",
            "locals, elements of queues and records made on the spot are no places of the state",
            "make a new record with all its fields, and store that",
        )

    def _store(self, target: ast.expr, value: ast.expr, stmt: ast.stmt) -> None:
        found: Operand
        if isinstance(value, ast.IfExp):
            found = self.expected(value, self._place(target).type)
        else:
            found = self._right_side(value)
        place = self._place(target)
        if not isinstance(place.type, RecordT | ArrayT):
            right = self.coerce(self.value(found, value), place.type, value, "the value")
            self.block.append(Assign(place, right, self.loc(stmt)))
            return
        whole = self.coerce_whole(self.whole(found, value), place.type, value, "the value")
        self.store_whole(place, whole, stmt, aligned=isinstance(found, Alias))

    def _augment(self, stmt: ast.AugAssign) -> None:
        if isinstance(stmt.target, ast.Name):
            bound = self.frame.names.get(stmt.target.id)
            if isinstance(bound, Alias) and (isinstance(bound.place.type, SetT) or shape_of(bound.place.type) == "set"):
                place: Place | None = bound.place
            else:
                binop = ast.copy_location(ast.BinOp(_loaded(stmt.target), stmt.op, stmt.value), stmt)
                self._local(stmt.target.id, binop, None, stmt)
                return
        else:
            place = self._place(stmt.target)
        assert place is not None
        loc = self.loc(stmt)
        if shape_of(place.type) == "set" and type(stmt.op) in SETWISE:
            self.change_large_set(place, SETWISE[type(stmt.op)], stmt)
            return
        if shape_of(place.type) in ("bag", "queue"):
            self.fail(
                "KV102",
                stmt,
                f"this operator is outside the language for {place.type}",
                "bags and queues change by one element at a time",
                "use add and discard, or append and pop, in a loop",
            )
        if isinstance(place.type, SetT) and type(stmt.op) in SETWISE:
            read = Read(place.type, place, loc)
            value = self.value(self.setwise(SETWISE[type(stmt.op)], read, self.anything(stmt.value), stmt), stmt)
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
        source = self.source(stmt.iter, at_once=True)
        loop = self.enter_loop(stmt.target, source)
        before = dict(self.frame.names)
        self._forget_what_changes(stmt)
        where = self.inside(loop)
        body = self._turn(stmt, loop)
        certain = not where and all(domain.values for domain in source.domains)
        self.frame.names = self.frame.names if certain else _merge(self.frame.names, before)
        self.frame.names[loop.name] = Unusable(
            "was the variable of a loop that has ended", "keep the element in a local of another name"
        )
        self.block.extend(self.nested_loops(loop, where, body, stmt))

    def _turn(self, stmt: ast.For, loop: Loop) -> list[Stmt]:
        """The body of a loop; what stands in a queue is taken when its turn comes."""
        bound = self.frame.names[loop.name]
        if not isinstance(bound, Fixed):
            return self.body(stmt.body)
        outer, self.block = self.block, []
        variable = self.name_value(self.fresh(loop.name), bound.value, self.loc(stmt.target))
        self.frame.names[loop.name] = self.parameter(variable.name, variable.type)
        self._sequence(stmt.body)
        inner, self.block = self.block, outer
        return inner

    def _forget_what_changes(self, loop: ast.For) -> None:
        """Names for parts of the state that the loop gives a new meaning have none at the start of a round."""
        for node in (n for stmt in loop.body for n in ast.walk(stmt)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if isinstance(self.frame.names.get(node.id), Alias | Static | Fixed):
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
