"""What a search should have met: conditions that are true somewhere if the model says what it seems to say.

A search that finds nothing wrong is worth little if the interesting things cannot happen.  From the guards of
actions and from properties follow *probes*, conditions on single states; one that is true in no reachable state is
a *gap*:

- a part of a guard never decides: whenever the other parts hold it holds as well, so it could be left out;
- the premise of a property is never true, so the property holds *vacuously*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kvproto.diagnostics import Loc
from kvproto.engine.written import denies, written
from kvproto.ir.nodes import (
    Action,
    Claim,
    Cond,
    Const,
    Domain,
    Expr,
    Logic,
    Param,
    Quant,
    Require,
    System,
    Unary,
)
from kvproto.ir.types import BoolT, EnumT, IntT, SortT, values_of
from kvproto.ir.walk import statements, subexpressions

GapKind = Literal["guard", "premise"]

Sources = Mapping[str, str]
"""The text of each file."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What no reachable state shows: a part of the guard of action `owner`, or the premise of property `owner`."""

    kind: GapKind
    owner: str
    text: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Probe:
    """A condition that closes its gap where it is true."""

    gap: Gap
    cond: Expr


def premises(claims: Sequence[Claim], sources: Sources) -> tuple[Probe, ...]:
    """What the claims assume."""
    return tuple(probe for claim in claims for probe in _premises(claim, sources))


def guards(system: System) -> tuple[Probe, ...]:
    """The parts of the guards of a folded system."""
    actions = [action for action in system.actions if not action.switched_off]
    return tuple(probe for action in actions for probe in _guards(action, system.sources))


def mentions_parameter(action: Action) -> bool:
    """Whether a guard of the action, as it was written, asks for a parameter of the model."""
    guards = [stmt.cond for stmt in statements(action.body) if isinstance(stmt, Require)]
    return any(isinstance(e, Const) and e.parameter for cond in guards for e in subexpressions(cond))


# --- guards ------------------------------------------------------------------------------------------


def _guards(action: Action, sources: Sources) -> Iterator[Probe]:
    """A part decides where all parts before it hold, it does not, and those after it would (or may not be asked)."""
    if not _enumerable(action.params):
        return
    parts = list(_parts(action))
    if len(parts) < 2:
        return
    for at, part in enumerate(parts):
        cond = _conjunction([*parts[:at], _negated(part), *parts[at + 1 :]])
        yield Probe(Gap("guard", action.name, written(part, sources), part.loc), _somewhere(action.params, cond))


def _parts(action: Action) -> Iterator[Expr]:
    """The conjuncts of the `require` lines at the head of an action: those that see the state as it was."""
    for stmt in action.body:
        if not isinstance(stmt, Require):
            return
        yield from _conjuncts(stmt.cond)


def _conjuncts(cond: Expr) -> Iterator[Expr]:
    if isinstance(cond, Logic) and cond.op == "and":
        for arg in cond.args:
            yield from _conjuncts(arg)
    elif not isinstance(cond, Const):
        yield cond


# --- premises ----------------------------------------------------------------------------------------


def _premises(claim: Claim, sources: Sources) -> Iterator[Probe]:
    if not _enumerable(claim.params):
        return
    found: list[_Premise] = []
    if claim.kind == "leads_to" and claim.trigger is not None:
        found = [_Premise(claim.trigger, (claim.trigger,))] if not isinstance(claim.trigger, Const) else []
    elif claim.kind == "invariant" and claim.cond is not None:
        found = [premise for part in _conjuncts(claim.cond) if (premise := _premise(part)) is not None]
    for premise in found:
        text = " and ".join(written(part, sources) for part in premise.parts)
        gap = Gap("premise", claim.name, text, premise.parts[0].loc)
        yield Probe(gap, _somewhere(claim.params, premise.cond))


@dataclass(frozen=True, slots=True)
class _Premise:
    """When a claim says something: `cond`, which is that all `parts` are true, perhaps for some element of a sort."""

    cond: Expr
    parts: tuple[Expr, ...]


def _premise(cond: Expr) -> _Premise | None:
    """`where` of an `all`, `not a` of `a or b`, the test of `b if a else True`; None if nothing is assumed."""
    match cond:
        case Quant(op="all"):
            inner = _and([cond.where] if cond.where is not None else [], _premise(cond.body))
            return inner and _Premise(_exists(cond.var, cond.domain, inner.cond), inner.parts)
        case Logic(op="or", args=args) if all(map(denies, args[:-1])):
            return _and([_negated(arg) for arg in args[:-1]], _premise(args[-1]))
        case Cond(test=test, then=then, orelse=Const(value=True)):
            return _and([test], _premise(then))
        case _:
            return None


def _and(first: list[Expr], inner: _Premise | None) -> _Premise | None:
    if inner is None:
        return _Premise(_conjunction(first), tuple(first)) if first else None
    return _Premise(_conjunction([*first, inner.cond]), (*first, *inner.parts))


# --- expressions -------------------------------------------------------------------------------------


def _enumerable(params: Sequence[Param]) -> bool:
    return all(isinstance(p.type, BoolT | SortT | EnumT | IntT) for p in params)


def _somewhere(params: Sequence[Param], cond: Expr) -> Expr:
    """The condition for some choice of the parameters."""
    for param in reversed(params):
        cond = _exists(param.name, Domain(param.type, values_of(param.type), True, cond.loc), cond)
    return cond


def _exists(var: str, domain: Domain, cond: Expr) -> Expr:
    return Quant(BoolT(), "any", var, domain, None, cond, None, cond.loc)


def _conjunction(parts: Sequence[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Logic(BoolT(), "and", tuple(parts), parts[0].loc)


def _negated(cond: Expr) -> Expr:
    if isinstance(cond, Unary) and cond.op == "not":
        return cond.arg
    return Unary(BoolT(), "not", cond, cond.loc)
