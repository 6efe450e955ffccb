"""Lowering of statements: guards that leave early, stores with range checks, branches, unrolled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvproto.engine.evaluate import Args
from kvproto.engine.layout import encode
from kvproto.engine.lower_code import Val, const
from kvproto.engine.lower_expr import emptiness, leaf_number, raw_bounds, scalar_bounds
from kvproto.engine.lower_quant import Quantifiers
from kvproto.engine.program import Block, Op
from kvproto.ir.nodes import (
    Assert,
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Local,
    Logic,
    Param,
    Quant,
    Read,
    Require,
    SetLocal,
    Stmt,
    Unary,
)
from kvproto.ir.types import ArrayT, IntT, NoneT, OptT, RecordT
from kvproto.ir.walk import statements


class Lowering(Quantifiers):
    """Code of one action instance or one condition."""

    def parameters(self, params: tuple[Param, ...], args: Args) -> None:
        """Fix the parameters of the action."""
        for param, arg in zip(params, args, strict=True):
            self.env[param.name] = const(leaf_number(arg, param.type))

    def action(self, body: tuple[Stmt, ...]) -> Block:
        """Code of an action's body."""
        self.block(body)
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

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Code of statements in order."""
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        """Code of one statement."""
        match stmt:
            case Require(cond=cond):
                self.guard(cond, True)
            case Assert(cond=cond):
                self.check(self.value(cond), "", stmt.message, stmt.loc, stmt.claim)
            case Assign():
                self.store(stmt)
            case SetLocal(name=name, value=value):
                self.env[name] = self.value(value)
            case If():
                self.if_(self.value(stmt.test), stmt.then, stmt.orelse)
            case For():
                for item in stmt.domain.values:
                    self.env[stmt.var] = const(leaf_number(item, stmt.domain.type))
                    self.if_(const(1) if stmt.where is None else self.value(stmt.where), stmt.body, ())

    # --- guards ---------------------------------------------------------------------------------------

    def guard(self, cond: Expr, wanted: bool) -> None:
        """Leave unless `cond` is `wanted`; a conjunction becomes several guards."""
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
        if not value.known and value.reg not in self.assured:
            self.emit(Op.REQUIRE, a=self.reg(value))
            if value.reg >= 0:
                self.assured.add(value.reg)

    def guard_each(self, cond: Quant, wanted: bool) -> None:
        """`all` (or `not any`) as a guard for each value."""

        def counts() -> Val:
            value = self.value(cond.body)
            return value if wanted else self.negate(value)

        for at in range(len(cond.domain.values)):
            self.turn(cond, at)
            where = self.where(cond)
            if where.known:
                self.guard(cond.body, wanted)
            else:
                self.require(self.either(self.negate(where), counts))

    def test_leaf(self, cond: Expr, wanted: bool) -> bool:
        """A test of one variable against a constant, which tiers do with a mask; false if it is no such test."""
        found = self.tested(cond, wanted)
        if found is None:
            return False
        read, raw = found
        if not all(isinstance(s, str | Const) or self.peek(s) is not None for s in read.place.steps):
            return False
        base = self.spot(read.place).base
        if base in self.loaded:
            return False
        lo, hi = raw_bounds(read.type)
        if lo <= raw <= hi:
            self.emit(Op.TEST, a=base, imm=raw)
        else:
            self.require(const(0))
        return True

    def tested(self, cond: Expr, wanted: bool) -> tuple[Read, int] | None:
        """The variable and the raw value that it must have, if the condition is of that form."""
        match cond:
            case Read():
                return cond, int(wanted)
            case Unary(op="is_none", arg=Read() as read) if wanted:
                return read, 0
            case Binary(op="==" | "!=" as op) if (op == "==") == wanted:
                counted = emptiness(cond)
                if counted is not None:
                    return (counted, 0) if isinstance(counted, Read) else None
                raw = self.peek(cond.right)
                if raw is None or not isinstance(cond.left, Read):
                    return None
                kind = cond.left.type
                return cond.left, raw - ((kind.lo or 0) if isinstance(kind, IntT) else 0)
            case _:
                return None

    def peek(self, expr: Expr) -> int | None:
        """Value of a constant or known local without emitting code; optionals are raw."""
        match expr:
            case Const(type=kind, value=value):
                if isinstance(kind, IntT) and isinstance(value, int):
                    return value
                return None if isinstance(kind, ArrayT | RecordT | NoneT) else encode(value, kind)
            case Unary(op="some", type=OptT(inner=inner), arg=arg) if not isinstance(inner, IntT):
                position = self.peek(arg)
                return None if position is None else position + 1
            case Local(name=name):
                return self.env[name].known
            case _:
                return None

    # --- stores ---------------------------------------------------------------------------------------

    def store(self, stmt: Assign) -> None:
        """Store into a leaf, with a check where the value might not fit: value, indices, check, as Python does it."""
        kind = stmt.place.type
        value = self.value(stmt.value)
        spot = self.spot(stmt.place)
        raw = value
        if isinstance(kind, IntT):
            lo, hi = scalar_bounds(kind)
            self.check(self.within(value, lo, hi), "KV201", f"value does not fit {kind}", stmt.loc)
            value = self.clamp(value, lo, hi)
            raw = self.add(value, -lo)
        if spot.offset is not None:
            self.emit(Op.STOREX, a=self.reg(spot.offset), b=self.reg(raw), imm=spot.base)
            for leaf in spot.leaves():
                self.loaded.pop(leaf, None)
            return
        if raw.known is not None:
            self.emit(Op.SETC, a=spot.base, imm=raw.known)
        else:
            self.emit(Op.STORE, a=raw.reg, imm=spot.base)
        self.loaded[spot.base] = value

    # --- branches -------------------------------------------------------------------------------------

    def if_(self, test: Val, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> None:
        """Two ways: locals that either assigns get a home register, and stored leaves are forgotten."""
        if test.known is not None:
            self.block(then if test.known else orelse)
            return
        assigned = sorted({s.name for s in statements((*then, *orelse)) if isinstance(s, SetLocal)})
        homes = {name: self.register() for name in assigned}
        for name in assigned:
            if name in self.env:
                self.settle(name, homes)
        ends: list[dict[str, Val]] = []
        stored: set[int] = set()

        def way(body: tuple[Stmt, ...], certain: int) -> Callable[[], None]:
            def build() -> None:
                if certain >= 0:
                    self.assured.add(certain)
                self.way(body, homes, ends, stored)

            return build

        otherwise = self.negate(test).reg if test.reg in self.negated else -1
        self.fork(test, self.nested(way(then, test.reg)), self.nested(way(orelse, otherwise)))
        for at in stored:
            self.loaded.pop(at, None)
        for name in assigned:
            found = [end[name] for end in ends if name in end]
            if len(found) == len(ends):
                self.env[name] = Val(min(v.lo for v in found), max(v.hi for v in found), homes[name])

    def way(self, body: tuple[Stmt, ...], homes: dict[str, int], ends: list[dict[str, Val]], stored: set[int]) -> None:
        """One way of a branch; what it leaves in locals and which leaves it stores is noted."""
        before = dict(self.loaded)
        self.block(body)
        ends.append({name: self.env[name] for name in homes if name in self.env})
        self.detach(homes)
        for name in homes:
            if name in self.env:
                self.settle(name, homes)
        stored.update(at for at in {*before, *self.loaded} if before.get(at) != self.loaded.get(at))

    def detach(self, homes: dict[str, int]) -> None:
        """Copy values that still live in another local's home register, before that is overwritten."""
        taken = set(homes.values())
        for name, home in homes.items():
            value = self.env.get(name)
            if value is not None and value.reg in taken and value.reg != home:
                self.env[name] = self.put(self.register(), value)

    def settle(self, name: str, homes: dict[str, int]) -> None:
        """Bring a local's value into its home register."""
        self.env[name] = replace(self.env[name], reg=self.put(homes[name], self.env[name]).reg)
