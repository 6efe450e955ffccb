"""Systems as text: which are the same, and which can do nothing that another cannot.

A system that has the same statements as another and more guards can only do less.  Then every invariant and assertion
that holds in the larger system holds in the smaller one.  The comparison is made on the text of folded systems, so it
is sound and far from complete: most measures change what a step does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kvproto.ir.nodes import Action, Assert, Assign, Expr, For, If, Logic, Require, SetLocal, Stmt, System
from kvproto.ir.printer import show_body, show_claim, show_expr, show_params, show_type

Piece = tuple[bool, str]
"""Whether it is a guard, and its text."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The text of a system, cut up for comparison: what every run begins with, actions, claims."""

    frame: str
    actions: Mapping[str, tuple[Piece, ...]]
    claims: Mapping[str, str]

    def key(self) -> str:
        """The same for systems that do the same: actions that are switched off do not count, unlike in a digest."""
        rows = [self.frame, *(f"{name}: {pieces}" for name, pieces in self.actions.items())]
        return hashlib.sha256("\n".join([*rows, *self.claims.values()]).encode()).hexdigest()[:16]

    def restricts(self, other: Outline, names: Iterable[str]) -> bool:
        """Whether every run of this system is one of the other, and these claims say the same in both."""
        return (
            self.frame == other.frame
            and all(self.claims[name] == other.claims.get(name) for name in names)
            and self.actions.keys() <= other.actions.keys()
            and all(_guarded(mine, other.actions[name]) for name, mine in self.actions.items())
        )


def outline(folded: System) -> Outline:
    """The outline of a folded system; actions that are switched off are left out."""
    frame = [show_type(folded.state)]
    for init in folded.inits:
        frame += [f"init {init.name}({show_params(init.params)})", *show_body(init.body)]
    frame.append("" if folded.constraint is None else show_expr(folded.constraint))
    frame += [f"{fair.kind} {fair.actions} per {fair.per}" for fair in folded.fairness]
    actions = {action.name: tuple(_pieces(action)) for action in folded.actions if not action.switched_off}
    return Outline("\n".join(frame), actions, {claim.name: show_claim(claim) for claim in folded.claims})


def _guarded(mine: tuple[Piece, ...], theirs: tuple[Piece, ...]) -> bool:
    """Whether `mine` is `theirs` with guards put in."""
    at = 0
    for piece in mine:
        if at < len(theirs) and piece == theirs[at]:
            at += 1
        elif not piece[0]:
            return False
    return at == len(theirs)


def _pieces(action: Action) -> Iterator[Piece]:
    yield False, show_params(action.params)
    yield from _block(action.body)


def _block(body: tuple[Stmt, ...]) -> Iterator[Piece]:
    for stmt in body:
        match stmt:
            case Require(cond=cond):
                yield from ((True, show_expr(part)) for part in _conjuncts(cond))
            case If(test=test, then=then, orelse=orelse):
                yield False, f"if {show_expr(test)}"
                yield from _block(then)
                yield False, "else"
                yield from _block(orelse)
                yield False, "end"
            case For():
                where = "" if stmt.where is None else show_expr(stmt.where)
                yield False, f"for {stmt.var} in {stmt.domain} where {where}"
                yield from _block(stmt.body)
                yield False, "end"
            case Assign() | SetLocal() | Assert():
                yield from ((False, line) for line in show_body((stmt,)))


def _conjuncts(cond: Expr) -> Iterator[Expr]:
    if isinstance(cond, Logic) and cond.op == "and":
        for part in cond.args:
            yield from _conjuncts(part)
    else:
        yield cond
