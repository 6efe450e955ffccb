"""The meaning of the IR, executed directly: the oracle's arithmetic.

A tree walk over immutable values, one case a node, no layout, no lowering, no folding.  Everything faster than
this must agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from kvproto.ir.nodes import (
    Assert,
    Assign,
    Binary,
    Checked,
    Cond,
    Const,
    Expr,
    For,
    If,
    Let,
    Local,
    Logic,
    Param,
    Place,
    Quant,
    Read,
    Require,
    SetLocal,
    SetOf,
    Stmt,
    System,
    ToIndex,
    Unary,
)
from kvproto.ir.types import (
    BoolT,
    EnumT,
    IntT,
    LeafT,
    OptT,
    Path,
    ScalarT,
    SetT,
    SortT,
    Value,
    fits,
    leaves,
    values_of,
    zero_of,
)

State = tuple[Value, ...]
"""One value for each leaf of the state, in the order of `kvproto.ir.types.leaves`."""

Args = tuple[Value, ...]
Watch = Callable[[str, Path], None]
"""Told of every access: (`"read"` or `"write"`, path)."""


class NotEnabled(Exception):
    """A guard is false."""


class Fault(Exception):
    """The step goes wrong: `claim` names a failed assertion, and is empty for an error of the model itself."""

    def __init__(self, node: Expr | Stmt, message: str, code: str = "", claim: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.code = code
        self.claim = claim


class Machine:
    """Evaluates a system: initial states, successors, conditions."""

    def __init__(self, system: System, watch: Watch | None = None) -> None:
        self.system = system
        self.leaves: list[tuple[Path, LeafT]] = list(leaves(system.state))
        self.slot = {path: at for at, (path, _) in enumerate(self.leaves)}
        self.watch = watch

    def zero(self) -> State:
        """The state before init functions run."""
        return tuple(zero_of(kind) for _, kind in self.leaves)

    def initial(self) -> Iterator[State]:
        """Initial states in order, each once."""
        seen: dict[State, None] = {}
        for init in self.system.inits:
            for args in choices(init.params):
                state = self.step(init.params, init.body, self.zero(), args)
                if state is not None:
                    seen[state] = None
        yield from seen if self.system.inits else [self.zero()]

    def step(self, params: tuple[Param, ...], body: tuple[Stmt, ...], state: State, args: Args) -> State | None:
        """The state after the body, None if a guard is false; raises Fault."""
        run = Run(self, state, dict(zip((p.name for p in params), args, strict=True)))
        try:
            run.block(body)
        except NotEnabled:
            return None
        return tuple(run.state)

    def holds(self, cond: Expr, state: State, env: Mapping[str, Value] | None = None) -> bool:
        """Value of a condition in a state, `env` giving the parameters of its claim; raises Fault."""
        return bool(Run(self, state, dict(env or {})).value(cond))


def choices(params: tuple[Param, ...]) -> Iterator[Args]:
    """All argument tuples, the last parameter fastest."""
    return product(*(values_of(p.type) for p in params))


class Run:
    """One evaluation: a state being changed, and the values of locals."""

    def __init__(self, machine: Machine, state: State, env: dict[str, Value]) -> None:
        self.machine = machine
        self.state = list(state)
        self.env = env

    # --- statements -----------------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Execute statements in order."""
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        """Execute one statement."""
        match stmt:
            case Require(cond=cond):
                if not self.value(cond):
                    raise NotEnabled
            case Assert(cond=cond):
                if not self.value(cond):
                    raise Fault(stmt, stmt.message, claim=stmt.claim)
            case Assign(place=place, value=value):
                self.store(stmt, place, self.value(value))
            case SetLocal(name=name, value=value):
                self.env[name] = self.value(value)
            case If(test=test):
                self.block(stmt.then if self.value(test) else stmt.orelse)
            case For():
                for item in stmt.domain.values:
                    self.env[stmt.var] = item
                    if stmt.where is None or self.value(stmt.where):
                        self.block(stmt.body)

    def store(self, stmt: Assign, place: Place, value: Value) -> None:
        """Put a value into a place, if it fits."""
        path = self.path(place)
        kind = self.machine.leaves[self.machine.slot[path]][1]
        if not fits(value, kind):
            raise Fault(stmt, f"{value} does not fit {kind}", "KV201")
        if self.machine.watch:
            self.machine.watch("write", path)
        self.state[self.machine.slot[path]] = value

    def path(self, place: Place) -> Path:
        """Where a place is now: its indices evaluated."""
        return tuple(step if isinstance(step, str) else self.value(step) for step in place.steps)

    # --- expressions ----------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Value:
        """Value of an expression."""
        match expr:
            case Const(value=value):
                return value
            case Local(name=name):
                return self.env[name]
            case Read(place=place):
                path = self.path(place)
                if self.machine.watch:
                    self.machine.watch("read", path)
                return self.state[self.machine.slot[path]]
            case Unary():
                return self.unary(expr)
            case Binary():
                return self.binary(expr)
            case Logic(op=op, args=args):
                return all(self.value(a) for a in args) if op == "and" else any(self.value(a) for a in args)
            case Cond(test=test, then=then, orelse=orelse):
                return self.value(then) if self.value(test) else self.value(orelse)
            case Let(name=name, value=value, body=body):
                self.env[name] = self.value(value)
                return self.value(body)
            case SetOf(items=items):
                element = expr.type.element if isinstance(expr.type, SetT) else None
                return frozenset(self.member(expr, self.value(item), element) for item in items)
            case ToIndex():
                return self.to_index(expr)
            case Checked(test=test, body=body):
                if not self.value(test):
                    raise Fault(expr, expr.message, expr.code)
                return self.value(body)
            case Quant():
                return self.quant(expr)

    def fitting(self, expr: Expr, value: Value, kind: ScalarT) -> Value:
        """The value, which must belong to the type."""
        if not fits(value, kind):
            raise Fault(expr, f"{value} does not fit {kind}", "KV201")
        return value

    def member(self, expr: Expr, value: Value, kind: ScalarT | None) -> bool | int | str:
        """The value as an element of a set, whose element type it must belong to."""
        if kind is not None:
            self.fitting(expr, value, kind)
        assert value is not None and not isinstance(value, frozenset)
        return value

    def to_index(self, expr: ToIndex) -> Value:
        """A number, if it is an element of the index type."""
        value = self.value(expr.arg)
        assert isinstance(expr.type, BoolT | IntT | SortT | EnumT)
        if not fits(value, expr.type):
            raise Fault(expr, f"index {value} is outside {expr.type}", "KV202")
        return value

    def unary(self, expr: Unary) -> Value:
        """One operand."""
        value = self.value(expr.arg)
        match expr.op:
            case "not":
                return not value
            case "is_none":
                return value is None
            case "some":
                return self.fitting(expr, value, expr.type.inner) if isinstance(expr.type, OptT) else value
            case "unwrap":
                if value is None:
                    raise Fault(expr, f"None is used where {expr.type} is needed", "KV203")
                return value
            case "card":
                assert isinstance(value, frozenset)
                return len(value)
            case "neg":
                return -number(value)
            case "int":
                return int(number(value))

    def binary(self, expr: Binary) -> Value:
        """Two operands, both evaluated."""
        left, right = self.value(expr.left), self.value(expr.right)
        match expr.op:
            case "==":
                return left == right
            case "!=":
                return left != right
            case "in":
                assert isinstance(right, frozenset)
                return left in right
            case "union" | "inter" | "diff" | "subset":
                return setwise(expr.op, left, right)
            case "<":
                return number(left) < number(right)
            case "<=":
                return number(left) <= number(right)
            case _:
                if expr.op in ("//", "%") and right == 0:
                    raise Fault(expr, "division by zero", "KV204")
                return arithmetic(expr.op, number(left), number(right))

    def quant(self, expr: Quant) -> Value:
        """A quantifier, as Python evaluates it: no further than needed."""
        found = self.picked(expr)
        match expr.op:
            case "any":
                return any(found)
            case "all":
                return all(found)
            case "sum":
                return sum(number(v) for v in found)
            case "set":
                members: set[bool | int | str] = set()
                for item in found:
                    if isinstance(item, frozenset):
                        members |= item
                    elif item is not None and isinstance(expr.type, SetT):
                        members.add(self.member(expr, item, expr.type.element))
                return frozenset(members)
            case "first":
                for first in found:
                    return first
                return self.otherwise(expr)
            case "min" | "max":
                numbers = [number(v) for v in found]
                if not numbers:
                    return self.otherwise(expr)
                return min(numbers) if expr.op == "min" else max(numbers)

    def picked(self, expr: Quant) -> Iterator[Value]:
        """Bodies for the values that satisfy `where`, evaluated on demand."""
        for item in expr.domain.values:
            self.env[expr.var] = item
            if expr.where is None or self.value(expr.where):
                yield self.value(expr.body)

    def otherwise(self, expr: Quant) -> Value:
        """The default of a quantifier that found nothing."""
        if expr.default is None:
            raise Fault(expr, f"{expr.op} of nothing", "KV205")
        return self.value(expr.default)


def number(value: Value) -> int:
    """The value as a number; the front end has made sure that it is one."""
    assert isinstance(value, int)
    return value


def arithmetic(op: str, left: int, right: int) -> int:
    """Python's arithmetic."""
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case "min":
            return min(left, right)
        case _:
            return max(left, right)


def setwise(op: str, left: Value, right: Value) -> Value:
    """Set algebra."""
    assert isinstance(left, frozenset) and isinstance(right, frozenset)
    match op:
        case "union":
            return left | right
        case "inter":
            return left & right
        case "diff":
            return left - right
        case _:
            return left <= right
