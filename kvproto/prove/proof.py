"""What comes of an attempt to prove a theory's claims: an inductive invariant, or where it is stuck."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import Var
from kvproto.prove.logic.theory import Clause, Structure, Transition


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is tried.  Counts of work, so that the answer is the same on every machine.

    `literals` and `variables` (a sort) bound the last template; `resources` is Z3's own measure, for one condition.
    `candidates` bounds the clauses that are kept under test at one time.  Where clauses are made on demand, `guided`
    bounds the states that are excluded, and `proposals` the clauses for one of them.  `seconds` is for whoever would
    rather have no answer than a late one.
    """

    literals: int = 4
    variables: int = 2
    resources: int = 20_000_000
    candidates: int = 1_500
    guided: int = 150
    proposals: int = 12
    seconds: float | None = None


class OutOfTime(Exception):
    """The seconds that an attempt had are over."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When to give up; `until` is a time of the monotonic clock."""

    until: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; never, for None."""
        return cls(None if seconds is None else time.monotonic() + seconds)

    def look(self) -> None:
        """Raise OutOfTime if it has passed."""
        if self.until is not None and time.monotonic() > self.until:
            raise OutOfTime


@dataclass(frozen=True, slots=True)
class Induction:
    """A counterexample to induction: a state that fulfils all clauses, a step, and a state that breaks one.

    Nobody says that `before` can be reached.  Without an action, `before` is an initial state that breaks the clause
    (then `after` is the same), or a state that fulfils all clauses and not the claim.
    """

    broken: Clause
    before: Structure
    action: Transition | None
    choice: Mapping[Var, int]
    after: Structure

    @property
    def initial(self) -> bool:
        """Whether the clause fails without any step."""
        return self.action is None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A clause that somebody proposed and that is not part of any invariant: where it breaks."""

    clause: Clause
    where: Induction


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the attempt cost, in counts."""

    seeds: int = 0
    sizes: tuple[Mapping[str, int], ...] = ()
    atoms: int = 0
    candidates: int = 0
    dropped: int = 0
    checks: int = 0
    conditions: int = 0
    template: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """Clauses that hold initially, are kept by every step and imply all claims, for every size of the sorts.

    `conditions` are all conditions of `clauses`, each with the hypotheses that its proof used and no others; `cores`
    names them, by the condition's name.
    """

    clauses: tuple[Clause, ...]
    conditions: tuple[Condition, ...]
    cores: Mapping[str, tuple[str, ...]]
    statistics: Statistics
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class Undecided:
    """No proof was found.  That says nothing about the claims.

    `stuck` is the counterexample to induction of the claim (or obligation) that is not implied, if there is one;
    `nearest` are the clauses that were given up and would exclude it.
    """

    reason: str
    stuck: Induction | None
    nearest: tuple[Clause, ...]
    tried: tuple[str, ...]
    statistics: Statistics
    rejected: tuple[Rejected, ...] = field(default=())
