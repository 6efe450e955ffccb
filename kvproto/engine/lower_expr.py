"""Lowering of expressions to register code."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

from kvproto.diagnostics import KvError, Loc
from kvproto.engine.layout import encode, position
from kvproto.engine.lower_code import Code, FaultNumber, Val, const
from kvproto.engine.program import Op
from kvproto.ir.nodes import (
    Binary,
    Checked,
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
    ToIndex,
    Unary,
)
from kvproto.ir.types import (
    ArrayT,
    BoolT,
    EnumT,
    IntT,
    LeafT,
    NoneT,
    OptT,
    RecordT,
    ScalarT,
    SetT,
    SortT,
    Type,
    Value,
    cardinality,
    leaf_count,
)

HUGE = 1 << 62

ARITH = {"+": Op.ADD, "-": Op.SUB, "*": Op.MUL, "//": Op.FLOORDIV, "%": Op.MOD, "min": Op.MIN, "max": Op.MAX}


class Shape:
    """Where the leaves of the state lie; every type inside it is measured once."""

    def __init__(self, state: RecordT) -> None:
        self.state = state
        self._counts: dict[int, int] = {}
        self._fields: dict[int, dict[str, tuple[int, Type]]] = {}
        self._measure(state)

    def _measure(self, kind: Type) -> int:
        if isinstance(kind, ArrayT):
            self._measure(kind.element)
        if isinstance(kind, RecordT):
            at = 0
            fields = self._fields[id(kind)] = {}
            for name, inner in kind.fields:
                fields[name] = (at, inner)
                at += self._measure(inner)
        count = self._counts[id(kind)] = leaf_count(kind)
        return count

    def count(self, kind: Type) -> int:
        """Number of leaves inside a part of the state (the very object that is in its type)."""
        return self._counts[id(kind)]

    def field(self, record: RecordT, name: str) -> tuple[int, Type]:
        """First leaf of a field inside its record, and its type."""
        return self._fields[id(record)][name]


@dataclass(frozen=True, slots=True)
class Spot:
    """Leaves that a place can mean: leaf `base`, plus `offset` where an index is known only at run time.

    `reach` has the number of values and the spacing of each such index.
    """

    base: int
    offset: Val | None
    reach: tuple[tuple[int, int], ...]

    def leaves(self) -> set[int]:
        """All of them."""
        found = {self.base}
        for count, spacing in self.reach:
            found = {leaf + at * spacing for leaf in found for at in range(count)}
        return found


class Expressions(Code):
    """Register code for expressions."""

    def __init__(self, shape: Shape, fault: FaultNumber) -> None:
        super().__init__(fault)
        self.shape = shape

    @abstractmethod
    def quant(self, expr: Quant) -> Val:
        """Code for a quantifier."""

    # --- the state ------------------------------------------------------------------------------------

    def spot(self, place: Place) -> Spot:
        """Code for the indices of a place."""
        kind: Type = self.shape.state
        base, offset = 0, None
        reach: list[tuple[int, int]] = []
        for step in place.steps:
            if isinstance(step, str):
                assert isinstance(kind, RecordT)
                at, kind = self.shape.field(kind, step)
                base += at
                continue
            assert isinstance(kind, ArrayT)
            spacing = self.shape.count(kind.element)
            index = self.value(step)
            if isinstance(kind.index, IntT):
                index = self.add(index, -(kind.index.lo or 0))
            if index.known is not None:
                base += index.known * spacing
            else:
                scaled = self.times(index, spacing)
                offset = scaled if offset is None else self.plus(offset, scaled)
                reach.append((cardinality(kind.index), spacing))
            kind = kind.element
        return Spot(base, offset, tuple(reach))

    def load(self, place: Place) -> Val:
        """Present value of a leaf."""
        kind = place.type
        spot = self.spot(place)
        lo, hi = raw_bounds(kind)
        if spot.offset is not None:
            d, a = self.register(), self.reg(spot.offset)
            self.emit(Op.LOADX, d, a, imm=spot.base)
            return self.unbiased(Val(lo, hi, d), kind)
        if spot.base not in self.loaded:
            d = self.register()
            self.emit(Op.LOAD, d, imm=spot.base)
            self.loaded[spot.base] = self.unbiased(Val(lo, hi, d), kind)
        return self.loaded[spot.base]

    def unbiased(self, raw: Val, kind: Type) -> Val:
        """Value of a raw number: integers are stored relative to their low bound."""
        return self.add(raw, kind.lo) if isinstance(kind, IntT) and kind.lo else raw

    # --- expressions ----------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Val:
        """Code for an expression."""
        match expr:
            case Const():
                return const(constant(expr))
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
                test = self.value(expr.test)
                return self.choose(test, lambda: self.value(expr.then), lambda: self.value(expr.orelse))
            case Let():
                self.env[expr.name] = self.value(expr.value)
                return self.value(expr.body)
            case SetOf():
                return self.set_of(expr)
            case ToIndex():
                return self.to_index(expr)
            case Checked():
                return self.checked(expr)
            case Quant():
                return self.quant(expr)

    def checked(self, expr: Checked) -> Val:
        """A value of which a test has to say first that it makes sense."""
        self.check(self.value(expr.test), expr.code, expr.message, expr.loc)
        value = self.value(expr.body)
        return self.clamp(value, *scalar_bounds(expr.type)) if isinstance(expr.type, IntT) else value

    def to_index(self, expr: ToIndex) -> Val:
        """A number checked to be an element of an index type."""
        value = self.value(expr.arg)
        lo, hi = scalar_bounds(expr.type)
        self.check(self.within(value, lo, hi), "KV202", f"index outside {expr.type}", expr.loc)
        return self.clamp(value, lo, hi)

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
        self.check(self.within(arg, lo, hi), "KV201", f"value does not fit {expr.type}", expr.loc)
        shift = 1 - (lo if isinstance(expr.type.inner, IntT) else 0)
        return self.clamp(self.add(arg, shift), 1, hi - lo + 1)

    def unwrap(self, expr: Unary, arg: Val) -> Val:
        """The value of an optional, which must not be None."""
        assert isinstance(expr.arg.type, OptT)
        inner = expr.arg.type.inner
        message = f"None is used where {expr.type} is needed"
        self.check(self.equal(arg, const(0), negated=True), "KV203", message, expr.loc)
        shift = -1 + ((inner.lo or 0) if isinstance(inner, IntT) else 0)
        lo, hi = scalar_bounds(inner)
        return self.clamp(self.add(arg, shift), lo, hi)

    def binary(self, expr: Binary) -> Val:
        """Two operands."""
        if expr.op in ("==", "!=") and (counted := emptiness(expr)) is not None:
            return self.equal(self.value(counted), const(0), negated=expr.op == "!=")
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
        if inside.known == 0:
            return const(0)
        at = self.add(element, -lo if isinstance(kind, IntT) else 0)
        if inside.known is None:
            at = self.op2(Op.MIN, self.op2(Op.MAX, at, const(0), 0, max(0, at.hi)), const(hi - lo), 0, hi - lo)
        found = self.has(members, at)
        return found if inside.known == 1 else self.bits(Op.BAND, inside, found)

    def has(self, members: Val, at: Val) -> Val:
        """Bit number `at` of a set."""
        if at.known is None or members.known is None:
            return self.op2(Op.HAS, members, at, 0, 1)
        return const(members.known >> at.known & 1)

    def arithmetic(self, expr: Binary, left: Val, right: Val) -> Val:
        """+ - * // % min max, with bounds."""
        op = expr.op
        if op in ("//", "%"):
            self.check(self.equal(right, const(0), negated=True), "KV204", "division by zero", expr.loc)
        if op == "+":
            return bounded(self.plus(left, right), expr.loc)
        if op == "-" and right.known is not None:
            return bounded(self.add(left, -right.known), expr.loc)
        lo, hi = _bounds(op, left, right)
        if left.known is not None and right.known is not None and lo == hi:
            return bounded(const(lo), expr.loc)
        if op == "*" and left.known is not None:
            return bounded(self.times(right, left.known), expr.loc)
        if op == "*" and right.known is not None:
            return bounded(self.times(left, right.known), expr.loc)
        return bounded(self.op2(ARITH[op], left, right, lo, hi), expr.loc)

    def logic(self, expr: Logic) -> Val:
        """and / or, from left to right."""
        is_and = expr.op == "and"
        same = None if is_and else _one_of(expr)
        if same is not None:
            subject, mask = same
            return self.has(const(mask), self.value(subject))
        total = const(is_and)
        for arg in expr.args:
            total = (self.both if is_and else self.either)(total, partial(self.value, arg))
        return total

    def set_of(self, expr: SetOf) -> Val:
        """A set from its elements."""
        assert isinstance(expr.type, SetT)
        total = const(0)
        for item in expr.items:
            total = self.bits(Op.BOR, total, self.bit(self.value(item), expr.type.element, expr.loc))
        return total

    def bit(self, value: Val, kind: ScalarT, loc: Loc) -> Val:
        """The set {value}."""
        lo, hi = scalar_bounds(kind)
        self.check(self.within(value, lo, hi), "KV201", f"value does not fit {kind}", loc)
        at = self.clamp(self.add(value, -lo if isinstance(kind, IntT) else 0), 0, hi - lo)
        return const(1 << at.known) if at.known is not None else self.op1(Op.BIT, at, 0, (1 << (hi - lo + 1)) - 1)


def emptiness(expr: Binary) -> Expr | None:
    """The set, where the expression compares its number of elements with 0."""
    counts = isinstance(expr.left, Unary) and expr.left.op == "card"
    return (
        expr.left.arg
        if counts and isinstance(expr.left, Unary) and expr.right == Const(expr.right.type, 0, expr.right.loc)
        else None
    )


def bounded(value: Val, loc: Loc) -> Val:
    """The number, which must not be able to leave 64 bits."""
    if max(abs(value.lo), abs(value.hi)) < HUGE:
        return value
    raise KvError(
        "KV150",
        "this number can become too large",
        reason="numbers are 64-bit inside the engines, and nothing here keeps this one small",
        cure="bound it: min(x, limit), or store it in a variable of type Int(lo, hi)",
        loc=loc,
    )


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
    mask, subject = 0, None
    for arg in expr.args:
        if not (isinstance(arg, Binary) and arg.op == "==" and isinstance(arg.right, Const)):
            return None
        if not isinstance(arg.left, Read) or not isinstance(arg.left.type, EnumT):
            return None
        if subject is not None and arg.left.place.steps != subject.place.steps:
            return None
        subject = arg.left
        mask |= 1 << constant(arg.right)
    return None if subject is None or mask.bit_length() > 62 else (subject, mask)


def constant(expr: Const) -> int:
    """Run-time number of a constant."""
    if isinstance(expr.type, NoneT):
        return 0
    assert not isinstance(expr.type, ArrayT | RecordT)
    return leaf_number(expr.value, expr.type)


def leaf_number(value: Value, kind: LeafT) -> int:
    """Run-time number of a value of a leaf type."""
    if isinstance(kind, OptT | SetT):
        return encode(value, kind)
    assert value is not None and not isinstance(value, frozenset)
    return scalar_position(value, kind)


def scalar_position(value: bool | int | str, kind: ScalarT) -> int:
    """Run-time number of a scalar: integers are themselves."""
    return int(value) if isinstance(kind, IntT) else position(value, kind)


def scalar_bounds(kind: Type) -> tuple[int, int]:
    """Least and greatest run-time number of a scalar type."""
    if isinstance(kind, IntT):
        return (-HUGE if kind.lo is None else kind.lo), (HUGE if kind.hi is None else kind.hi)
    assert isinstance(kind, BoolT | SortT | EnumT)
    return 0, cardinality(kind) - 1


def raw_bounds(kind: Type) -> tuple[int, int]:
    """Least and greatest raw number of a leaf type."""
    assert not isinstance(kind, ArrayT | RecordT | NoneT)
    return 0, cardinality(kind) - 1
