"""Statements: guards, stores, locals, branches, loops, helpers called in a line of their own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from kvproto.ir.nodes import Assert, Assign, BinaryOp, Const, Expr, For, If, Local, Place, Read, Require, SetOf, Stmt
from kvproto.ir.types import ArrayT, IntT, NoneT, RecordT, SetT, Type, leaves
from kvproto.lang.frontend.calls import Calls
from kvproto.lang.frontend.core import BOOL, INT
from kvproto.lang.frontend.expressions import ARITHMETIC, SETWISE
from kvproto.lang.frontend.matching import as_if
from kvproto.lang.frontend.typing import ir_type
from kvproto.lang.frontend.values import Alias, Binding, Static, Unusable, Variable
from kvproto.lang.native import require
from kvproto.diagnostics import KvError

REFUSED: dict[type[ast.stmt], tuple[str, str, str]] = {
    ast.While: ("KV103", "a `while` loop", "loop over a sort or a range with `for`, and use `if` inside"),
    ast.Break: ("KV104", "`break`", "choose with next(...), or guard the body with a flag"),
    ast.Continue: ("KV104", "`continue`", "put the rest of the body under `if`"),
    ast.Global: ("KV115", "`global`", "keep everything that changes in the state"),
    ast.Nonlocal: ("KV115", "`nonlocal`", "keep everything that changes in the state"),
    ast.Try: ("KV116", "`try`", "test the condition with `if`"),
    ast.With: ("KV116", "`with`", "drop it"),
    ast.Raise: ("KV116", "`raise`", "use `require` for guards and `assert` for claims"),
    ast.Delete: ("KV116", "`del`", "store None or the empty set"),
    ast.Import: ("KV116", "an import inside a function", "import at the top of the module"),
    ast.ImportFrom: ("KV116", "an import inside a function", "import at the top of the module"),
    ast.FunctionDef: ("KV116", "a function inside a function", "move it to the top level"),
    ast.AsyncFunctionDef: ("KV116", "an async function", "an action is one atomic step; write two actions"),
    ast.ClassDef: ("KV116", "a class inside a function", "move it to the top level"),
}


class Statements(Calls):
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
            if isinstance(stmt, ast.If) and _returns_somewhere([stmt]):
                self._if(stmt, _unless_ended(stmt.body, rest), _unless_ended(stmt.orelse, rest))
                return
            self.statement(stmt)

    def _return(self, stmt: ast.Return, rest: list[ast.stmt]) -> None:
        if rest:
            self.fail("KV147", rest[0], "this is never reached", "it stands after a `return`", "delete it")
        if stmt.value is None:
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
        if self.frame.result is None:
            kind: Type = INT if isinstance(found.type, IntT) else found.type
            self.frame.result = Variable(self.fresh("result"), kind)
        value = self.coerce(found, self.frame.result.type, stmt.value, "the returned value")
        self.bind(self.frame.result.name, self.frame.result.type, value, self.loc(stmt))

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
                code, what, cure = REFUSED.get(
                    type(stmt), ("KV101", f"`{type(stmt).__name__}`", "see docs/language.md for what the language has")
                )
                self.fail(code, stmt, f"{what} is outside the language", "it has no finite meaning in a model", cure)

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
                self.fail("KV128", node, "require takes one condition", "it is a guard", "write require(condition)")
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
            self.fail("KV111", node, f".{func.attr} takes other arguments", "add and discard take one element", "correct the call")
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
        if wants_value and not _always_returns(definition.body):
            self.frame.source.fail(
                "KV127",
                node,
                f"{fn.__name__} does not return a value on every way",
                "its value is used",
                "end it with `return ...`",
            )
        caller, self.frame = self.frame, frame
        self._sequence(definition.body)
        self.frame = caller
        return frame.result

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
        if not isinstance(stmt.target, ast.Name) or stmt.value is None:
            self.fail(
                "KV124", stmt, "an annotation without a local and a value", "it declares nothing", "write x: Type = value"
            )

        def fail(message: str, reason: str, cure: str) -> KvError:
            loc = self.loc(stmt.annotation)
            line = self.frame.source.lines[loc.line - 1]
            return KvError("KV117", message, reason=reason, cure=cure, loc=loc, line=line)

        text = ast.unparse(stmt.annotation)
        try:
            kind = eval(text, dict(self.frame.globals))
        except Exception as problem:
            raise fail(f"{text} cannot be evaluated: {problem}", "it is ordinary Python", "check the names") from None
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
        found = self._right_side(value)
        if isinstance(found, Alias | Static):
            self.frame.names[name] = self.freeze(found) if isinstance(found, Alias) else found
            return
        kind = declared or (before.type if isinstance(before, Variable) else None)
        if kind is None:
            kind = INT if isinstance(found.type, IntT) else found.type
            if isinstance(kind, NoneT):
                self.fail(
                    "KV107",
                    stmt,
                    f"{name!r} starts as None without a type",
                    "which optional it is cannot be seen here",
                    f"write {name}: Opt(Page) = None, or use next(..., None)",
                )
        inner = before.name if isinstance(before, Variable) else self.fresh(name)
        self.bind(inner, kind, self.coerce(found, kind, value, repr(name)), self.loc(stmt))
        self.frame.names[name] = Variable(inner, kind)

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

    def _step(self, part: bool | int | str, root: Type, before: tuple[bool | int | str, ...], node: ast.AST) -> str | Expr:
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
            self.fail("KV102", stmt, "this operator is outside the language", "numbers have + - * // %, sets | & -", "rewrite it")
        self.block.append(Assign(place, self.coerce(value, place.type, stmt, "the value"), loc))

    # --- branches and loops ---------------------------------------------------------------------------

    def _if(self, stmt: ast.If, then: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        test = self.truth(stmt.test)
        before = dict(self.frame.names)
        one = self.body(then)
        after_then, self.frame.names = self.frame.names, dict(before)
        other = self.body(orelse)
        self.frame.names = _merge(after_then, self.frame.names)
        self.block.append(If(test, tuple(one), tuple(other), self.loc(stmt.test)))

    def _for(self, stmt: ast.For) -> None:
        if stmt.orelse:
            self.fail("KV116", stmt.orelse[0], "`else` after a loop", "loops always run to their end", "delete the else")
        if _returns_somewhere(stmt.body):
            self.fail(
                "KV114",
                stmt,
                "`return` inside a loop",
                "loops are unrolled and run over the whole domain",
                "choose the element first: next((x for x in Sort if ...), None)",
            )
        domain, members = self.domain(stmt.iter)
        name, inner, shadowed = self.enter_loop(stmt.target, domain.type)
        before = dict(self.frame.names)
        where = None
        if members is not None:
            where = self.binary("in", Local(domain.type, inner, domain.loc), members, BOOL, stmt.iter)
        body = self.body(stmt.body)
        certain = members is None and len(domain.values) > 0
        self.frame.names = self.frame.names if certain else _merge(self.frame.names, before)
        self.leave_loop(name, shadowed)
        self.block.append(For(inner, domain, where, tuple(body), self.loc(stmt)))


def _loaded(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _merge(one: dict[str, Binding], other: dict[str, Binding]) -> dict[str, Binding]:
    """Names after two ways have met: usable only if both give them the same meaning."""
    merged: dict[str, Binding] = {}
    for name in [*one, *(n for n in other if n not in one)]:
        left, right = one.get(name), other.get(name)
        if left is None or right is None:
            merged[name] = Unusable("is not assigned on every way to this line")
        elif left == right or (isinstance(left, Alias) and isinstance(right, Alias) and left.place.steps == right.place.steps):
            merged[name] = left
        elif isinstance(left, Unusable):
            merged[name] = left
        else:
            merged[name] = Unusable("means different things on different ways to this line")
    return merged


def _unless_ended(body: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
    return body if _always_returns(body) else [*body, *rest]


def _always_returns(body: list[ast.stmt]) -> bool:
    for stmt in body:
        if isinstance(stmt, ast.Return):
            return True
        if isinstance(stmt, ast.If) and stmt.orelse and _always_returns(stmt.body) and _always_returns(stmt.orelse):
            return True
        if isinstance(stmt, ast.Match) and all(_always_returns(c.body) for c in stmt.cases):
            last = stmt.cases[-1]
            if isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None:
                return True
    return False


def _returns_somewhere(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for stmt in body for node in ast.walk(stmt))


def _simple(fn: Callable[..., Any]) -> bool:
    """The helper is a single `return` (after its docstring), so it can be translated as an expression."""
    from kvproto.lang.source import function_source

    body = [s for s in function_source(fn)[1].body if not isinstance(s, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Return)
