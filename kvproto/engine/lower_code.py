"""Emission of register code: values with bounds, arithmetic that folds what is known, branches that give a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kvproto.diagnostics import Loc
from kvproto.engine.program import Block, Branch, Ins, Op

SPECULATED = 8
"""Code without faults and at most so long is run whether its value is needed or not: a branch costs more."""

FAULTING = 1 << 20
"""Cost of code that might fault: it is never run unless its value is needed."""


@dataclass(frozen=True, slots=True)
class FaultInfo:
    """What a fault number means: a failed assertion (`claim`), or an error of the model (`code`)."""

    claim: str
    code: str
    message: str
    loc: Loc


FaultNumber = Callable[[FaultInfo], int]


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


@dataclass(frozen=True, slots=True)
class Aside:
    """Code that gives a value, not yet put anywhere, with what is known after it."""

    code: tuple[Ins | Branch, ...]
    value: Val
    loaded: dict[int, Val]
    computed: dict[tuple[Op, int, int, int], int]
    assured: set[int]

    @property
    def cheap(self) -> bool:
        """It may be run although its value is not needed."""
        return _cost(self.code) <= SPECULATED


class Code:
    """A block under construction.

    Registers are set once, except the homes that branches give their results in; a home is not read between its
    settings, so what was computed from a register stays true as long as its block is open.
    """

    def __init__(self, fault: FaultNumber) -> None:
        self.fault_number = fault
        self.code: list[Ins | Branch] = []
        self.env: dict[str, Val] = {}
        self.loaded: dict[int, Val] = {}
        """Leaves whose present value is in a register or known."""
        self.computed: dict[tuple[Op, int, int, int], int] = {}
        """Registers that hold the result of an operation on other registers."""
        self.assured: set[int] = set()
        """Registers that are not 0 here: what was required or checked before on this way."""
        self.negated: dict[int, int] = {}
        """Registers that hold `not` of another register."""
        self._registers = 0

    # --- instructions ---------------------------------------------------------------------------------

    def register(self) -> int:
        """A fresh register."""
        self._registers += 1
        return self._registers - 1

    def emit(self, op: Op, d: int = 0, a: int = 0, b: int = 0, imm: int = 0) -> None:
        """Append one instruction."""
        self.code.append(Ins(op, d, a, b, imm))

    def compute(self, op: Op, a: int = 0, b: int = 0, imm: int = 0) -> int:
        """The register with the result of an operation, which is not done twice."""
        key = (op, a, b, imm)
        found = self.computed.get(key)
        if found is None:
            found = self.computed[key] = self.register()
            self.emit(op, found, a, b, imm)
        return found

    def reg(self, value: Val) -> int:
        """A register that holds the value."""
        return value.reg if value.reg >= 0 else self.compute(Op.CONST, imm=value.lo)

    def put(self, home: int, value: Val) -> Val:
        """Copy a value to a home register."""
        if value.known is not None:
            self.emit(Op.CONST, home, imm=value.known)
        elif value.reg != home:
            self.emit(Op.MOVE, home, value.reg)
        return Val(value.lo, value.hi, home)

    def op2(self, op: Op, left: Val, right: Val, lo: int, hi: int) -> Val:
        """A two-register instruction."""
        return Val(lo, hi, self.compute(op, self.reg(left), self.reg(right)))

    def op1(self, op: Op, arg: Val, lo: int, hi: int, imm: int = 0) -> Val:
        """A one-register instruction."""
        return Val(lo, hi, self.compute(op, self.reg(arg), imm=imm))

    def check(self, ok: Val, code: str, message: str, loc: Loc, claim: str = "") -> None:
        """Fault unless `ok`."""
        if ok.known or ok.reg in self.assured:
            return
        number = self.fault_number(FaultInfo(claim, code, message, loc))
        if ok.known is not None:
            self.emit(Op.FAULT, imm=number)
        else:
            self.emit(Op.CHECK, a=ok.reg, imm=number)
            self.assured.add(ok.reg)

    # --- branches -------------------------------------------------------------------------------------

    def aside(self, build: Callable[[], Val]) -> Aside:
        """Code of `build` as a block of its own; what it names is forgotten afterwards."""
        code, env, loaded, computed, assured = self.code, self.env, self.loaded, self.computed, self.assured
        self.code, self.env, self.loaded, self.computed = [], dict(env), dict(loaded), dict(computed)
        self.assured = set(assured)
        value = build()
        done = Aside(tuple(self.code), value, self.loaded, self.computed, self.assured)
        self.code, self.env, self.loaded, self.computed, self.assured = code, env, loaded, computed, assured
        return done

    def take(self, aside: Aside) -> Val:
        """Run the code here, on every way."""
        self.code.extend(aside.code)
        self.loaded, self.computed, self.assured = aside.loaded, aside.computed, aside.assured
        return aside.value

    def nested(self, build: Callable[[], object]) -> Block:
        """Code of `build` that is run for its effect."""

        def run() -> Val:
            build()
            return const(0)

        return self.aside(run).code

    def fork(self, test: Val, then: Block, orelse: Block) -> None:
        """A branch, unless both ways are empty."""
        source = self.negated.get(test.reg)
        if then or orelse:
            self.code.append(Branch(test.reg, then, orelse) if source is None else Branch(source, orelse, then))

    def when(self, test: Val, build: Callable[[], object]) -> None:
        """Run `build` if `test`."""
        if test.known is None:
            self.fork(test, self.nested(build), ())
        elif test.known:
            build()

    def choose(self, test: Val, then: Callable[[], Val], orelse: Callable[[], Val]) -> Val:
        """`then() if test else orelse()`, each evaluated only on its way."""
        if test.known is not None:
            return then() if test.known else orelse()
        one, other = self.aside(then), self.aside(orelse)
        if not one.code and not other.code and one.value.known is not None:
            if one.value == other.value:
                return one.value
            if (one.value.known, other.value.known) in ((1, 0), (0, 1)):
                return test if one.value.known else self.negate(test)
        home = self.register()
        ways = [self.nested(partial(self._deliver, side, home)) for side in (one, other)]
        self.fork(test, ways[0], ways[1])
        return Val(min(one.value.lo, other.value.lo), max(one.value.hi, other.value.hi), home)

    def _deliver(self, aside: Aside, home: int) -> None:
        self.put(home, self.take(aside))

    def both(self, first: Val, more: Callable[[], Val]) -> Val:
        """`first and more()`; faults of the second are met only if the first holds."""
        if first.known is not None:
            return more() if first.known else const(0)
        second = self.aside(more)
        if second.cheap:
            return self.bits(Op.BAND, first, self.take(second))
        return self.choose(first, lambda: self.take(second), lambda: const(0))

    def either(self, first: Val, more: Callable[[], Val]) -> Val:
        """`first or more()`; faults of the second are met only if the first does not hold."""
        if first.known is not None:
            return const(1) if first.known else more()
        second = self.aside(more)
        if second.cheap:
            return self.bits(Op.BOR, first, self.take(second))
        return self.choose(first, lambda: const(1), lambda: self.take(second))

    def gated(self, where: Val, build: Callable[[], Val]) -> Val:
        """`build() if where else 0`."""
        if where.known is not None:
            return build() if where.known else const(0)
        aside = self.aside(build)
        if not aside.cheap:
            return self.choose(where, lambda: self.take(aside), lambda: const(0))
        value = self.take(aside)
        if value.known is not None:
            return self.times(where, value.known) if value.known else const(0)
        if (value.lo, value.hi) == (0, 1):
            return self.bits(Op.BAND, where, value)
        return self.op2(Op.MUL, where, value, min(0, value.lo), max(0, value.hi))

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
        if left == right:
            return const(0) if op is Op.BANDN else left
        if op is Op.BANDN:
            if left.known == 0 or right.known == 0:
                return left
            return self.op2(op, left, right, 0, left.hi)
        if right.known is None:
            left, right = right, left
        if right.known == 0:
            return const(0) if op is Op.BAND else left
        if right.known == 1 and left.hi <= 1:
            return left if op is Op.BAND else right
        top = (1 << max(left.hi, right.hi).bit_length()) - 1
        return self.op2(op, left, right, 0, min(left.hi, right.hi) if op is Op.BAND else top)

    def equal(self, left: Val, right: Val, *, negated: bool = False) -> Val:
        """left == right (or !=)."""
        if left.known is not None and right.known is not None:
            return const((left.known == right.known) != negated)
        if left.hi < right.lo or right.hi < left.lo:
            return const(negated)
        if left.known is not None:
            left, right = right, left
        if right.known is None:
            return self.op2(Op.NE if negated else Op.EQ, left, right, 0, 1)
        if (left.lo, left.hi) == (0, 1):
            return left if (right.known == 1) != negated else self.negate(left)
        same = self.op1(Op.EQI, left, 0, 1, right.known)
        return self.negate(same) if negated else same

    def less(self, left: Val, right: Val, *, or_equal: bool) -> Val:
        """left < right (or <=)."""
        if left.hi < right.lo or (or_equal and left.hi <= right.lo):
            return const(1)
        if right.hi < left.lo or (not or_equal and right.hi <= left.lo):
            return const(0)
        if right.known is not None:
            return self.op1(Op.LTI, left, 0, 1, right.known + (1 if or_equal else 0))
        if left.known is not None:
            return self.negate(self.op1(Op.LTI, right, 0, 1, left.known + (0 if or_equal else 1)))
        return self.op2(Op.LE if or_equal else Op.LT, left, right, 0, 1)

    def negate(self, value: Val) -> Val:
        """not value."""
        if value.known is not None:
            return const(not value.known)
        source = self.negated.get(value.reg)
        if source is not None:
            return Val(0, 1, source)
        found = self.op1(Op.NOT, value, 0, 1)
        if value.hi <= 1:
            self.negated[found.reg] = value.reg
        return found

    def within(self, value: Val, lo: int, hi: int) -> Val:
        """lo <= value <= hi."""
        low = self.less(const(lo), value, or_equal=True)
        return self.bits(Op.BAND, low, self.less(value, const(hi), or_equal=True))

    @staticmethod
    def clamp(value: Val, lo: int, hi: int) -> Val:
        """The same value, of which a check has just made sure that it lies in bounds."""
        if value.known is not None:
            return const(min(max(value.known, lo), hi))
        return Val(min(max(lo, value.lo), hi), max(min(hi, value.hi), lo), value.reg)


def _cost(code: Block) -> int:
    """Number of instructions on the shortest way; more than is speculated where one may fault."""
    total = 0
    for item in code:
        if isinstance(item, Branch):
            one, other = _cost(item.then), _cost(item.orelse)
            total += 2 + (min(one, other) if max(one, other) < FAULTING else FAULTING)
        else:
            total += FAULTING if item.op in (Op.CHECK, Op.FAULT) else 1
    return total
