"""A system made ready to be explored for the violations of one claim: what violates it ends everything.

Violating states are put outside of the constraint, so that no step leads on from them; a step that fails an assertion
leads to a state with a mark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvproto.engine.evaluate import State
from kvproto.engine.explorer import Explorer
from kvproto.engine.lower import Lowered, lower
from kvproto.ir.nodes import Assert, Claim, Const, Expr, Logic, System, Unary
from kvproto.ir.types import BoolT
from kvproto.ir.walk import statements
from kvproto.passes import run as run_passes
from kvproto.whatif.marks import HERE, mark_is_set, marked, unmarked

BROKEN, UNDONE = "(broken)", "(undone)"
"""Marks of states: the step to it has failed the claim; it has failed another assertion, so it was none."""

SPOILT, GONE, INSIDE = range(3)
"""What is asked of every state: does it violate the claim, was the step to it none, may it be expanded."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The system with marks, after all passes too, and lowered with the three predicates.

    Where `only_ends`, the claim is about states without a step, and SPOILT says which of these violate it.
    """

    system: System
    folded: System
    lowered: Lowered
    marks: dict[str, str]
    only_ends: bool

    def packed(self, state: State) -> int:
        """A state of the original system as an explorer takes it."""
        return self.lowered.layout.pack(unmarked(state, self.marks))

    def goes_wrong(self, explorer: Explorer) -> bool:
        """Whether the model itself has gone wrong somewhere."""
        return any(not self.lowered.faults[hit.fault].claim for hit in explorer.faults())


def watched(system: System, claim: Claim) -> Watched:
    """The system made ready for one claim.  `Explorer.deadlock` then gives an end without violation."""
    only_ends = claim.kind == "deadlock"
    marks = _marks(system, claim)
    spoilt, gone = _spoilt(claim), mark_is_set(UNDONE) if UNDONE in marks.values() else _constant(value=False)
    inside = _and(system.constraint, _not(gone if only_ends else spoilt))
    good_end = Claim("good end", "deadlock", "", "", spoilt if only_ends else None, HERE)
    ready = replace(marked(system, marks), claims=(good_end,), constraint=inside, fairness=())
    folded = run_passes(ready)
    lowered = lower(folded, folded.claims, predicates=(spoilt, gone, inside))
    return Watched(ready, folded, lowered, marks, only_ends)


def _marks(system: System, claim: Claim) -> dict[str, str]:
    """Which assertions are watched: that of the claim; where ends matter all, as a step that fails is no end."""
    if claim.kind == "assert":
        return {claim.name: BROKEN}
    names = {s.claim for a in system.actions for s in statements(a.body) if isinstance(s, Assert)}
    return dict.fromkeys(sorted(names), UNDONE) if claim.kind == "deadlock" else {}


def _spoilt(claim: Claim) -> Expr:
    """What violates the claim, in a state (or, of a deadlock, in an end)."""
    if claim.kind == "assert":
        return mark_is_set(BROKEN)
    return _constant(value=claim.kind == "deadlock") if claim.cond is None else _not(claim.cond)


def _constant(*, value: bool) -> Expr:
    return Const(BoolT(), value, HERE)


def _not(cond: Expr) -> Expr:
    return Unary(BoolT(), "not", cond, cond.loc)


def _and(left: Expr | None, right: Expr) -> Expr:
    return right if left is None else Logic(BoolT(), "and", (left, right), right.loc)
