"""A counterexample to induction with as few elements as possible: that is the one people are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from kvproto.prove.inference.finite import Finite
from kvproto.prove.logic.formula import free_variables
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.proof import Induction


def smallest(theory: Theory, hypotheses: Sequence[Clause], found: Induction) -> Induction:
    """The same clause broken by the same action from a state that fulfils the same hypotheses, if a smaller one is."""
    if found.action is None:
        return found
    for sizes in _smaller(found.before.sizes):
        finite = Finite(theory, sizes)
        for case in finite.cases:
            if case.action is not found.action:
                continue
            if free_variables(found.broken.formula):
                again = finite.unmet(case, hypotheses, found.broken.formula, found.broken.name)
            else:
                again = finite.broken(case, hypotheses, [found.broken])
            if again is not None:
                return again
    return found


def _smaller(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Numbers of elements up to those given, fewer in all first."""
    choices = list(product(*(range(1, size + 1) for size in sizes.values())))
    for chosen in sorted(choices, key=lambda numbers: (sum(numbers), numbers)):
        if chosen != tuple(sizes.values()):
            yield dict(zip(sizes, chosen, strict=True))
