"""Lowering of expressions to register code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvproto.diagnostics import KvError, Loc
from kvproto.engine.layout import Layout, encode, leaf_count, position
from kvproto.engine.program import Block, Branch, Ins, Op
from kvproto.ir.nodes import (
    Binary,
    Cond,
    Const,
    Expr,
    Let,
    Local,
    Logic,
    Place,
    Quant,
    Read,
    SetOf,
    Stmt,
    ToIndex,
    Unary,
)
from kvproto.ir.types import ArrayT, BoolT, EnumT, IntT, LeafT, OptT, RecordT, ScalarT, SetT, Type, values_of
from kvproto.ir.walk import can_fault

HUGE = 1 << 62

FaultNumber = Callable[[object, str, str, str, Loc], int]
"""(key, claim, code, message, place) -> fault number."""


@dataclass(frozen=True, slots=True)
class Val:
    """A number at run time: a constant, or a register with bounds on what it can hold.

    Booleans are 0/1, numbers themselves, elements and members their position, optionals and sets their raw form.
    """

    lo: int
    hi: int
    reg: int = -1

    @property
    def known(self) -> int | None:
        """The value, if it is known at lowering time."""
        return self.lo if self.reg < 0 else None


def const(value: int) -> Val:
    """A value known at lowering time."""
    return Val(int(value), int(value))


ARITH = {"+": Op.ADD, "-": Op.SUB, "*": Op.MUL, "//": Op.FLOORDIV, "%": Op.MOD, "min": Op.MIN, "max": Op.MAX}


class Expressions:
    """Register code for expressions; `self.code` is the block under construction."""

    def __init__(self, state: RecordT, layout: Layout, fault: FaultNumber) -> None:
        self.state = state
        self.layout = layout
        self.fault_number = fault
        self.code: list[Ins | Branch] = []
        self.env: dict[str, Val] = {}
        self.loaded: dict[int, Val] = {}
        """Leaves whose present value is in a register or known."""
        self._registers = 0

    # --- emission -------------------------------------------------------------------------------------

    def register(self) -> int:
        """A fresh register."""
        self._registers += 1
        return self._registers - 1

    def emit(self, op: Op, d: int = 0, a: int = 0, b: int = 0, imm: int = 0) -> None:
        """Append one instruction."""
        self.code.append(Ins(op, d, a, b, imm))

    def reg(self, value: Val) -> int:
        """A register that holds the value."""
        if value.reg >= 0:
            return value.reg
        d = self.register()
        self.emit(Op.CONST, d, imm=value.lo)
        return d

    def op2(self, op: Op, left: Val, right: Val, lo: int, hi: int) -> Val:
        """A two-register instruction."""
        a, b = self.reg(left), self.reg(right)
        d = self.register()
        self.emit(op, d, a, b)
        return Val(lo, hi, d)

    def op1(self, op: Op, arg: Val, lo: int, hi: int, imm: int = 0) -> Val:
        """A one-register instruction."""
        a, d = self.reg(arg), self.register()
        self.emit(op, d, a, imm=imm)
        return Val(lo, hi, d)

    def nested(self, build: Callable[[], None]) -> Block:
        """Code of `build` as a block of its own; what it loads or names is forgotten afterwards."""
        outer, env, loaded = self.code, self.env, self.loaded
        self.code, self.env, self.loaded = [], dict(env), dict(loaded)
        build()
        inner = tuple(self.code)
        self.code, self.env, self.loaded = outer, env, loaded
        return inner

    def branch(self, test: Val, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        """Both ways; the caller deals with stores inside (see `kvproto.engine.lower_stmt`)."""
        one, other = self.nested(then), self.nested(orelse)
        if one or other:
            self.code.append(Branch(self.reg(test), one, other))

    def choose(self, test: Val, then: Callable[[], Val], orelse: Callable[[], Val]) -> Val:
        """`then() if test else orelse()`, each evaluated only on its way."""
        if test.known is not None:
            return then() if test.known else orelse()
        home = self.register()
        bounds: list[Val] = []

        def side(build: Callable[[], Val]) -> Callable[[], None]:
            def run() -> None:
                value = build()
                bounds.append(value)
                if value.reg < 0:
                    self.emit(Op.CONST, home, imm=value.lo)
                else:
                    self.emit(Op.MOVE, home, value.reg)

            return run

        self.branch(test, side(then), side(orelse))
        return Val(min(v.lo for v in bounds), max(v.hi for v in bounds), home)

    def check(self, ok: Val, key: object, code: str, message: str, loc: Loc, claim: str = "") -> None:
        """Fault unless `ok`."""
        if ok.known is not None and ok.known:
            return
        number = self.fault_number(key, claim, code, message, loc)
        if ok.known is not None:
            self.emit(Op.FAULT, imm=number)
        else:
            self.emit(Op.CHECK, a=ok.reg, imm=number)

    # --- arithmetic on values -------------------------------------------------------------------------

    def add(self, value: Val, amount: int) -> Val:
        """value + constant."""
        if value.known is not None:
            return const(value.known + amount)
        if amount == 0:
            return value
        return self.op1(Op.ADDI, value, value.lo + amount, value.hi + amount, amount)

    def times(self, value: Val, amount: int) -> Val:
        """value * constant."""
        if value.known is not None:
            return const(value.known * amount)
        if amount == 1:
            return value
        ends = (value.lo * amount, value.hi * amount)
        return self.op1(Op.MULI, value, min(ends), max(ends), amount)

    def plus(self, left: Val, right: Val) -> Val:
        """left + right."""
        if right.known is not None:
            return self.add(left, right.known)
        if left.known is not None:
            return self.add(right, left.known)
        return self.op2(Op.ADD, left, right, left.lo + right.lo, left.hi + right.hi)

    def bits(self, op: Op, left: Val, right: Val) -> Val:
        """Bitwise and / or / and-not on non-negative numbers."""
        if left.known is not None and right.known is not None:
            a, b = left.known, right.known
            return const(a & b if op is Op.BAND else a | b if op is Op.BOR else a & ~b)
        for one, other in ((left, right), (right, left)):
            if one.known == 0 and not (op is Op.BANDN and one is left):
                return const(0) if op is Op.BAND else other
        if op is Op.BANDN and left.known == 0:
            return const(0)
        if op is Op.BAND and left.hi <= 1 and right.hi <= 1 and 1 in (left.known, right.known):
            return right if left.known == 1 else left
        top = (1 << max(left.hi, right.hi).bit_length()) - 1
        return self.op2(op, left, right, 0, left.hi if op is Op.BANDN else top)

    def equal(self, left: Val, right: Val, *, negated: bool = False) -> Val:
        """left == right (or !=)."""
        if left.known is not None and right.known is not None:
            return const((left.known == right.known) != negated)
        if left.hi < right.lo or right.hi < left.lo:
            return const(negated)
        if left.known is not None:
            left, right = right, left
        if right.known is not None and not negated:
            return self.op1(Op.EQI, left, 0, 1, right.known)
        return self.op2(Op.NE if negated else Op.EQ, left, right, 0, 1)

    def less(self, left: Val, right: Val, *, or_equal: bool) -> Val:
        """left < right (or <=)."""
        if left.hi < right.lo or (or_equal and left.hi <= right.lo):
            return const(1)
        if right.hi < left.lo or (not or_equal and right.hi <= left.lo):
            return const(0)
        if right.known is not None:
            return self.op1(Op.LTI, left, 0, 1, right.known + (1 if or_equal else 0))
        return self.op2(Op.LE if or_equal else Op.LT, left, right, 0, 1)

    def negate(self, value: Val) -> Val:
        """not value."""
        return const(not value.known) if value.known is not None else self.op1(Op.NOT, value, 0, 1)

    def within(self, value: Val, lo: int, hi: int) -> Val:
        """lo <= value <= hi."""
        low = self.less(const(lo), value, or_equal=True)
        return self.bits(Op.BAND, low, self.less(value, const(hi), or_equal=True))

    # --- the state ------------------------------------------------------------------------------------

    def leaf(self, place: Place) -> tuple[int, Val | None]:
        """Leaf number of a place: a base, and an offset where an index is known only at run time."""
        kind: Type = self.state
        base, offset = 0, None
        for step in place.steps:
            if isinstance(step, str):
                assert isinstance(kind, RecordT)
                for name, inner in kind.fields:
                    if name == step:
                        kind = inner
                        break
                    base += leaf_count(inner)
                continue
            assert isinstance(kind, ArrayT)
            spacing = leaf_count(kind.element)
            at = self.value(step)
            if isinstance(kind.index, IntT) and kind.index.lo is not None:
                at = self.add(at, -kind.index.lo)
            if at.known is not None:
                base += at.known * spacing
            else:
                scaled = self.times(at, spacing)
                offset = scaled if offset is None else self.plus(offset, scaled)
            kind = kind.element
        return base, offset

    def load(self, place: Place) -> Val:
        """Present value of a leaf."""
        kind = place.type
        base, offset = self.leaf(place)
        lo, hi = raw_bounds(kind)
        if offset is None:
            if base not in self.loaded:
                d = self.register()
                self.emit(Op.LOAD, d, imm=base)
                self.loaded[base] = self.unbiased(Val(lo, hi, d), kind)
            return self.loaded[base]
        d, a = self.register(), self.reg(offset)
        self.emit(Op.LOADX, d, a, imm=base)
        return self.unbiased(Val(lo, hi, d), kind)

    def unbiased(self, raw: Val, kind: Type) -> Val:
        """Value of a raw number: integers are stored relative to their low bound."""
        return self.add(raw, kind.lo) if isinstance(kind, IntT) and kind.lo else raw

    # --- expressions ----------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Val:
        """Code for an expression."""
        match expr:
            case Const():
                return const(_constant(expr))
            case Local(name=name):
                return self.env[name]
            case Read(place=place):
                return self.load(place)
            case Unary():
                return self.unary(expr)
            case Binary():
                return self.binary(expr)
            case Logic():
                return self.logic(expr)
            case Cond():
                return self.choose(self.value(expr.test), lambda: self.value(expr.then), lambda: self.value(expr.orelse))
            case Let():
                self.env[expr.name] = self.value(expr.value)
                return self.value(expr.body)
            case SetOf():
                return self.set_of(expr)
            case ToIndex():
                return self.to_index(expr)
            case Quant():
                return self.quant(expr)

    def to_index(self, expr: ToIndex) -> Val:
        """A number checked to be an element of an index type."""
        value = self.value(expr.arg)
        lo, hi = scalar_bounds(expr.type)
        self.check(self.within(value, lo, hi), expr, "KV202", f"index outside {expr.type}", expr.loc)
        return Val(max(lo, value.lo), min(hi, value.hi), value.reg) if value.known is None else const(min(max(value.known, lo), hi))

    def unary(self, expr: Unary) -> Val:
        """One operand."""
        arg = self.value(expr.arg)
        match expr.op:
            case "not":
                return self.negate(arg)
            case "int":
                return arg
            case "is_none":
                return self.equal(arg, const(0))
            case "neg":
                return const(-arg.known) if arg.known is not None else self.op2(Op.SUB, const(0), arg, -arg.hi, -arg.lo)
            case "card":
                if arg.known is not None:
                    return const(arg.known.bit_count())
                return self.op1(Op.POPCOUNT, arg, 0, arg.hi.bit_length())
            case "some":
                return self.some(expr, arg)
            case "unwrap":
                return self.unwrap(expr, arg)

    def some(self, expr: Unary, arg: Val) -> Val:
        """A value as an optional; integers are checked against its bounds."""
        assert isinstance(expr.type, OptT)
        lo, hi = scalar_bounds(expr.type.inner)
        self.check(self.within(arg, lo, hi), expr, "KV201", f"value does not fit {expr.type}", expr.loc)
        shift = 1 - (lo if isinstance(expr.type.inner, IntT) else 0)
        return self.clamp(self.add(arg, shift), 1, hi - lo + 1)

    def unwrap(self, expr: Unary, arg: Val) -> Val:
        """The value of an optional, which must not be None."""
        assert isinstance(expr.arg.type, OptT)
        inner = expr.arg.type.inner
        message = f"None is used where {expr.type} is needed"
        self.check(self.equal(arg, const(0), negated=True), expr, "KV203", message, expr.loc)
        shift = -1 + ((inner.lo or 0) if isinstance(inner, IntT) else 0)
        lo, hi = scalar_bounds(inner)
        return self.clamp(self.add(arg, shift), lo, hi)

    @staticmethod
    def clamp(value: Val, lo: int, hi: int) -> Val:
        """The same register with bounds that a check has just ensured."""
        if value.known is not None:
            return const(min(max(value.known, lo), hi))
        return Val(max(lo, value.lo), max(lo, min(hi, value.hi)), value.reg)

    def binary(self, expr: Binary) -> Val:
        """Two operands."""
        left, right = self.value(expr.left), self.value(expr.right)
        match expr.op:
            case "==":
                return self.equal(left, right)
            case "!=":
                return self.equal(left, right, negated=True)
            case "<" | "<=":
                return self.less(left, right, or_equal=expr.op == "<=")
            case "union":
                return self.bits(Op.BOR, left, right)
            case "inter":
                return self.bits(Op.BAND, left, right)
            case "diff":
                return self.bits(Op.BANDN, left, right)
            case "subset":
                return self.equal(self.bits(Op.BANDN, left, right), const(0))
            case "in":
                return self.member(expr, left, right)
            case _:
                return self.arithmetic(expr, left, right)

    def member(self, expr: Binary, element: Val, members: Val) -> Val:
        """element in members; a number outside the element type is in no set."""
        assert isinstance(expr.right.type, SetT)
        kind = expr.right.type.element
        lo, hi = scalar_bounds(kind)
        inside = self.within(element, lo, hi)
        at = self.add(element, -lo if isinstance(kind, IntT) else 0)
        if inside.known == 0:
            return const(0)
        if inside.known is None:
            at = self.op2(Op.MIN, self.op2(Op.MAX, at, const(0), 0, max(0, at.hi)), const(hi - lo), 0, hi - lo)
        if at.known is not None and members.known is not None:
            return const(members.known >> at.known & 1)
        found = self.op2(Op.HAS, members, at, 0, 1)
        return found if inside.known == 1 else self.bits(Op.BAND, inside, found)

    def arithmetic(self, expr: Binary, left: Val, right: Val) -> Val:
        """+ - * // % min max, with bounds."""
        op = expr.op
        if op in ("//", "%"):
            self.check(self.equal(right, const(0), negated=True), expr, "KV204", "division by zero", expr.loc)
        if op == "+":
            return self.bounded(self.plus(left, right), expr)
        if op == "-" and right.known is not None:
            return self.bounded(self.add(left, -right.known), expr)
        lo, hi = _bounds(op, left, right)
        if left.known is not None and right.known is not None and lo == hi:
            return const(lo)
        return self.bounded(self.op2(ARITH[op], left, right, lo, hi), expr)

    @staticmethod
    def bounded(value: Val, expr: Binary) -> Val:
        """Refuse numbers that could leave 64 bits."""
        if max(abs(value.lo), abs(value.hi)) >= HUGE:
            raise KvError(
                "KV150",
                "this number can become too large",
                reason="numbers are 64-bit inside the engines, and nothing here keeps this one small",
                cure="bound it: min(x, limit), or store it in a variable of type Int(lo, hi)",
                loc=expr.loc,
            )
        return value

    def logic(self, expr: Logic) -> Val:
        """and / or; evaluated all at once where no argument can fault, else one after the other."""
        is_and = expr.op == "and"
        same = _one_of(expr)
        if same is not None:
            subject, mask = same
            return self.op2(Op.HAS, const(mask), self.value(subject), 0, 1)
        if not any(can_fault(arg) for arg in expr.args[1:]):
            total = const(is_and)
            for arg in expr.args:
                total = self.bits(Op.BAND if is_and else Op.BOR, total, self.value(arg))
            return total
        return self.in_turn(list(expr.args), is_and)

    def in_turn(self, args: list[Expr], is_and: bool) -> Val:
        """Short-circuit evaluation."""
        first = self.value(args[0])
        if len(args) == 1:
            return first

        def more() -> Val:
            return self.in_turn(args[1:], is_and)

        return self.choose(first, more, lambda: const(0)) if is_and else self.choose(first, lambda: const(1), more)

    def set_of(self, expr: SetOf) -> Val:
        """A set from its elements."""
        assert isinstance(expr.type, SetT)
        total = const(0)
        for item in expr.items:
            total = self.bits(Op.BOR, total, self.bit(self.value(item), expr.type.element, item, expr.loc))
        return total

    def bit(self, value: Val, kind: ScalarT, key: object, loc: Loc) -> Val:
        """The set {value}."""
        lo, hi = scalar_bounds(kind)
        self.check(self.within(value, lo, hi), (key, "bit"), "KV201", f"value does not fit {kind}", loc)
        at = self.clamp(self.add(value, -lo if isinstance(kind, IntT) else 0), 0, hi - lo)
        return const(1 << at.known) if at.known is not None else self.op1(Op.BIT, at, 0, (1 << (hi - lo + 1)) - 1)

    # --- quantifiers ----------------------------------------------------------------------------------

    def quant(self, expr: Quant) -> Val:
        """Unrolled over its domain."""
        match expr.op:
            case "any" | "all":
                return self.any_all(expr)
            case "sum":
                return self.total(expr, const(0), lambda acc, v: self.plus(acc, v), additive=True)
            case "set":
                return self.total(expr, const(0), lambda acc, v: self.bits(Op.BOR, acc, v), additive=True)
            case "first":
                return self.first(expr, 0)
            case "min" | "max":
                return self.extreme(expr)

    def turn(self, expr: Quant, at: int) -> None:
        """Bind the quantifier's variable to its `at`-th value."""
        self.env[expr.var] = const(scalar_position(expr.domain.values[at], expr.domain.type))

    def any_all(self, expr: Quant) -> Val:
        """any / all, short-circuiting only where something could fault."""
        is_all = expr.op == "all"
        risky = can_fault(expr.body) or (expr.where is not None and can_fault(expr.where))
        if risky:
            return self.any_all_in_turn(expr, 0)
        total = const(is_all)
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            value = self.value(expr.body)
            if expr.where is not None:
                where = self.value(expr.where)
                value = self.bits(Op.BOR, self.negate(where), value) if is_all else self.bits(Op.BAND, where, value)
            total = self.bits(Op.BAND if is_all else Op.BOR, total, value)
        return total

    def any_all_in_turn(self, expr: Quant, at: int) -> Val:
        """any / all one value after the other, as Python does it."""
        is_all = expr.op == "all"
        if at == len(expr.domain.values):
            return const(is_all)
        self.turn(expr, at)

        def rest() -> Val:
            return self.any_all_in_turn(expr, at + 1)

        def here() -> Val:
            value = self.value(expr.body)
            return self.choose(value, rest, lambda: const(0)) if is_all else self.choose(value, lambda: const(1), rest)

        return here() if expr.where is None else self.choose(self.value(expr.where), here, rest)

    def element(self, expr: Quant) -> Val:
        """The body; as a one-element set under `set`."""
        value = self.value(expr.body)
        if expr.op == "set" and not isinstance(expr.body.type, SetT):
            assert isinstance(expr.type, SetT)
            return self.bit(value, expr.type.element, expr, expr.loc)
        return value

    def total(self, expr: Quant, zero: Val, join: Callable[[Val, Val], Val], *, additive: bool) -> Val:
        """sum / set: accumulate bodies; a body whose `where` is false counts as 0."""
        acc = zero
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            if expr.where is None:
                acc = join(acc, self.element(expr))
                continue
            where = self.value(expr.where)
            if can_fault(expr.body):
                value = self.choose(where, lambda: self.element(expr), lambda: const(0))
            else:
                value = self.gated(where, self.element(expr))
            acc = join(acc, value)
        return acc

    def gated(self, where: Val, value: Val) -> Val:
        """value if where else 0, without a branch."""
        if where.known is not None:
            return value if where.known else const(0)
        if value.known is not None:
            return self.times(where, value.known) if value.known else const(0)
        return self.op2(Op.MUL, where, value, min(0, value.lo), max(0, value.hi))

    def first(self, expr: Quant, at: int) -> Val:
        """The first value that satisfies `where`, else the default."""
        assert expr.default is not None
        if at == len(expr.domain.values):
            return self.value(expr.default)
        self.turn(expr, at)
        if expr.where is None:
            return self.value(expr.body)
        where = self.value(expr.where)
        return self.choose(where, lambda: self.value(expr.body), lambda: self.first(expr, at + 1))

    def extreme(self, expr: Quant, at: int = 0, best: Val | None = None, some: Val = const(0)) -> Val:
        """min / max of the bodies that count; the default (or a fault) where none does."""
        op = Op.MIN if expr.op == "min" else Op.MAX
        for at in range(len(expr.domain.values)):
            self.turn(expr, at)
            where = const(1) if expr.where is None else self.value(expr.where)
            before, had = best, some
            best = self.choose(where, lambda b=before, h=had: self._better(op, expr, b, h), lambda b=before: b or const(0))  # type: ignore[misc]
            some = self.bits(Op.BOR, had, where)
        result = best or const(0)
        if expr.default is None:
            self.check(some, expr, "KV205", f"{expr.op} of nothing", expr.loc)
            return result
        return self.choose(some, lambda: result, lambda: self.value(expr.default))  # type: ignore[arg-type]

    def _better(self, op: Op, expr: Quant, best: Val | None, had: Val) -> Val:
        value = self.value(expr.body)
        if best is None:
            return value
        kept = best
        lo = min(value.lo, kept.lo)
        return self.choose(had, lambda: self.op2(op, value, kept, lo, max(value.hi, kept.hi)), lambda: value)


def _bounds(op: str, left: Val, right: Val) -> tuple[int, int]:
    """Interval of an arithmetic result."""
    match op:
        case "-":
            return left.lo - right.hi, left.hi - right.lo
        case "*":
            ends = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
            return min(ends), max(ends)
        case "min":
            return min(left.lo, right.lo), min(left.hi, right.hi)
        case "max":
            return max(left.lo, right.lo), max(left.hi, right.hi)
        case "%":
            if left.known is not None and right.known:
                return left.known % right.known, left.known % right.known
            return min(0, right.lo + 1), max(0, right.hi - 1)
        case _:
            if left.known is not None and right.known:
                return left.known // right.known, left.known // right.known
            size = max(abs(left.lo), abs(left.hi))
            return -size - 1, size + 1


def _one_of(expr: Logic) -> tuple[Expr, int] | None:
    """`x == A or x == B or ...` with constants of a small type, as (x, bit mask of the constants)."""
    if expr.op != "or":
        return None
    mask, subject = 0, None
    for arg in expr.args:
        if not (isinstance(arg, Binary) and arg.op == "==" and isinstance(arg.right, Const)):
            return None
        if not isinstance(arg.left, Read) or not isinstance(arg.left.type, EnumT):
            return None
        if subject is not None and arg.left.place.steps != subject.place.steps:
            return None
        subject = arg.left
        mask |= 1 << _constant(arg.right)
    return None if subject is None or mask.bit_length() > 62 else (subject, mask)


def _constant(expr: Const) -> int:
    """Run-time number of a constant."""
    kind = expr.type
    if isinstance(kind, IntT):
        assert isinstance(expr.value, int)
        return expr.value
    if isinstance(kind, OptT | SetT):
        return encode(expr.value, kind)
    if isinstance(kind, BoolT) or not hasattr(kind, "members"):
        return 0 if expr.value is None else int(expr.value)  # type: ignore[arg-type]
    return scalar_position(expr.value, kind)  # type: ignore[arg-type]


def scalar_position(value: bool | int | str, kind: ScalarT) -> int:
    """Run-time number of a scalar: integers are themselves."""
    return int(value) if isinstance(kind, IntT) else position(value, kind)


def scalar_bounds(kind: Type) -> tuple[int, int]:
    """Least and greatest run-time number of a scalar type."""
    if isinstance(kind, IntT):
        return (-HUGE if kind.lo is None else kind.lo), (HUGE if kind.hi is None else kind.hi)
    assert not isinstance(kind, ArrayT | RecordT | OptT | SetT) and not _is_none(kind)
    return 0, len(values_of(kind)) - 1  # type: ignore[arg-type]


def _is_none(kind: Type) -> bool:
    return str(kind) == "None"


def raw_bounds(kind: Type) -> tuple[int, int]:
    """Least and greatest raw number of a leaf type."""
    from kvproto.engine.layout import cardinality

    leaf: LeafT = kind  # type: ignore[assignment]
    return 0, cardinality(leaf) - 1


