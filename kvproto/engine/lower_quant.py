"""Lowering of quantifiers: unrolled over their domain, from the first value to the last."""

from __future__ import annotations

from dataclasses import replace

from kvproto.engine.lower_code import Val, const
from kvproto.engine.lower_expr import Expressions, bounded, leaf_number
from kvproto.engine.program import Op
from kvproto.ir.nodes import Expr, Local, Logic, Quant
from kvproto.ir.types import SetT
from kvproto.ir.walk import subexpressions


class Quantifiers(Expressions):
    """Register code for quantifiers.

    Faults are met in the order in which Python evaluates: what might fault and is not needed is branched around.
    """

    def quant(self, expr: Quant) -> Val:
        """Code for a quantifier; what its condition says of everything but its variable is asked once, before."""
        before, inner = _hoisted(expr)
        if before is None:
            return self.unrolled(expr)
        test = self.value(before)
        match expr.op:
            case "any" | "sum" | "set":
                return self.gated(test, lambda: self.quant(inner))
            case "all":
                return self.either(self.negate(test), lambda: self.quant(inner))
            case _:
                return self.choose(test, lambda: self.quant(inner), lambda: self.otherwise(expr))

    def unrolled(self, expr: Quant) -> Val:
        """The quantifier as it stands."""
        match expr.op:
            case "any":
                return self.any(expr)
            case "all":
                return self.all(expr)
            case "sum" | "set":
                return self.total(expr)
            case "first":
                return self.first(expr)
            case "min" | "max":
                return self.extreme(expr)

    def turn(self, expr: Quant, at: int) -> None:
        """Bind the quantifier's variable to its `at`-th value."""
        self.env[expr.var] = const(leaf_number(expr.domain.values[at], expr.domain.type))

    def where(self, expr: Quant) -> Val:
        """Whether the present value counts."""
        return const(1) if expr.where is None else self.value(expr.where)

    def body(self, expr: Quant) -> Val:
        """The body; as a one-element set under `set`."""
        value = self.value(expr.body)
        if expr.op == "set" and not isinstance(expr.body.type, SetT):
            assert isinstance(expr.type, SetT)
            return self.bit(value, expr.type.element, expr.loc)
        return value

    def otherwise(self, expr: Quant) -> Val:
        """The default, or a fault where there is none."""
        if expr.default is not None:
            return self.value(expr.default)
        self.check(const(0), "KV205", f"{expr.op} of nothing", expr.loc)
        return const(0)

    def any(self, expr: Quant) -> Val:
        """Whether the body holds for some value."""

        def here() -> Val:
            return self.both(self.where(expr), lambda: self.value(expr.body))

        found = const(0)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            found = self.either(found, here)
        return found

    def all(self, expr: Quant) -> Val:
        """Whether the body holds for all values."""

        def here() -> Val:
            return self.either(self.negate(self.where(expr)), lambda: self.value(expr.body))

        found = const(1)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            found = self.both(found, here)
        return found

    def total(self, expr: Quant) -> Val:
        """sum / set: a body whose `where` is false counts as 0."""
        total = const(0)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            value = self.gated(self.where(expr), lambda: self.body(expr))
            total = self.bits(Op.BOR, total, value) if expr.op == "set" else bounded(self.plus(total, value), expr.loc)
        return total

    def first(self, expr: Quant) -> Val:
        """The first value that satisfies `where`, else the default."""
        home = self.register()
        ends: list[Val] = []
        searching = const(1)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            chosen = self.both(searching, lambda: self.where(expr))
            self.when(chosen, lambda: ends.append(self.put(home, self.value(expr.body))))
            searching = self.bits(Op.BANDN, searching, chosen)
        self.when(searching, lambda: ends.append(self.put(home, self.otherwise(expr))))
        return Val(min(v.lo for v in ends), max(v.hi for v in ends), home)

    def extreme(self, expr: Quant) -> Val:
        """min / max of the bodies that count; the default (or a fault) where none does."""
        best: Val | None = None
        some = const(0)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            where = self.where(expr)
            if where.known != 0:
                best = self.better(expr, best, some, where)
                some = self.bits(Op.BOR, some, where)
        if best is None:
            return self.otherwise(expr)
        if expr.default is None:
            self.check(some, "KV205", f"{expr.op} of nothing", expr.loc)
            return best
        result = best
        return self.choose(some, lambda: result, lambda: self.otherwise(expr))

    def better(self, expr: Quant, best: Val | None, some: Val, where: Val) -> Val:
        """The best so far and the present body, if that counts; `best` means nothing unless `some`."""
        seen: list[Val] = []
        op = Op.MIN if expr.op == "min" else Op.MAX

        def here() -> Val:
            value = self.value(expr.body)
            seen.append(value)
            if best is None:
                return value
            return self.choose(some, lambda: self.op2(op, value, best, *_hull(value, best)), lambda: value)

        return self.choose(where, here, lambda: const(seen[0].lo) if best is None else best)


def _hull(one: Val, other: Val) -> tuple[int, int]:
    return min(one.lo, other.lo), max(one.hi, other.hi)


def _hoisted(expr: Quant) -> tuple[Expr | None, Quant]:
    """The first part of `where` if it does not mention the variable, and the quantifier without it."""
    where = expr.where
    if where is None or not expr.domain.values:
        return None, expr
    parts = where.args if isinstance(where, Logic) and where.op == "and" else (where,)
    if any(isinstance(e, Local) and e.name == expr.var for e in subexpressions(parts[0])):
        return None, expr
    rest = parts[1:]
    left = rest[0] if len(rest) == 1 else Logic(where.type, "and", rest, where.loc) if rest else None
    return parts[0], replace(expr, where=left)
