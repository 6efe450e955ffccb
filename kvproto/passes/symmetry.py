"""Which sorts are symmetric: whether exchanging elements of a sort changes nothing but names.

A sort is symmetric if every permutation of its elements is an automorphism of the system: whenever a step leads from
s to t, the step with renamed arguments leads from the renamed s to the renamed t, and every claim has one truth value
in a state and in the renamed state.  Then one state of each orbit is enough for a search.  The rule is that of
scalarsets, applied to the IR: elements may be compared with `==` and `in`, used as indices, as members of sets and as
parameters, counted, and quantified over.  They may not be named, ordered, or turned into numbers; and what is done for
all of them must not depend on which comes first.

`symmetries` looks at actions and claims.  Where runs start is not judged by text but exactly, by
`kvproto.engine.symmetry.closed`, so `init` functions may do what they like.

**Loops.**  A loop over the sort is in order if its turns commute: see `kvproto.passes.symmetry_loops`.

**Faults.**  `any` and `all` stop at the first element that settles them, so where evaluating an element can fail
(KV2nn), the order of the elements decides whether it does.  Such a quantifier is not refused: `strict` makes it look
at all elements.  In a set of states that is closed under permutation that changes nothing: if the body fails for
element x in state s, exchange x with the first element, and in that state, which is just as reachable and at the same
depth, the quantifier as it was written fails.  And if no element of s fails, no renamed state fails either.  So the
search of one state an orbit under `strict` meets an error of the model exactly if the search of all states does, at
the same depth; `concretize` gives the run that leads to it.  The argument needs x in the first place for one
quantifier only: two quantifiers over one sort, one inside of the other and both able to fail, make the sort
asymmetric; and so does one over optionals or sets of elements, where no renaming puts each first, and one in a
`sometimes` claim, which is not asked any more once it has been true.  Errors of the model are all alike in this (any of
them ends a search); assertions are not, and what they need is in the rule for loops.

**Claims about runs** (`eventually`, ...) may speak of single elements along a whole cycle, which a graph of
representatives does not show: with one of them selected no sort is symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import (
    LIVENESS,
    Action,
    Assert,
    Assign,
    Binary,
    Checked,
    Claim,
    Cond,
    Const,
    Domain,
    Expr,
    For,
    If,
    Let,
    Local,
    Logic,
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
from kvproto.ir.types import ArrayT, BoolT, IntT, OptT, RecordT, SetT, SortT, Type, label, scalars_of
from kvproto.ir.walk import can_fault, children, expressions, map_children, map_place, subexpressions
from kvproto.passes.symmetry_loops import live_before, loop_offences

Offence = tuple[Loc, str]
"""Where the order or the name of an element matters, and how."""

NAMED = "an element of {} is named: {}"


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """Why the elements of a sort are not interchangeable."""

    sort: str
    loc: Loc | None
    reason: str

    def __str__(self) -> str:
        place = f"{self.loc}: " if self.loc else ""
        return f"{self.sort} is not symmetric: {place}{self.reason}"


def symmetries(system: System, claims: tuple[Claim, ...]) -> tuple[tuple[SortT, ...], tuple[Asymmetry, ...]]:
    """The symmetric sorts of a folded system in order of appearance, and for the others every line that forbids it.

    Sorts with one element are neither.  `claims` are the selected ones.
    """
    symmetric: list[SortT] = []
    broken: list[Asymmetry] = []
    for sort in sorts_of(system):
        if sort.size < 2:
            continue
        offences = dict.fromkeys(_Check(sort, system.state).system(system, claims))
        if offences:
            broken.extend(Asymmetry(sort.name, loc, reason) for loc, reason in _told(sort, list(offences)))
        else:
            symmetric.append(sort)
    return tuple(symmetric), tuple(broken)


def _told(sort: SortT, offences: list[Offence]) -> list[Offence]:
    """The offences as an author knows them.

    Where an array or a large set is used as a value, it is taken apart, and all elements are named in one place; nobody
    has written that.
    """
    named = [NAMED.format(sort, label(value, sort)) for value in scalars_of(sort)]
    found = set(offences)
    whole = {loc for loc, _ in offences if all((loc, name) in found for name in named)}
    reason = f"a value with a part for each element of {sort} is used as a whole, part by part"
    told = [(loc, reason if loc in whole and text in named else text) for loc, text in offences]
    return list(dict.fromkeys(told))


def sorts_of(system: System) -> tuple[SortT, ...]:
    """Sorts that the state or a parameter of an action mentions, in order of appearance."""
    found: dict[str, SortT] = {}
    kinds: list[Type] = [system.state, *(p.type for action in system.actions for p in action.params)]
    for kind in kinds:
        for sort in sorts_in(kind):
            found.setdefault(sort.name, sort)
    return tuple(found.values())


def sorts_in(kind: Type) -> Iterator[SortT]:
    """Sorts inside a type."""
    parts: tuple[Type, ...]
    match kind:
        case SortT():
            yield kind
            return
        case OptT(inner=inner):
            parts = (inner,)
        case SetT(element=element):
            parts = (element,)
        case ArrayT(index=index, element=inside):
            parts = (index, inside)
        case RecordT(fields=fields):
            parts = tuple(inner for _, inner in fields)
        case _:
            return
    for part in parts:
        yield from sorts_in(part)


def init_loc(system: System, sort: SortT) -> Loc | None:
    """The line of an init function that tells elements of the sort apart, else the first init function."""
    check = _Check(sort, system.state)
    for init in system.inits:
        for loc, _ in (*check.block(init.body), *check.loops(init.body)):
            return loc
    return system.inits[0].loc if system.inits else None


def strict(system: System, sorts: tuple[SortT, ...]) -> System:
    """The system with every `any` and `all` over these sorts that can fail made to look at all elements.

    What a search of representatives runs, in every tier.  `any` becomes "more than 0 of them", `all` "0 of them not";
    see the note on faults above.
    """
    names = {sort.name for sort in sorts}
    if not names:
        return system

    def expr(e: Expr) -> Expr:
        return _strict_expr(e, names)

    def condition(e: Expr | None) -> Expr | None:
        return None if e is None else expr(e)

    return replace(
        system,
        actions=tuple(replace(a, body=_strict_block(a.body, names)) for a in system.actions),
        claims=tuple(replace(c, cond=condition(c.cond)) for c in system.claims),
        constraint=condition(system.constraint),
    )


def strict_condition(cond: Expr, sorts: tuple[SortT, ...]) -> Expr:
    """The same for a condition by itself."""
    return _strict_expr(cond, {sort.name for sort in sorts})


def _strict_expr(expr: Expr, names: set[str]) -> Expr:
    inner = map_children(expr, lambda e: _strict_expr(e, names))
    if not isinstance(inner, Quant) or inner.op not in ("any", "all"):
        return inner
    domain = inner.domain.type
    if not isinstance(domain, SortT) or domain.name not in names or not _can_stop_short(inner):
        return inner
    loc, number = inner.loc, IntT()
    counted = inner.body if inner.op == "any" else Unary(BoolT(), "not", inner.body, loc)
    total = replace(inner, type=number, op="sum", body=Unary(IntT(0, 1), "int", counted, loc), default=None)
    nothing = Const(IntT(0, 0), 0, loc)
    if inner.op == "any":
        return Binary(BoolT(), "<", nothing, total, loc)
    return Binary(BoolT(), "==", total, nothing, loc)


def _strict_block(body: tuple[Stmt, ...], names: set[str]) -> tuple[Stmt, ...]:
    return tuple(_strict_stmt(stmt, names) for stmt in body)


def _strict_stmt(stmt: Stmt, names: set[str]) -> Stmt:
    def expr(e: Expr) -> Expr:
        return _strict_expr(e, names)

    match stmt:
        case Require() | Assert():
            return replace(stmt, cond=expr(stmt.cond))
        case Assign():
            return replace(stmt, place=map_place(stmt.place, expr), value=expr(stmt.value))
        case SetLocal():
            return replace(stmt, value=expr(stmt.value))
        case If():
            then, orelse = _strict_block(stmt.then, names), _strict_block(stmt.orelse, names)
            return replace(stmt, test=expr(stmt.test), then=then, orelse=orelse)
        case For():
            where = None if stmt.where is None else expr(stmt.where)
            return replace(stmt, where=where, body=_strict_block(stmt.body, names))


def _can_stop_short(expr: Quant) -> bool:
    """An `any` or `all` for which it matters that it stops early: an element that it does not reach could fail."""
    return can_fault(expr.body) or (expr.where is not None and can_fault(expr.where))


class _Check:
    """Looks for what distinguishes elements of one sort."""

    def __init__(self, sort: SortT, state: RecordT) -> None:
        self.sort = sort
        self.state = state

    def system(self, system: System, claims: tuple[Claim, ...]) -> Iterator[Offence]:
        """Offences in everything that a search of these claims evaluates."""
        for claim in claims:
            if claim.kind in LIVENESS:
                yield claim.loc, f"the claim {claim.name} is about whole runs, which symmetry would not keep apart"
        for action in system.actions:
            if not action.switched_off:
                yield from self.action(action)
        for claim in claims:
            if claim.cond is not None:
                yield from self.expr(claim.cond, asked=claim.kind == "sometimes")
        if system.constraint is not None:
            yield from self.expr(system.constraint)

    def action(self, action: Action) -> Iterator[Offence]:
        """Offences of an action."""
        yield from self.block(action.body)
        yield from self.loops(action.body)

    def loops(self, body: tuple[Stmt, ...]) -> list[Offence]:
        """Offences of loops whose turns do not commute."""
        found: list[Offence] = []

        def loop(stmt: For, live: frozenset[str]) -> None:
            if self.about(stmt.domain.type):
                found.extend(loop_offences(stmt, live))

        live_before(body, frozenset(), loop)
        return found

    def block(self, body: tuple[Stmt, ...]) -> Iterator[Offence]:
        """Offences of single lines."""
        for stmt in body:
            for expr in expressions(stmt):
                if not (isinstance(stmt, Assign) and expr is stmt.value and self.clears_slot(stmt)):
                    yield from self.expr(expr)
            match stmt:
                case If(then=then, orelse=orelse):
                    yield from self.block(then)
                    yield from self.block(orelse)
                case For(domain=domain, body=inner):
                    yield from self.domain(domain)
                    yield from self.block(inner)
                case Require() | Assert() | Assign() | SetLocal():
                    pass
                case _:
                    yield stmt.loc, f"it is not known what this line does with elements of {self.sort}"

    def clears_slot(self, stmt: Assign) -> bool:
        """A zero stored into a queue's slot by number: what the language does to slots that become empty.

        Nobody looks at empty slots, and renaming leaves them alone, so that zero is not an element.  What a model puts
        into a queue goes where its length says.
        """
        if not isinstance(stmt.value, Const) or stmt.value.value != 0:
            return False
        kind: Type = self.state
        at_slots = cleared = False
        for step in stmt.place.steps:
            if isinstance(step, str):
                assert isinstance(kind, RecordT)
                at_slots = kind.shape == "queue" and step == "slots"
                kind = dict(kind.fields)[step]
            else:
                assert isinstance(kind, ArrayT)
                cleared = cleared or (at_slots and isinstance(step, Const))
                at_slots, kind = False, kind.element
        return cleared

    def about(self, kind: Type) -> bool:
        """Whether values of the type are made of elements of the sort."""
        return any(sort.name == self.sort.name for sort in sorts_in(kind))

    def expr(self, expr: Expr, asked: bool = False) -> Iterator[Offence]:
        """Offences of an expression; `asked`: another `any` or `all` decides already whose turn comes first."""
        match expr:
            case Const():
                yield from self.const(expr)
            case ToIndex(type=kind) if self.about(kind):
                yield expr.loc, f"a number is used as an element of {self.sort}"
            case Unary(op=op, arg=arg):
                yield from self.unary(op, arg, expr.loc)
            case Binary(op=op, left=left, right=right):
                ordered = op not in ("==", "!=", "in", "union", "inter", "diff", "subset")
                if ordered and (self.about(left.type) or self.about(right.type)):
                    yield expr.loc, f"elements of {self.sort} are compared by their order"
            case Quant():
                yield from self.quant(expr, asked)
                asked = asked or (expr.op in ("any", "all") and self.about(expr.domain.type))
            case Local() | Read() | ToIndex() | Logic() | Cond() | SetOf() | Let() | Checked():
                pass
            case _:
                yield expr.loc, f"it is not known what this expression does with elements of {self.sort}"
        for child in children(expr):
            yield from self.expr(child, asked)

    def const(self, expr: Const) -> Iterator[Offence]:
        """A constant must not name elements; None, the empty set and the set of all name none."""
        kind, value = expr.type, expr.value
        if not self.about(kind) or value is None:
            return
        if isinstance(kind, SetT) and isinstance(value, frozenset) and len(value) in (0, len(scalars_of(kind.element))):
            return
        if expr.parameter:
            yield expr.loc, f"the parameter {expr.parameter} names an element of {self.sort}"
        else:
            yield expr.loc, NAMED.format(self.sort, label(value, kind))

    def unary(self, op: str, arg: Expr, loc: Loc) -> Iterator[Offence]:
        """Elements are no numbers."""
        if op == "int" and self.about(arg.type):
            yield loc, f"an element of {self.sort} is used as a number"
        elif op not in ("not", "neg", "card", "some", "unwrap", "is_none", "int"):
            yield loc, f"it is not known what {op} does with elements of {self.sort}"

    def quant(self, expr: Quant, asked: bool) -> Iterator[Offence]:
        """All elements, and none before another."""
        if expr.op in ("min", "max") and self.about(expr.body.type):
            yield expr.loc, f"elements of {self.sort} are compared by their order"
        if not self.about(expr.domain.type):
            return
        yield from self.domain(expr.domain)
        if expr.op == "first" and not self.one_other(expr):
            yield expr.loc, f"the first element of {self.sort} that qualifies is chosen"
        elif expr.op not in ("any", "all", "sum", "min", "max", "set", "first"):
            yield expr.loc, f"it is not known what {expr.op} does with elements of {self.sort}"
        elif expr.op in ("any", "all") and _can_stop_short(expr) and (asked or not isinstance(expr.domain.type, SortT)):
            yield expr.loc, f"which elements of {self.sort} are looked at first decides whether this fails"

    def one_other(self, expr: Quant) -> bool:
        """`next(q for q in Process if q != p)` of two elements: there is no choice."""
        match expr.where:
            case Binary(op="!=", left=Local(name=name), right=right):
                pass
            case Unary(op="not", arg=Binary(op="==", left=Local(name=name), right=right)):
                pass
            case _:
                return False
        named = any(isinstance(e, Local) and e.name == expr.var for e in subexpressions(right))
        return self.sort.size == 2 and expr.domain.type == self.sort == right.type and name == expr.var and not named

    def domain(self, domain: Domain) -> Iterator[Offence]:
        """A range over the sort has all elements."""
        if not self.about(domain.type) or domain.whole:
            return
        if not isinstance(domain.type, SortT) or set(domain.values) != set(scalars_of(domain.type)):
            yield domain.loc, f"only some elements of {self.sort} are looked at"


__all__ = ["Asymmetry", "Offence", "init_loc", "sorts_in", "sorts_of", "strict", "symmetries"]
