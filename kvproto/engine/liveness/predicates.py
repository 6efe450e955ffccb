"""The predicates of states that claims about runs are made of: every choice of parameters is a claim of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, choices
from kvproto.ir.nodes import LIVENESS, Claim, Const, Expr, Let, System


@dataclass(frozen=True, slots=True)
class Choice:
    """A claim with its parameters fixed; `trigger` is that of `leads_to`."""

    claim: Claim
    args: Args
    goal: Expr
    trigger: Expr | None

    def conditions(self) -> list[Expr]:
        """The predicates that it is made of."""
        return [self.goal] if self.trigger is None else [self.goal, self.trigger]


def fixed(claim: Claim, cond: Expr, args: Args) -> Expr:
    """A condition of the claim with these values for its parameters."""
    for param, value in zip(reversed(claim.params), reversed(args), strict=True):
        cond = Let(cond.type, param.name, Const(param.type, value, cond.loc), cond, cond.loc)
    return cond


def plan(claims: Iterable[Claim]) -> list[Choice]:
    """Every choice of every claim about runs, in order."""
    return [_choice(c, args) for c in claims if c.kind in LIVENESS for args in choices(c.params)]


def _choice(claim: Claim, args: Args) -> Choice:
    assert claim.cond is not None, f"{claim.name} has no goal"
    trigger = None if claim.trigger is None else fixed(claim, claim.trigger, args)
    assert (trigger is not None) == (claim.kind == "leads_to"), f"{claim.name} and its trigger"
    return Choice(claim, args, fixed(claim, claim.cond, args), trigger)


def predicates(system: System, claims: Iterable[Claim]) -> list[Expr]:
    """The predicates that `check` wants to test on every state, each once; none without claims about runs.

    The state constraint is among them, if there is one.
    """
    needed = [condition for choice in plan(claims) for condition in choice.conditions()]
    if needed and system.constraint is not None:
        needed.append(system.constraint)
    return list(dict.fromkeys(needed))
