"""Claims about runs (liveness): `eventually`, `leads_to`, `always_eventually`, `eventually_always`, under fairness."""

from __future__ import annotations

from kvproto.engine.liveness.graph import Budget
from kvproto.engine.liveness.lasso import Lasso, NotConfirmed, confirm, decisive, why_fair
from kvproto.engine.liveness.predicates import fixed, predicates
from kvproto.engine.liveness.verdicts import ConditionFault, LivenessFinding, check

__all__ = [
    "Budget",
    "ConditionFault",
    "Lasso",
    "LivenessFinding",
    "NotConfirmed",
    "check",
    "confirm",
    "decisive",
    "fixed",
    "predicates",
    "why_fair",
]
