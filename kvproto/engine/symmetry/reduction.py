"""Deciding on a reduction: what a search of some claims may leave out, and why not more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from kvproto.engine.layout import plan as lay_out
from kvproto.engine.symmetry.plan import Plan, plan
from kvproto.engine.symmetry.starts import closed
from kvproto.ir.nodes import Claim, System
from kvproto.ir.types import SortT
from kvproto.passes.symmetry import Asymmetry, strict, symmetries


@dataclass(frozen=True, slots=True)
class Reduction:
    """The sorts whose elements a search need not tell apart, and why the others are not among them.

    `system` is what has to be lowered, with claims taken from it by name; `tables` are None where nothing is reduced.
    """

    sorts: tuple[SortT, ...]
    asymmetries: tuple[Asymmetry, ...]
    system: System
    tables: Plan | None


def reduction(system: System, claims: tuple[Claim, ...], initial: Callable[[], Collection[int]]) -> Reduction:
    """The reduction of a folded system for a search of these claims.

    `initial` gives all packed initial states; it is asked only if some sort is symmetric so far.
    """
    selected = tuple(system.claim(claim.name) for claim in claims)
    sorts, asymmetries = symmetries(system, selected)
    if sorts:
        layout = lay_out(system.state)
        sorts, more = closed(system, layout, sorts, initial())
        asymmetries += more
        tables = plan(system.state, layout, sorts)
        sorts = tuple(group.sort for group in tables.groups)
        if sorts:
            return Reduction(sorts, asymmetries, strict(system, sorts), tables)
    return Reduction((), asymmetries, system, None)
