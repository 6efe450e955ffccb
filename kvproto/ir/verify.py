"""The rules of the IR, as a check: run on what the front end makes and on what every pass makes of it."""

from __future__ import annotations

from kvproto.ir.nodes import (
    LIVENESS,
    Assign,
    Binary,
    Checked,
    Claim,
    Cond,
    Expr,
    Fairness,
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
    Stmt,
    System,
    Unary,
)
from kvproto.ir.types import ArrayT, BoolT, IntT, OptT, RecordT, SetT, Type
from kvproto.ir.walk import children


class Broken(AssertionError):
    """A tree that is no IR: a bug of the front end or of a pass."""


def verify(system: System) -> System:
    """The system itself, if it obeys the rules; raises Broken otherwise."""
    bodies = [(a.name, a.params, a.body) for a in system.actions]
    bodies += [(i.name, i.params, i.body) for i in system.inits]
    for name, params, body in bodies:
        _Rules(system, name).block(body, {p.name for p in params})
    for claim in system.claims:
        _claim(system, claim)
    for fair in system.fairness:
        _fairness(system, fair)
    if system.constraint is not None:
        _Rules(system, "constraint").condition(system.constraint, set())
    return system


def _claim(system: System, claim: Claim) -> None:
    rules = _Rules(system, claim.name)
    if claim.kind not in LIVENESS and (claim.params or claim.trigger is not None):
        raise Broken(f"{claim.name}: only claims about runs have parameters and premises")
    if (claim.kind == "leads_to") != (claim.trigger is not None):
        raise Broken(f"{claim.name}: leads_to, and nothing else, has a premise")
    for part in (claim.trigger, claim.cond):
        if part is not None:
            rules.condition(part, {p.name for p in claim.params})


def _fairness(system: System, fair: Fairness) -> None:
    for name in fair.actions:
        action = next((a for a in system.actions if a.name == name), None)
        if action is None or not set(fair.per) <= {p.name for p in action.params}:
            raise Broken(f"fairness of {name}, {fair.loc}: it is no action with parameters {fair.per}")


def _alike(one: Type, other: Type) -> bool:
    return one == other or (isinstance(one, IntT) and isinstance(other, IntT))


class _Rules:
    def __init__(self, system: System, owner: str) -> None:
        self.system = system
        self.owner = owner

    def wants(self, holds: bool, node: Expr | Stmt | Place, rule: str) -> None:
        """Raise unless the rule holds."""
        if not holds:
            raise Broken(f"{self.owner}, {node.loc}: {rule}: {node!r}")

    def block(self, body: tuple[Stmt, ...], names: set[str]) -> set[str]:
        """Check statements; gives the locals that have a value afterwards."""
        known = set(names)
        for stmt in body:
            self.statement(stmt, known)
        return known

    def statement(self, stmt: Stmt, known: set[str]) -> None:
        """Check one statement and add the locals it assigns on every way."""
        match stmt:
            case Assign(place=place, value=value):
                self.place(place, known)
                self.expr(value, known)
                self.wants(_alike(place.type, value.type), stmt, "stores keep types")
                self.wants(not isinstance(place.type, RecordT | ArrayT), stmt, "stores are of leaves")
            case SetLocal(name=name, value=value):
                self.expr(value, known)
                known.add(name)
            case If(test=test, then=then, orelse=orelse):
                self.condition(test, known)
                known |= self.block(then, known) & self.block(orelse, known)
            case For(var=var, where=where, body=body):
                inner = known | {var}
                if where is not None:
                    self.condition(where, inner)
                after = self.block(body, inner)
                if where is None and stmt.domain.values:
                    known |= after
            case Require(cond=cond):
                self.condition(cond, known)
            case _:
                self.condition(stmt.cond, known)

    def condition(self, expr: Expr, known: set[str]) -> None:
        """Check an expression that decides something."""
        self.wants(isinstance(expr.type, BoolT), expr, "conditions are booleans")
        self.expr(expr, known)

    def place(self, place: Place, known: set[str]) -> None:
        """Check that the steps of a place lead where its type says."""
        kind: Type = self.system.state
        for step in place.steps:
            if isinstance(step, str):
                inner = kind.get(step) if isinstance(kind, RecordT) else None
                self.wants(inner is not None, place, f"{kind} has no field {step}")
                kind = inner or kind
            else:
                self.wants(isinstance(kind, ArrayT), place, "only arrays are indexed")
                assert isinstance(kind, ArrayT)
                self.wants(_alike(kind.index, step.type), place, "indices have the index type")
                self.expr(step, known)
                kind = kind.element
        self.wants(kind == place.type, place, "a place has the type of what it names")

    def expr(self, expr: Expr, known: set[str]) -> None:
        """Check an expression."""
        match expr:
            case Local(name=name):
                self.wants(name in known, expr, "locals have a value where they are used")
            case Read(place=place):
                self.place(place, known)
                return
            case Let(name=name, value=value, body=body):
                self.expr(value, known)
                self.expr(body, known | {name})
                return
            case Quant():
                self.quant(expr, known)
                return
            case Cond(test=test):
                self.wants(isinstance(test.type, BoolT), expr, "conditions are booleans")
                self.wants(_alike(expr.then.type, expr.orelse.type), expr, "alternatives have one type")
            case Checked(test=test, body=body):
                self.wants(isinstance(test.type, BoolT), expr, "conditions are booleans")
                self.wants(_alike(expr.type, body.type), expr, "a check keeps the type")
            case Logic(args=args):
                self.wants(all(isinstance(a.type, BoolT) for a in args), expr, "and / or take conditions")
            case Unary(op="unwrap" | "is_none", arg=arg):
                self.wants(isinstance(arg.type, OptT), expr, f"{expr.op} takes an optional")
            case Unary(op="card", arg=arg) | Binary(op="in", right=arg):
                self.wants(isinstance(arg.type, SetT), expr, f"{expr.op} takes a set")
            case Binary(op="==" | "!=", left=left, right=right):
                self.wants(_alike(left.type, right.type), expr, "equality is within a type")
            case _:
                pass
        for child in children(expr):
            self.expr(child, known)

    def quant(self, expr: Quant, known: set[str]) -> None:
        """Check a quantifier; its default does not see its variable."""
        inner = known | {expr.var}
        if expr.where is not None:
            self.condition(expr.where, inner)
        self.expr(expr.body, inner)
        if expr.default is not None:
            self.expr(expr.default, known)
