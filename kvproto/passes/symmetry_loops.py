"""When the turns of a loop commute, so that it does not matter which element comes first.

Two turns of a loop commute if neither reads what the other writes and what both write comes out the same in either
order.  Places with the loop variable as index at the same position are different places in different turns.  All
others that are written must be written in one of the ways of `_Way`, each of which commutes with itself: adding, or
adding to a set, or storing one and the same value.  The same goes for locals that live from turn to turn or after the
loop; the others belong to their turn.

A turn may end the step: a guard says no, an assertion fails, an error of the model.  Whether some turn does is the
same in any order, but which one does it first is not.  So all turns must end the step in the same way: by guards
alone, by assertions of one claim alone, or by errors of the model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    Assert,
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Let,
    Local,
    Logic,
    Place,
    Quant,
    Read,
    Require,
    SetLocal,
    SetOf,
    Stmt,
    ToIndex,
    Unary,
)
from kvproto.ir.types import IntT
from kvproto.ir.walk import can_fault, children, expressions, indices, statements, subexpressions

Visit = Callable[[For, frozenset[str]], None]
"""Told of every loop, and of the locals that are read after it before they are assigned."""

Kind = Literal["sum", "up", "down", "union", "diff", "inter", "min", "max", "and", "or", "own", "same", ""]


@dataclass(frozen=True, slots=True)
class _Way:
    """How a turn changes something that other turns change too.

    Updates by `operand` commute with updates of the same kind: sums (of numbers with one sign where the place has
    bounds: `up` and `down`), set operations, extremes, `and` and `or`; `own` adds or takes away the loop's own element;
    `same` stores a value that does not depend on the turn.  The empty kind commutes with nothing.
    """

    kind: Kind
    operand: Expr | None


# --- locals --------------------------------------------------------------------------------------------------


def live_before(body: tuple[Stmt, ...], after: frozenset[str], visit: Visit | None = None) -> frozenset[str]:
    """The locals whose values matter before a block, given those that matter after it."""
    live = after
    for stmt in reversed(body):
        live = _live_before(stmt, live, visit)
    return live


def _live_before(stmt: Stmt, after: frozenset[str], visit: Visit | None) -> frozenset[str]:
    used = frozenset(name for expr in expressions(stmt) for name in _names(expr))
    match stmt:
        case SetLocal(name=name):
            return after - {name} | used
        case If(then=then, orelse=orelse):
            return used | live_before(then, after, visit) | live_before(orelse, after, visit)
        case For(var=var, body=body):
            turn = live_before(body, after) | used
            turn = live_before(body, after | turn) | used
            if visit is not None:
                live_before(body, after | turn, visit)
                visit(stmt, after)
            return after | turn - {var}
        case _:
            return after | used


def _names(expr: Expr) -> Iterator[str]:
    return (e.name for e in subexpressions(expr) if isinstance(e, Local))


# --- the rule ------------------------------------------------------------------------------------------------


def loop_offences(loop: For, live_after: frozenset[str]) -> Iterator[tuple[Loc, str]]:
    """Why the turns of a loop over a sort do not commute: nothing if they do."""
    turns = _Turns(loop, live_after)
    if turns.shadowed():
        yield loop.loc, f"the variable of the loop over {loop.domain.type} has a second meaning inside of it"
        return
    yield from turns.local_offences()
    yield from turns.write_offences()
    yield from turns.read_offences()
    yield from turns.end_offences()


class _Turns:
    """One loop, seen as a set of turns."""

    def __init__(self, loop: For, live_after: frozenset[str]) -> None:
        self.loop = loop
        self.sort = loop.domain.type
        self.inside = list(statements(loop.body))
        self.assigned = {s.name for s in self.inside if isinstance(s, SetLocal)}
        self.carried = self.assigned & (live_before(loop.body, frozenset()) | live_after)
        self.bound = {loop.var, *self.assigned, *_variables(self.inside)}
        self.writes = [s for s in self.inside if isinstance(s, Assign)]
        self.ways = {id(s): self._way(s) for s in self.writes}

    def shadowed(self) -> bool:
        """Whether something inside gives the loop variable another value."""
        return self.loop.var in self.assigned or self.loop.var in _variables(self.inside)

    # --- locals ---------------------------------------------------------------------------------------

    def local_offences(self) -> Iterator[tuple[Loc, str]]:
        """Locals that carry something from turn to turn, other than a sum and its like."""
        for name in sorted(self.carried):
            settings = [s for s in self.inside if isinstance(s, SetLocal) and s.name == name]
            ways = [self._local_way(s) for s in settings]
            kinds = {way.kind if way.kind != "same" else ("same", _bare(way.operand)) for way in ways}
            counted = {id(s): way for s, way in zip(settings, ways, strict=True)}
            looks = any(name in _names(e) for s in self.inside for e in self._looked_at(s, counted.get(id(s))))
            looks = looks or (self.loop.where is not None and name in _names(self.loop.where))
            if "" in kinds or len(kinds) > 1 or looks:
                shown = name.split(".")[0]
                yield settings[0].loc, f"{shown!r} makes the order matter in which the elements of {self.sort} come"

    def _local_way(self, stmt: SetLocal) -> _Way:
        mine = Local(stmt.type, stmt.name, stmt.loc)
        way = _update(stmt.value, lambda e: isinstance(e, Local) and e.name == mine.name)
        if way is not None and way.operand is not None and not set(_names(way.operand)) & self.carried:
            return way
        return self._same(stmt.value)

    def _same(self, value: Expr) -> _Way:
        """A store of a value that is the same in every turn; what it reads is looked at by `read_offences`."""
        fixed = not any(name in self.bound for name in _names(value))
        return _Way("same" if fixed else "", value)

    # --- the state ------------------------------------------------------------------------------------

    def _way(self, stmt: Assign) -> _Way:
        way = _update(stmt.value, lambda e: isinstance(e, Read) and _same_place(e.place, stmt.place))
        if way is None or way.operand is None:
            return self._same(stmt.value)
        if way.kind in ("union", "diff") and self._is_own(way.operand):
            return _Way("own", way.operand)
        if way.kind == "sum":
            sign = _sign(stmt.value, way.operand)
            return _Way("up" if sign > 0 else "down" if sign < 0 else "", way.operand)
        return way

    def _is_own(self, expr: Expr) -> bool:
        """The set of the turn's element alone."""
        return isinstance(expr, SetOf) and len(expr.items) == 1 and self._is_var(expr.items[0])

    def _is_var(self, expr: Expr) -> bool:
        return isinstance(expr, Local) and expr.name == self.loop.var

    def write_offences(self) -> Iterator[tuple[Loc, str]]:
        """Places that two turns write, in ways that do not commute."""
        for at, one in enumerate(self.writes):
            for other in self.writes[: at + 1]:
                if self._meet(one.place, other.place) and not self._commute(one, other):
                    place = _shown(one.place)
                    yield one.loc, f"several turns of the loop over {self.sort} write {place}, and the last one wins"
                    break

    def _commute(self, one: Assign, other: Assign) -> bool:
        way, its = self.ways[id(one)], self.ways[id(other)]
        if way.kind != its.kind or not way.kind:
            return False
        return way.kind != "same" or _bare(way.operand) == _bare(its.operand)

    def read_offences(self) -> Iterator[tuple[Loc, str]]:
        """Places that one turn reads and another one writes."""
        found: dict[tuple[Loc, str], None] = {}
        where = () if self.loop.where is None else (self.loop.where,)
        looked = [*where, *(e for s in self.inside for e in self._looked_at(s, self.ways.get(id(s))))]
        for expr in looked:
            for read, own in self._reads(expr):
                for write in self.writes:
                    harmless = own and self.ways[id(write)].kind == "own"
                    if not harmless and self._meet(read.place, write.place):
                        place = _shown(read.place)
                        text = f"a turn of the loop over {self.sort} reads {place}, which other turns write"
                        found[read.loc, text] = None
        yield from found

    def _looked_at(self, stmt: Stmt, way: _Way | None) -> tuple[Expr, ...]:
        """What a statement evaluates, less the old value of what it updates."""
        if way is None or way.kind in ("", "same") or way.operand is None:
            return expressions(stmt)
        return (*(indices(stmt.place) if isinstance(stmt, Assign) else ()), way.operand)

    def _reads(self, expr: Expr) -> Iterator[tuple[Read, bool]]:
        """What an expression reads; true for a set that is only asked for the turn's own element."""
        match expr:
            case Binary(op="in", left=left, right=Read() as read) if self._is_var(left):
                yield read, True
                parts = indices(read.place)
            case Read():
                yield expr, False
                parts = indices(expr.place)
            case _:
                parts = children(expr)
        for part in parts:
            yield from self._reads(part)

    def _meet(self, one: Place, other: Place) -> bool:
        """Whether two places, in two turns, can be one; also where one is a part of the other."""
        for left, right in zip(one.steps, other.steps, strict=False):
            if isinstance(left, str) or isinstance(right, str):
                if left != right:
                    return False
            elif self._apart(left, right):
                return False
        return True

    def _apart(self, one: Expr, other: Expr) -> bool:
        """Whether two indices, in two turns, are never the same."""
        if isinstance(one, Const) and isinstance(other, Const):
            return one.value != other.value
        return self._is_var(one) and self._is_var(other)

    # --- ends -----------------------------------------------------------------------------------------

    def end_offences(self) -> Iterator[tuple[Loc, str]]:
        """Turns that can end the step in different ways."""
        ends: dict[str, Loc] = {}
        if self.loop.where is not None and can_fault(self.loop.where):
            ends["an error of the model"] = self.loop.where.loc
        for stmt in self.inside:
            for what in _ends(stmt):
                ends.setdefault(what, stmt.loc)
        if len(ends) > 1:
            first, second = list(ends)[:2]
            yield ends[second], f"which element of {self.sort} comes first decides between {first} and {second}"


def _ends(stmt: Stmt) -> Iterator[str]:
    """How a statement by itself can end the step."""
    if isinstance(stmt, Require):
        yield "a guard"
    if isinstance(stmt, Assert):
        yield f"a failed assertion ({stmt.claim})"
    failing = any(can_fault(e) for e in expressions(stmt))
    if isinstance(stmt, Assign) and isinstance(stmt.place.type, IntT):
        failing = failing or can_fault(ToIndex(stmt.place.type, stmt.value, stmt.loc))  # a range check is the same
    if failing:
        yield "an error of the model"


# --- updates -------------------------------------------------------------------------------------------------

UPDATES: dict[str, Kind] = {
    "+": "sum",
    "-": "sum",
    "union": "union",
    "diff": "diff",
    "inter": "inter",
    "min": "min",
    "max": "max",
}


def _update(value: Expr, is_old: Callable[[Expr], bool]) -> _Way | None:
    """The value as an update of an old value, if it is one of those that commute with themselves."""
    match value:
        case Binary(op=op, left=left, right=right) if op in UPDATES and is_old(left):
            return _Way(UPDATES[op], right)
        case Binary(op="+" | "union" | "inter" | "min" | "max" as op, left=left, right=right) if is_old(right):
            return _Way(UPDATES[op], left)
        case Logic(op=op, args=(first, *rest)) if is_old(first) and not any(can_fault(e) for e in rest):
            return _Way(op, rest[0] if len(rest) == 1 else replace(value, args=tuple(rest)))
        case _:
            return None


def _sign(value: Expr, operand: Expr) -> int:
    """Direction of an addition: 1 never down, -1 never up, 0 unknown."""
    sign = -1 if isinstance(value, Binary) and value.op == "-" else 1
    if isinstance(operand, Const) and isinstance(operand.value, int):
        return sign if operand.value >= 0 else -sign
    if isinstance(operand, Unary) and operand.op in ("int", "card"):
        return sign
    kind = operand.type
    return sign if isinstance(kind, IntT) and kind.lo is not None and kind.lo >= 0 else 0


def _same_place(one: Place, other: Place) -> bool:
    """Whether two places are written alike."""
    return len(one.steps) == len(other.steps) and all(
        left == right if isinstance(left, str) or isinstance(right, str) else _bare(left) == _bare(right)
        for left, right in zip(one.steps, other.steps, strict=True)
    )


def _bare(expr: Expr | None) -> object:
    """An expression without its places in the source, for comparison."""
    match expr:
        case Const(type=kind, value=value):
            return "const", str(kind), value
        case Local(name=name):
            return "local", name
        case Read(place=place):
            return "read", *(s if isinstance(s, str) else _bare(s) for s in place.steps)
        case Unary(op=op) | Logic(op=op):
            return type(expr).__name__, str(expr.type), op, *map(_bare, children(expr))
        case Binary(op=op, left=left, right=right):
            return "binary", op, _bare(left), _bare(right)
        case ToIndex(type=kind, arg=arg):
            return "index", str(kind), _bare(arg)
        case SetOf(items=items):
            return "set", str(expr.type), *map(_bare, items)
        case _:
            return expr  # with its place: equal to itself alone


def _variables(body: list[Stmt]) -> Iterator[str]:
    """Variables of loops, quantifiers and `let` inside."""
    for stmt in body:
        if isinstance(stmt, For):
            yield stmt.var
        for expr in expressions(stmt):
            for inner in subexpressions(expr):
                if isinstance(inner, Quant):
                    yield inner.var
                elif isinstance(inner, Let):
                    yield inner.name


def _shown(place: Place) -> str:
    """`req[*].phase`."""
    text = ""
    for step in place.steps:
        text += (f".{step}" if text else step) if isinstance(step, str) else "[*]"
    return text
