"""When a step fails an assertion that nobody asked about: it happens and changes nothing.

The body of an action is rewritten into one that asks whether an assertion fails on the way: what stands behind a
failed assertion is passed over, and what no assertion comes after is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kvproto.diagnostics import Loc
from kvproto.ir.nodes import Action, Assert, Const, For, If, Local, Require, SetLocal, Stmt, Unary
from kvproto.ir.types import BoolT
from kvproto.ir.walk import statements

BOOL = BoolT()


def failing(action: Action, asked: Collection[str]) -> tuple[Stmt, ...]:
    """A body that is enabled where the action fails an assertion not in `asked`; () if it has none.

    Its effects mean nothing.
    """
    if not _asserts(action.body, asked):
        return ()
    rewriter = _Failing(asked, _unused(action), action.loc)
    start, end = rewriter.now(Const(BOOL, False, action.loc)), Require(rewriter.failed, action.loc)
    return (start, *rewriter.block(action.body), end)


def _asserts(block: tuple[Stmt, ...], asked: Collection[str]) -> bool:
    return any(isinstance(stmt, Assert) and stmt.claim not in asked for stmt in statements(block))


def _unused(action: Action) -> str:
    """A name for a local that the body does not have."""
    taken = {stmt.name for stmt in statements(action.body) if isinstance(stmt, SetLocal)}
    taken |= {stmt.var for stmt in statements(action.body) if isinstance(stmt, For)} | {p.name for p in action.params}
    name = "failed"
    while name in taken:
        name += "_"
    return name


class _Failing:
    """Rewrites the blocks of one action."""

    def __init__(self, asked: Collection[str], name: str, loc: Loc) -> None:
        self.asked = asked
        self.name = name
        self.failed = Local(BOOL, name, loc)
        self.passed = Unary(BOOL, "not", self.failed, loc)

    def now(self, value: Const | Unary) -> Stmt:
        """Remember whether an assertion has failed."""
        return SetLocal(self.name, BOOL, value, value.loc)

    def block(self, block: tuple[Stmt, ...], *, whole: bool = False) -> tuple[Stmt, ...]:
        """A block that stops at the first assertion that fails, and behind the last one unless it is wanted `whole`."""
        for at, stmt in enumerate(block):
            if _asserts((stmt,), self.asked):
                rest = block[at + 1 :]
                more = whole or _asserts(rest, self.asked)
                behind = (If(self.passed, self.block(rest, whole=whole), (), stmt.loc),) if rest and more else ()
                return (*block[:at], self._statement(stmt, more), *behind)
        return block

    def _statement(self, stmt: Stmt, whole: bool) -> Stmt:
        match stmt:
            case Assert():
                return self.now(Unary(BOOL, "not", stmt.cond, stmt.loc))
            case If():
                then, orelse = self.block(stmt.then, whole=whole), self.block(stmt.orelse, whole=whole)
                return replace(stmt, then=then, orelse=orelse)
            case For():
                # What comes last in a turn comes before the next one.
                return replace(stmt, body=(If(self.passed, self.block(stmt.body, whole=True), (), stmt.loc),))
            case _:
                return stmt
