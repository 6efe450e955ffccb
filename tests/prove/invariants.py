"""Invariants written by hand for theories of `theories`, so that tests of certificates wait for no inference."""

from __future__ import annotations

from collections.abc import Mapping

from theories import (
    COMP,
    DEADLINE,
    DELAY,
    FAILED,
    HOLD,
    INFL,
    LIFE,
    NOW,
    OWN,
    PLAN,
    R2,
    SINCE,
    STARTED,
    VAL,
    WROTE,
    P,
    R,
    at,
)

from kvproto.prove.logic.formula import Apply, Compare, Formula, Plus, Same, conj, disj, forall, implies, neg
from kvproto.prove.logic.theory import Clause


def _clauses(formulas: Mapping[str, Formula]) -> list[Clause]:
    return [Clause(name, formula) for name, formula in formulas.items()]


def _shared() -> dict[str, Formula]:
    own, infl, wrote, done = at(OWN, R, P), at(INFL, R, P), at(WROTE, R, P), at(COMP, R)
    return {
        "one_owner": forall((R, R2, P), implies(conj((own, at(OWN, R2, P))), Same(R, R2))),
        "infl_own": forall((R, P), implies(infl, own)),
        "wrote_val": forall((R, P), implies(conj((wrote, own)), at(VAL, R, P))),
        "done_quiet": forall((R, P), implies(done, neg(infl))),
        "done_wrote": forall((R, P), implies(conj((done, own)), wrote)),
        "own_started": forall((R, P), implies(own, at(STARTED, R))),
        "wrote_started": forall((R, P), implies(wrote, at(STARTED, R))),
        "done_started": forall((R,), implies(done, at(STARTED, R))),
    }


def late() -> list[Clause]:
    """For `theories.late()`."""
    return _clauses(_shared())


def timed() -> list[Clause]:
    """For `theories.timed()`."""
    now, since, deadline = Apply(NOW), Apply(SINCE, (R,)), Apply(DEADLINE, (R, P))
    infl, failed = at(INFL, R, P), at(FAILED, R)
    spent = Compare("<", Plus(since, Apply(HOLD)), now)
    longest = Plus(since, Plus(Apply(DELAY), Apply(LIFE)))
    in_time = (Compare("<=", now, deadline), Compare("<=", deadline, Plus(now, Apply(LIFE))))
    gone = conj((at(PLAN, R, P), neg(at(OWN, R, P))))
    return _clauses(
        _shared()
        | {
            "infl_started": forall((R, P), implies(infl, at(STARTED, R))),
            "failed_started": forall((R,), implies(failed, at(STARTED, R))),
            "plan_started": forall((R, P), implies(at(PLAN, R, P), at(STARTED, R))),
            "done_not_failed": forall((R,), implies(at(COMP, R), neg(failed))),
            "since_now": forall((R,), implies(failed, Compare("<=", since, now))),
            "lives": forall((R, P), implies(infl, conj(in_time))),
            "ends": forall((R, P), implies(conj((infl, failed)), Compare("<=", deadline, longest))),
            "gone": forall((R, P), implies(gone, disj((at(COMP, R), conj((failed, spent)))))),
        }
    )
