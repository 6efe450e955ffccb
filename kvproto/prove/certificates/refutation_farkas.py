"""Weights under which inequalities add up to a false one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from kvproto.prove.certificates.ground import Base
from kvproto.prove.solver import z3_module


@dataclass(frozen=True, slots=True)
class Inequality:
    """The sum of `factor * base` is at most `bound`."""

    parts: tuple[tuple[Base, int], ...]
    bound: int


def weights(inequalities: Sequence[Inequality]) -> dict[int, int]:
    """Positive weights by place; empty if the inequalities have a solution in rational numbers."""
    z3 = z3_module()
    context = z3.Context()
    bases = dict.fromkeys(base for inequality in inequalities for base, _ in inequality.parts)
    unknown = {base: z3.Real(f"x{at}", context) for at, base in enumerate(bases)}
    solver = z3.SolverFor("QF_LRA", context)
    solver.set("core.minimize", True)
    for at, inequality in enumerate(inequalities):
        left = z3.Sum([z3.RealVal(0, context), *(factor * unknown[base] for base, factor in inequality.parts)])
        solver.assert_and_track(left <= inequality.bound, f"{at}")
    if solver.check() != z3.unsat:
        return {}
    return _weighted(inequalities, sorted(int(str(name)) for name in solver.unsat_core()))


def _weighted(inequalities: Sequence[Inequality], core: Sequence[int]) -> dict[int, int]:
    """Weights for inequalities that have no solution together."""
    z3 = z3_module()
    context = z3.Context()
    weight = {at: z3.Real(f"w{at}", context) for at in core}
    solver = z3.SolverFor("QF_LRA", context)
    solver.add(*(w >= 0 for w in weight.values()))
    for base in dict.fromkeys(base for at in core for base, _ in inequalities[at].parts):
        solver.add(z3.Sum([w * dict(inequalities[at].parts).get(base, 0) for at, w in weight.items()]) == 0)
    solver.add(z3.Sum([w * inequalities[at].bound for at, w in weight.items()]) == -1)
    assert solver.check() == z3.sat, "inequalities without a solution have weights"
    model = solver.model()
    found = {at: Fraction(str(model.eval(w, model_completion=True))) for at, w in weight.items()}
    scale = lcm(*(fraction.denominator for fraction in found.values()))
    return {at: int(fraction * scale) for at, fraction in found.items() if fraction > 0}
