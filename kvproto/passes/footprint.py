"""Footprints: what an action can read and write at all, field by field.

Indices do not count: `req[*].phase` is read if the phase of any request may be.  Explanation, slicing, symmetry and
independence start from here.  A footprint is an upper bound: every run reads and writes no more.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.ir.nodes import Action, Assign, Claim, Expr, Place, Read
from kvproto.ir.walk import expressions, statements, subexpressions


@dataclass(frozen=True, slots=True)
class Footprint:
    """Fields by name, such as `req[*].phase`, in alphabetical order."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


def footprint(action: Action) -> Footprint:
    """What the action may read (guards included) and write."""
    reads: set[str] = set()
    writes: set[str] = set()
    for stmt in statements(action.body):
        for expr in expressions(stmt):
            reads |= _reads(expr)
        if isinstance(stmt, Assign):
            writes.add(field(stmt.place))
    return Footprint(tuple(sorted(reads)), tuple(sorted(writes)))


def claim_reads(claim: Claim) -> tuple[str, ...]:
    """What a property depends on."""
    asked = [expr for expr in (claim.trigger, claim.cond) if expr is not None]
    return tuple(sorted(set().union(*map(_reads, asked))))


def field(place: Place) -> str:
    """The field a place belongs to: `req[*].phase`."""
    text = ""
    for step in place.steps:
        text += (f".{step}" if text else step) if isinstance(step, str) else "[*]"
    return text


def _reads(expr: Expr) -> set[str]:
    return {field(e.place) for e in subexpressions(expr) if isinstance(e, Read)}
