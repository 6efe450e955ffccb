"""The predicates of states that claims about runs are made of: every choice of parameters is a claim of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvproto.engine.evaluate import Args, choices
from kvproto.ir.nodes import LIVENESS, Claim, Const, Expr, Let, System


@dataclass(frozen=True, slots=True)
class Choice:
    """A claim with its parameters fixed, and which predicates (by number) it is made of."""

    claim: Claim
    args: Args
    goal: int
    trigger: int | None = None


def fixed(claim: Claim, cond: Expr, args: Args) -> Expr:
    """A condition of the claim with these values for its parameters."""
    for param, value in zip(reversed(claim.params), reversed(args), strict=True):
        cond = Let(cond.type, param.name, Const(param.type, value, cond.loc), cond, cond.loc)
    return cond


def plan(claims: Iterable[Claim]) -> tuple[list[Choice], list[Expr]]:
    """Every choice of every claim about runs, in order, and the predicates that they need."""
    found: list[Choice] = []
    needed: list[Expr] = []
    for claim in claims:
        for args in choices(claim.params) if claim.kind in LIVENESS else ():
            parts = list(conditions(claim, args))
            trigger = len(needed) + 1 if len(parts) > 1 else None
            found.append(Choice(claim, args, len(needed), trigger))
            needed += parts
    return found, needed


def predicates(system: System, claims: Iterable[Claim]) -> list[Expr]:
    """The predicates that `check` wants to test on every state, in the order of their numbers.

    The last one is the state constraint, if there is one.  Empty without claims about runs.
    """
    needed = plan(claims)[1]
    return [*needed, system.constraint] if needed and system.constraint is not None else needed


def conditions(claim: Claim, args: Args) -> Iterator[Expr]:
    """The goal with parameters fixed, and for `leads_to` the trigger."""
    assert claim.cond is not None, f"{claim.name} has no goal"
    yield fixed(claim, claim.cond, args)
    if claim.kind == "leads_to":
        assert claim.trigger is not None, f"{claim.name} has no trigger"
        yield fixed(claim, claim.trigger, args)
