"""What would have been: the optional key `analysis` of a trace file, which `kvproto explain TRACE --save` fills.

Everything here speaks of the one schedule of the trace (its steps with their arguments), except `NoReturn`, which
speaks of all continuations in scope.  Steps are counted from 1; state 0 is the initial one, state n the one after
step n.  Paths and values are written as in the rest of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kvproto.trace.trace import Value

GuardKind = Literal["switch", "preset", "environment"]
Effect = Literal["refused", "harmless", "diverted"]

GUARD_KINDS: tuple[GuardKind, ...] = ("switch", "preset", "environment")
VERDICTS: tuple[Literal["", "holds", "violated", "inconclusive"], ...] = ("", "holds", "violated", "inconclusive")
EFFECTS: tuple[Effect, ...] = ("refused", "harmless", "diverted")


@dataclass(frozen=True, slots=True)
class Guard:
    """A switch of the model, or a preset of it, under which this schedule does not break the claim.

    `kind`: a "switch" is what somebody can set, a "preset" takes its measures but neither its sizes nor its
    environment, "environment" is a freedom of the world that the run needs.  `value` is what the switch is set to (for
    a preset True).  `effect`: "refused", step `step` cannot happen, because
    `condition` (a part of its guard, in the model's words) is false there; "harmless", every step happens with the same
    states as in the trace and the claim holds; "diverted", every step happens and the claim holds, with other values
    from step `step` on.  A refusal may come from a part of a guard that the switch brings or from what it changed
    before: `since` is the first step that the switch changed (`step` itself, if nothing differed before), and
    `difference` says how the state after it differs (`x = 1 instead of 0; ...`).  Step 0 is the beginning.
    `verdict` is that of a search of the whole scope under the switch ("" if nobody searched): with "violated" the
    switch stops this schedule but not the one of `other` steps that the search found.  `breaks` are claims that hold
    without the switch and are violated with it.
    `loc` is the place of the guard, for the others that of the action of `step`; `about` is what the model says of the
    switch or preset; `release` is the first later preset of the model that has the switch so ("" if none).  The
    best are first.
    """

    name: str
    kind: GuardKind
    value: bool | int | str
    effect: Effect
    step: int
    since: int
    action: str
    condition: str = ""
    loc: str = ""
    about: str = ""
    release: str = ""
    difference: str = ""
    verdict: Literal["", "holds", "violated", "inconclusive"] = ""
    other: int = 0
    breaks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """A red dot: had `step` left `path` as it was (`instead`) and not set it to `value`, the violation were gone.

    `effect`: "refused", step `at` could then not happen (`condition` is false there); "harmless", all steps could, and
    the claim holds at the end (`at` is the last step).
    """

    step: int
    path: str
    value: Value
    instead: Value
    effect: Literal["refused", "harmless"]
    at: int
    condition: str = ""


@dataclass(frozen=True, slots=True)
class NoReturn:
    """From where on the violation can still be reached whatever happens, and from where on nothing else can happen.

    `step` is the first step after which every continuation in scope can still reach the violation; `forced` the first
    one after which every continuation ends in it; None where there is none.  `avoidable` says for each state, 0 to
    the last, whether some continuation avoids the violation.  `states` were looked at; without `complete` the scope
    was too large, and `step` and `forced` say what is known.
    """

    step: int | None
    forced: int | None
    avoidable: tuple[bool, ...]
    states: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found out about a trace on its model; `minimised` are words about which other runs were tried."""

    guards: tuple[Guard, ...] = ()
    dots: tuple[Dot, ...] = ()
    no_return: NoReturn | None = None
    minimised: tuple[str, ...] = ()

    def guard(self) -> Guard | None:
        """The missing guard: the best measure, else the best preset, else the freedom that the run needs."""
        return next(iter(self.guards), None)
