"""Claims about runs (liveness): `eventually`, `leads_to`, `always_eventually`, `eventually_always`, under fairness.

`reference` finds fair lassos by definition, on explicit graphs: the oracle.  `verdicts.check` is the fast way, on the
graph of a finished search: `graph` (compressed rows), `kernels` and `kernels_c` (the loops, twice), `fair` (where a
fair run can stay), `runs` (a short stem and cycle).  Every run that is found passes `lasso.confirm`, on the reference
evaluator.

Runs are those of TLA+: a run may stop wherever fairness does not forbid it; a step that changes nothing is none; a step
out of the state constraint is enabled and never taken; a step that fails an assertion changes nothing.
"""

from __future__ import annotations

from kvproto.engine.liveness.graph import Budget
from kvproto.engine.liveness.lasso import NO_FAIRNESS, Fair, Lasso, NotConfirmed, confirm, decisive, fair_to, why_fair
from kvproto.engine.liveness.predicates import fixed, predicates
from kvproto.engine.liveness.verdicts import ConditionFault, LivenessFinding, check

__all__ = [
    "NO_FAIRNESS",
    "Budget",
    "ConditionFault",
    "Fair",
    "Lasso",
    "LivenessFinding",
    "NotConfirmed",
    "check",
    "confirm",
    "decisive",
    "fair_to",
    "fixed",
    "predicates",
    "why_fair",
]
