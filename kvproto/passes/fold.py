"""Fold constants through a system: switches that are off take their code with them."""

from __future__ import annotations

from dataclasses import replace

from kvproto.ir.fold import fold_expr
from kvproto.ir.nodes import Action, Assert, Assign, Const, Expr, For, If, Require, SetLocal, Stmt, System
from kvproto.ir.walk import can_fault, expressions, map_place


def fold(system: System) -> System:
    """The system with every constant condition decided.

    An action whose guard is false under the parameters, whatever the state, is marked `switched_off`.
    """
    return replace(
        system,
        inits=tuple(replace(i, body=_block(i.body)) for i in system.inits),
        actions=tuple(_action(a) for a in system.actions),
        claims=tuple(replace(c, cond=_folded(c.cond), trigger=_folded(c.trigger)) for c in system.claims),
        constraint=_folded(system.constraint),
    )


def _folded(cond: Expr | None) -> Expr | None:
    return None if cond is None else fold_expr(cond)


def _action(action: Action) -> Action:
    body = _block(action.body)
    return replace(action, body=body, switched_off=_never_enabled(body))


def _never_enabled(body: tuple[Stmt, ...]) -> bool:
    """A guard is constantly false, and nothing before it could fault first."""
    for stmt in body:
        if isinstance(stmt, Require) and isinstance(stmt.cond, Const):
            return True
        if not isinstance(stmt, Require | SetLocal) or any(can_fault(e) for e in expressions(stmt)):
            return False
    return False


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(done for stmt in body for done in _stmt(stmt))


def _stmt(stmt: Stmt) -> tuple[Stmt, ...]:
    match stmt:
        case Require() | Assert():
            cond = fold_expr(stmt.cond)
            settled = isinstance(cond, Const) and cond.value is True
            return () if settled else (replace(stmt, cond=cond),)
        case Assign():
            return (replace(stmt, place=map_place(stmt.place, fold_expr), value=fold_expr(stmt.value)),)
        case SetLocal():
            return (replace(stmt, value=fold_expr(stmt.value)),)
        case If():
            test = fold_expr(stmt.test)
            if isinstance(test, Const):
                return _block(stmt.then if test.value else stmt.orelse)
            then, orelse = _block(stmt.then), _block(stmt.orelse)
            return (replace(stmt, test=test, then=then, orelse=orelse),) if then or orelse or can_fault(test) else ()
        case For():
            where = None if stmt.where is None else fold_expr(stmt.where)
            body = _block(stmt.body)
            never = isinstance(where, Const) and where.value is False
            idle = not body and (where is None or not can_fault(where))
            return () if not stmt.domain.values or never or idle else (replace(stmt, where=where, body=body),)
