"""Systems of linear inequalities over whole numbers: cases of a formula, unknowns taken away, and how they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

from kvproto.prove.certificates.ground import Base, collect, outward, spell
from kvproto.prove.certificates.refutation_farkas import Inequality, weights
from kvproto.prove.exact.world import NotExact
from kvproto.prove.logic.formula import And, Apply, Compare, Formula, Num, Or, Plus, Term, Times, Truth, conj, disj

System = tuple[Inequality, ...]
"""Inequalities that are true together."""

CASES = 4096
"""More are not told apart."""


def cases(formula: Formula) -> list[System]:
    """Systems one of which is true exactly if the formula is, which has no relations and no quantifiers."""
    formula = outward(formula)
    match formula:
        case Truth(value):
            return [()] if value else []
        case And(parts):
            found: list[System] = [()]
            for part in parts:
                found = [both for one in found for other in cases(part) if (both := together(one, other)) is not None]
                if len(found) > CASES:
                    raise NotExact("there are too many cases")
            return found
        case Or(parts):
            return list(dict.fromkeys(system for part in parts for system in cases(part)))
        case Compare():
            system = together((), (_inequality(formula),))
            return [] if system is None else [system]
        case _:
            raise NotExact("the condition of the schedule is not about integers alone")


def together(one: System, other: System) -> System | None:
    """Both systems, of inequalities over the same sum only the sharpest; None if one is false."""
    sharpest: dict[tuple[tuple[Base, int], ...], int] = {}
    for inequality in (*one, *other):
        tight = _tight(inequality)
        if not tight.parts and tight.bound < 0:
            return None
        if tight.parts:
            sharpest[tight.parts] = min(tight.bound, sharpest.get(tight.parts, tight.bound))
    return tuple(Inequality(parts, bound) for parts, bound in sharpest.items())


def without(system: System, unknown: Base) -> System | None:
    """What the system says about everything but one unknown: it has a whole value exactly if this holds; None: never.

    Raises `NotExact` where whole numbers need more than sums of two inequalities.
    """
    above = [i for i in system if _factor(i, unknown) > 0]
    below = [i for i in system if _factor(i, unknown) < 0]
    rest = tuple(i for i in system if not _factor(i, unknown))
    sums = []
    for upper in above:
        for lower in below:
            up, down = _factor(upper, unknown), -_factor(lower, unknown)
            if up != 1 and down != 1:
                raise NotExact(f"{spell(unknown)} is multiplied, and need not be whole")
            sums.append(_sum(upper, down, lower, up))
    return together(rest, tuple(sums))


def reduced(system: System, known: System) -> System:
    """The system without what follows from the rest of it and from what is known."""
    kept = list(system)
    for inequality in system:
        rest = [other for other in kept if other != inequality]
        if implied(inequality, (*rest, *known)):
            kept = rest
    return tuple(kept)


def implied(inequality: Inequality, system: Sequence[Inequality]) -> bool:
    """Whether the inequality follows from the system, by sums."""
    return bool(weights([*system, opposite(inequality)]))


def opposite(inequality: Inequality) -> Inequality:
    """What holds of whole numbers if the inequality does not."""
    return Inequality(tuple((base, -factor) for base, factor in inequality.parts), -inequality.bound - 1)


def formula_of(systems: Iterable[System]) -> Formula:
    """One of the systems, as a formula."""
    return disj(conj(_compare(inequality) for inequality in system) for system in systems)


def text_of(systems: Sequence[System]) -> str:
    """One of the systems, as it reads: `hold < delta + life`."""
    if not systems:
        return "never"
    parts = [" and ".join(map(inequality_text, system)) or "always" for system in systems]
    if len(parts) == 1:
        return parts[0]
    return " or ".join(f"({part})" if " and " in part else part for part in parts)


def inequality_text(inequality: Inequality) -> str:
    """An inequality without negative numbers, and without a 1 where `<` says it."""
    left = [(base, factor) for base, factor in inequality.parts if factor > 0]
    right = [(base, -factor) for base, factor in inequality.parts if factor < 0]
    bound = inequality.bound
    if bound == -1 and left and right:
        return f"{_side(left, 0)} < {_side(right, 0)}"
    if not left:
        return f"{_side(right, 0)} >= {-bound}" if bound <= 0 else f"{_side(right, bound)} >= 0"
    return f"{_side(left, max(-bound, 0))} <= {_side(right, max(bound, 0))}"


def _side(parts: Sequence[tuple[Base, int]], constant: int) -> str:
    shown = [spell_short(base) if factor == 1 else f"{factor} * {spell_short(base)}" for base, factor in parts]
    return " + ".join([*shown, *([str(constant)] if constant or not shown else [])])


def spell_short(base: Base) -> str:
    """A parameter by its name."""
    if isinstance(base, Apply) and not base.args:
        return base.symbol.spelled or base.symbol.name
    return spell(base)


def bases_of(system: System) -> list[Base]:
    """What the system is about, in the order in which it occurs."""
    return list(dict.fromkeys(base for inequality in system for base, _ in inequality.parts))


def eliminated(system: System, gone: Callable[[Base], bool]) -> System | None:
    """The system without the unknowns that are to go, those first that need the fewest sums."""
    while todo := [base for base in bases_of(system) if gone(base)]:
        smaller = without(system, min(todo, key=lambda base: (_sums(system, base), spell(base))))
        if smaller is None:
            return None
        system = smaller
    return system


def _sums(system: System, base: Base) -> int:
    above = sum(_factor(i, base) > 0 for i in system)
    return above * sum(_factor(i, base) < 0 for i in system)


def _inequality(compare: Compare) -> Inequality:
    assert compare.op == "<="
    total: dict[Base, int] = {}
    bound = -collect(compare.left, 1, total) - collect(compare.right, -1, total)
    return _sorted(total, bound)


def _sorted(total: dict[Base, int], bound: int) -> Inequality:
    parts = sorted(((base, factor) for base, factor in total.items() if factor), key=lambda part: spell(part[0]))
    return Inequality(tuple(parts), bound)


def _tight(inequality: Inequality) -> Inequality:
    """Divided by the common divisor of its factors, which for whole numbers may round the bound down."""
    divisor = gcd(*(factor for _, factor in inequality.parts)) or 1
    parts = tuple((base, factor // divisor) for base, factor in inequality.parts)
    return Inequality(parts, inequality.bound // divisor)


def _sum(one: Inequality, times: int, other: Inequality, more: int) -> Inequality:
    total: dict[Base, int] = {}
    for inequality, weight in ((one, times), (other, more)):
        for base, factor in inequality.parts:
            total[base] = total.get(base, 0) + weight * factor
    return _sorted(total, times * one.bound + more * other.bound)


def _factor(inequality: Inequality, base: Base) -> int:
    return next((factor for found, factor in inequality.parts if found == base), 0)


def _compare(inequality: Inequality) -> Formula:
    left: Term = Num(0)
    for base, factor in inequality.parts:
        part: Term = base if factor == 1 else Times(factor, base)
        left = part if left == Num(0) else Plus(left, part)
    return Compare("<=", left, Num(inequality.bound))
