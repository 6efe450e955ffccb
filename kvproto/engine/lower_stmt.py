"""Lowering of statements: guards that leave early, stores with range checks, branches, unrolled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvproto.engine.evaluate import Args
from kvproto.engine.layout import encode, leaf_count
from kvproto.engine.lower_expr import Expressions, Val, const, raw_bounds, scalar_bounds, scalar_position
from kvproto.engine.program import Block, Op
from kvproto.ir.nodes import Assert, Assign, Binary, Const, Expr, For, If, Logic, Param, Quant, Read, Require, SetLocal, Stmt, Unary
from kvproto.ir.types import ArrayT, IntT, OptT, RecordT, Type
from kvproto.ir.walk import statements


class Lowering(Expressions):
    """Code of one action instance or one condition."""

    def parameters(self, params: tuple[Param, ...], args: Args) -> None:
        """Fix the parameters of the action."""
        for param, arg in zip(params, args, strict=True):
            self.env[param.name] = const(scalar_position(arg, param.type))

    def action(self, body: tuple[Stmt, ...]) -> Block:
        """Code of an action's body."""
        for stmt in body:
            self.statement(stmt)
        return tuple(self.code)

    def condition(self, cond: Expr) -> Block:
        """Code that ends in RET of the condition."""
        value = self.value(cond)
        self.emit(Op.RET, a=self.reg(value))
        return tuple(self.code)

    def constant_false(self) -> Block:
        """A condition that never holds."""
        self.emit(Op.RET, a=self.reg(const(0)))
        return tuple(self.code)

    def statement(self, stmt: Stmt) -> None:
        """Code of one statement."""
        match stmt:
            case Require(cond=cond):
                self.guard(cond, True)
            case Assert(cond=cond):
                self.check(self.value(cond), ("claim", stmt.claim), "", stmt.message, stmt.loc, stmt.claim)
            case Assign():
                self.store(stmt)
            case SetLocal(name=name, value=value):
                self.env[name] = self.value(value)
            case If():
                self.if_(self.value(stmt.test), stmt.then, stmt.orelse)
            case For():
                for item in stmt.domain.values:
                    self.env[stmt.var] = const(scalar_position(item, stmt.domain.type))
                    if stmt.where is None:
                        for inner in stmt.body:
                            self.statement(inner)
                    else:
                        self.if_(self.value(stmt.where), stmt.body, ())

    # --- guards ---------------------------------------------------------------------------------------

    def guard(self, cond: Expr, wanted: bool) -> None:
        """Leave unless `cond` is `wanted`; conjunctions become several guards, cheapest test first."""
        match cond:
            case Unary(op="not", arg=arg):
                self.guard(arg, not wanted)
            case Logic(op=op, args=args) if (op == "and") == wanted:
                for arg in args:
                    self.guard(arg, wanted)
            case Quant(op=op) if op == ("all" if wanted else "any"):
                self.guard_each(cond, wanted)
            case _:
                if not self.test_leaf(cond, wanted):
                    value = self.value(cond)
                    self.require(value if wanted else self.negate(value))

    def require(self, value: Val) -> None:
        """Leave unless the value is true."""
        if value.known is None or not value.known:
            self.emit(Op.REQUIRE, a=self.reg(value))

    def guard_each(self, cond: Quant, wanted: bool) -> None:
        """`all` (or `not any`) as a guard for each value."""
        for at in range(len(cond.domain.values)):
            self.turn(cond, at)
            if cond.where is None:
                self.guard(cond.body, wanted)
                continue
            where = self.value(cond.where)
            if where.known == 1:
                self.guard(cond.body, wanted)
            elif where.known is None:
                ok = self.choose(where, lambda: self.wanted(cond.body, wanted), lambda: const(1))
                self.require(ok)

    def wanted(self, cond: Expr, wanted: bool) -> Val:
        """Whether the condition is what is wanted."""
        value = self.value(cond)
        return value if wanted else self.negate(value)

    def test_leaf(self, cond: Expr, wanted: bool) -> bool:
        """A test of one variable against a constant, which tiers do with a mask; false if it is no such test."""
        raw: int | None = None
        read: Expr = cond
        match cond:
            case Read():
                raw = int(wanted)
            case Unary(op="is_none", arg=arg) if wanted:
                read, raw = arg, 0
            case Binary(op="==", left=left, right=Const() as right) if wanted:
                read, raw = left, self.raw_constant(right, left.type)
            case Binary(op="==", left=left, right=right) if wanted and isinstance(left, Read):
                known = self.peek(right)
                if known is not None:
                    read, raw = left, known - (left.type.lo or 0 if isinstance(left.type, IntT) else 0)
            case _:
                pass
        if raw is None or not isinstance(read, Read):
            return False
        base, offset = self.leaf(read.place)
        if offset is not None or base in self.loaded:
            return False
        lo, hi = raw_bounds(read.type)
        if not lo <= raw <= hi:
            self.require(const(0))
        else:
            self.emit(Op.TEST, a=base, imm=raw)
        return True

    def peek(self, expr: Expr) -> int | None:
        """Value of an expression made of known locals only, without emitting code."""
        match expr:
            case Unary(op="some", type=OptT(inner=inner), arg=arg) if not isinstance(inner, IntT):
                value = self.peek(arg)
                return None if value is None else value + 1
            case Const():
                return self.value(expr).known
            case _:
                known = self.env.get(getattr(expr, "name", ""))
                return None if known is None else known.known

    @staticmethod
    def raw_constant(expr: Const, kind: Type) -> int | None:
        """Raw number of a constant in a leaf of type `kind`; None where types differ in form."""
        if isinstance(kind, IntT):
            return expr.value - kind.lo if isinstance(expr.value, int) and kind.lo is not None else None
        if isinstance(expr.type, ArrayT | RecordT) or str(expr.type) == "None":
            return None
        return encode(expr.value, expr.type)  # type: ignore[arg-type]

    # --- stores ---------------------------------------------------------------------------------------

    def store(self, stmt: Assign) -> None:
        """Store into a leaf, with a check where the value might not fit."""
        kind = stmt.place.type
        value = self.value(stmt.value)
        if isinstance(kind, IntT):
            lo, hi = scalar_bounds(kind)
            self.check(self.within(value, lo, hi), stmt, "KV201", f"value does not fit {kind}", stmt.loc)
            value = self.clamp(value, lo, hi)
        base, offset = self.leaf(stmt.place)
        raw = self.add(value, -(kind.lo or 0)) if isinstance(kind, IntT) else value
        if offset is not None:
            self.emit(Op.STOREX, a=self.reg(offset), b=self.reg(raw), imm=base)
            first, last = self.span(stmt)
            self.loaded = {at: v for at, v in self.loaded.items() if not first <= at <= last}
        elif raw.known is not None:
            self.emit(Op.SETC, a=base, imm=raw.known)
            self.loaded[base] = value
        else:
            self.emit(Op.STORE, a=raw.reg, imm=base)
            self.loaded[base] = value

    def span(self, stmt: Assign) -> tuple[int, int]:
        """First and last leaf that a store with a run-time index may reach: the outermost indexed array."""
        kind: Type = self.state
        base = 0
        for step in stmt.place.steps:
            if not isinstance(step, str):
                break
            assert isinstance(kind, RecordT)
            for name, inner in kind.fields:
                if name == step:
                    kind = inner
                    break
                base += leaf_count(inner)
        return base, base + leaf_count(kind) - 1

    # --- branches -------------------------------------------------------------------------------------

    def if_(self, test: Val, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> None:
        """Two ways: locals that either assigns get a home register, and stored leaves are forgotten."""
        if test.known is not None:
            for stmt in then if test.known else orelse:
                self.statement(stmt)
            return
        assigned = sorted(
            {s.name for s in statements((*then, *orelse)) if isinstance(s, SetLocal)}
        )
        homes = {name: self.register() for name in assigned}
        for name in assigned:
            if name in self.env:
                self.settle(name, homes)
        ends: list[dict[str, Val]] = []
        stored: set[int] = set()

        def way(body: tuple[Stmt, ...]) -> Callable[[], None]:
            def run() -> None:
                before = dict(self.loaded)
                for stmt in body:
                    self.statement(stmt)
                ends.append({name: self.env[name] for name in assigned if name in self.env})
                self.detach(assigned, homes)
                for name in assigned:
                    if name in self.env:
                        self.settle(name, homes)
                stored.update(at for at, v in before.items() if self.loaded.get(at) != v)
                stored.update(at for at, v in self.loaded.items() if before.get(at) != v)

            return run

        self.branch(test, way(then), way(orelse))
        for at in stored:
            self.loaded.pop(at, None)
        for name in assigned:
            found = [end[name] for end in ends if name in end]
            if len(found) == len(ends):
                self.env[name] = Val(min(v.lo for v in found), max(v.hi for v in found), homes[name])

    def detach(self, assigned: list[str], homes: dict[str, int]) -> None:
        """Copy values that still live in another local's home register, before that is overwritten."""
        taken = set(homes.values())
        for name in assigned:
            value = self.env.get(name)
            if value is not None and value.reg in taken and value.reg != homes[name]:
                copied = self.register()
                self.emit(Op.MOVE, copied, value.reg)
                self.env[name] = replace(value, reg=copied)

    def settle(self, name: str, homes: dict[str, int]) -> None:
        """Bring a local's value into its home register."""
        value, home = self.env[name], homes[name]
        if value.known is not None:
            self.emit(Op.CONST, home, imm=value.known)
        elif value.reg != home:
            self.emit(Op.MOVE, home, value.reg)
        self.env[name] = replace(value, reg=home)


