"""Assertions as conditions on states: a failing step goes to a state that is marked, instead of going wrong.

A search of such a system has the failing step in its graph like any other step.  The state after it is the one that
the failing statement met, as in traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kvproto.diagnostics import Loc
from kvproto.engine.evaluate import State
from kvproto.ir.nodes import (
    Action,
    Assert,
    Assign,
    Const,
    Expr,
    For,
    If,
    Local,
    Logic,
    Place,
    Read,
    SetLocal,
    Stmt,
    System,
    Unary,
)
from kvproto.ir.types import BoolT, IntT, LeafT, RecordT, Type, Value, zero_of
from kvproto.ir.walk import statements

OVER = "(over)"
"""The local that says that the step has failed; not a name that a model could use."""

HERE = Loc("", 0, 0)


def marked(system: System, marks: Mapping[str, str]) -> System:
    """The system in which a step that fails the assertion `claim` sets `marks[claim]` and does nothing more.

    The marks become the last variables of the state.
    """
    fields = tuple((mark, BoolT()) for mark in dict.fromkeys(marks.values()))
    state = replace(system.state, fields=(*system.state.fields, *fields))
    assert isinstance(state, RecordT)
    return replace(system, state=state, actions=tuple(_action(action, marks) for action in system.actions))


def unmarked(state: State, marks: Mapping[str, str]) -> State:
    """A state of the system as one of the marked system, with no mark set."""
    return (*state, *(False for _ in dict.fromkeys(marks.values())))


def mark_is_set(mark: str) -> Expr:
    """The condition that a mark is set."""
    return Read(BoolT(), Place(BoolT(), (mark,), HERE), HERE)


def _action(action: Action, marks: Mapping[str, str]) -> Action:
    if not any(_marks(stmt, marks) for stmt in statements(action.body)):
        return action
    start = SetLocal(OVER, BoolT(), Const(BoolT(), value=False, loc=action.loc), action.loc)
    return replace(action, body=(start, *_locals(action), *_block(action.body, marks)))


def _locals(action: Action) -> Iterator[SetLocal]:
    """A first value for every local: what sets it may now stand under a condition, and what reads it as well."""
    seen: set[str] = set()
    for stmt in statements(action.body):
        if isinstance(stmt, SetLocal) and stmt.name not in seen:
            seen.add(stmt.name)
            yield SetLocal(stmt.name, stmt.type, Const(stmt.type, _first(stmt.type), stmt.loc), stmt.loc)


def _first(kind: Type) -> Value:
    """Any value of the type of a local; nobody reads it."""
    if isinstance(kind, IntT) and kind.lo is None:
        return 0 if kind.hi is None else min(0, kind.hi)
    assert isinstance(kind, LeafT), "the front end splits records and arrays"
    return zero_of(kind)


def _marks(stmt: Stmt, marks: Mapping[str, str]) -> bool:
    return isinstance(stmt, Assert) and stmt.claim in marks


def _block(body: tuple[Stmt, ...], marks: Mapping[str, str]) -> tuple[Stmt, ...]:
    """The statements, where those that come after a possible failure happen only without one."""
    done: list[Stmt] = []
    for at, stmt in enumerate(body):
        done += _stmt(stmt, marks)
        rest = body[at + 1 :]
        if rest and any(_marks(inner, marks) for inner in statements((stmt,))):
            done.append(If(_going_on(stmt.loc), _block(rest, marks), (), stmt.loc))
            break
    return tuple(done)


def _stmt(stmt: Stmt, marks: Mapping[str, str]) -> Iterator[Stmt]:
    match stmt:
        case Assert() if stmt.claim in marks:
            true = Const(BoolT(), value=True, loc=stmt.loc)
            mark = Assign(Place(BoolT(), (marks[stmt.claim],), stmt.loc), true, stmt.loc)
            yield If(stmt.cond, (), (mark, SetLocal(OVER, BoolT(), true, stmt.loc)), stmt.loc)
        case If():
            yield replace(stmt, then=_block(stmt.then, marks), orelse=_block(stmt.orelse, marks))
        case For() if any(_marks(inner, marks) for inner in statements(stmt.body)):
            on = _going_on(stmt.loc)
            where = on if stmt.where is None else Logic(BoolT(), "and", (on, stmt.where), stmt.loc)
            yield replace(stmt, where=where, body=_block(stmt.body, marks))
        case _:
            yield stmt


def _going_on(loc: Loc) -> Expr:
    return Unary(BoolT(), "not", Local(BoolT(), OVER, loc), loc)
