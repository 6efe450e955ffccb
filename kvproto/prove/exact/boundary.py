"""The exact boundary: for which parameters a claim can be broken by given schedules, amounts such as ticks left open.

A proof says from where on a claim holds.  That nothing weaker would do is shown here: for all other parameters one of
the schedules is a run that breaks the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from kvproto.prove.certificates.ground import Base
from kvproto.prove.certificates.refutation_farkas import weights
from kvproto.prove.exact.inequalities import System, cases, eliminated, formula_of, implied, reduced, text_of
from kvproto.prove.exact.run import Schedule, path_condition
from kvproto.prove.exact.world import NotExact
from kvproto.prove.logic.conditions import Condition
from kvproto.prove.logic.formula import INT, And, Apply, Atom, Formula, conj, neg, walk
from kvproto.prove.logic.theory import Clause, Theory
from kvproto.prove.solver import Solver

OMITTED = 4
"""So many steps with amounts are left out, too: an amount may have to be more than nothing."""

Case = tuple[System, Schedule]
"""Parameters, and a schedule that breaks the claim for them."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Parameters for which a schedule breaks the claim: `formula` over rigid symbols, `text` as it reads.

    `cases` are the schedules that are needed, each with the parameters that it accounts for.
    """

    claim: str
    formula: Formula
    text: str
    cases: tuple[tuple[str, Schedule], ...]


def boundary(theory: Theory, schedules: Iterable[Schedule], *, claim: str = "", beyond: Sequence[str] = ()) -> Boundary:
    """For which parameters one of the schedules, or one of them without some of its waiting, breaks the claim.

    Amounts, integers that initial states leave open, and parameters named in `beyond` (a horizon is the time when we
    stop looking) may have any value.  Raises `NotExact`.
    """
    wanted = next((each for each in theory.claims if not claim or each.name == claim), None)
    if wanted is None:
        raise NotExact(f"there is no claim {claim}")
    known = _known(theory)
    found: dict[System, Schedule] = {}
    for schedule in schedules:
        for variant in variants(theory, schedule):
            for system in cases(path_condition(theory, variant, wanted.formula)):
                left = eliminated(system, lambda base: is_open(base, beyond))
                if left is not None and not weights(left):
                    found.setdefault(reduced(left, known), variant)
    kept = _widened(theory, _needed(list(found.items()), known))
    systems = [system for system, _ in kept]
    return Boundary(
        wanted.name, formula_of(systems), text_of(systems), tuple((text_of([s]), schedule) for s, schedule in kept)
    )


def exact(proved: Theory, general: Theory, found: Boundary) -> bool:
    """Whether the boundary takes in all parameters that the proof assumes away.

    `general` is the same model without the assumption; the boundary has been computed in it.
    """
    return covers(general, neg(assumed(proved)), found)


def covers(theory: Theory, region: Formula, found: Boundary) -> bool:
    """Whether the boundary takes in all parameters of the theory in the region."""
    hypotheses = (Clause("parameters", assumed(theory)), Clause("region", region))
    return Solver(theory).valid(Condition("covers", "claim", hypotheses, found.formula, found.claim))


def assumed(theory: Theory) -> Formula:
    """What axioms and initial states demand of parameters alone."""
    init = theory.init.parts if isinstance(theory.init, And) else (theory.init,)
    parts = [*(axiom.formula for axiom in theory.axioms), *init]
    return conj(part for part in parts if _about_parameters(part, theory))


def assumption_text(proved: Theory, general: Theory) -> str:
    """What the proof assumes beyond the general model, as it reads."""
    known = _known(general)
    return text_of([reduced(system, known) for system in cases(assumed(proved))])


def variants(theory: Theory, schedule: Schedule) -> Iterator[Schedule]:
    """The schedule, and it without some of the steps that choose an amount and nothing else."""
    waiting = {
        step.name for step in theory.transitions if step.params and all(param.sort == INT for param in step.params)
    }
    places = [at for at, move in enumerate(schedule.moves) if move.action in waiting][:OMITTED]
    for number in range(len(places) + 1):
        for gone in combinations(places, number):
            yield replace(schedule, moves=tuple(m for at, m in enumerate(schedule.moves) if at not in gone))


def is_open(base: Base, beyond: Sequence[str]) -> bool:
    """Whether it is no parameter: an amount, what initial states leave open, or one that is to be passed over."""
    return not isinstance(base, Apply) or base.symbol.name in beyond


def _known(theory: Theory) -> System:
    """Inequalities of parameters that hold anyway."""
    systems = cases(assumed(theory))
    return systems[0] if len(systems) == 1 else ()


def _about_parameters(formula: Formula, theory: Theory) -> bool:
    nodes = list(walk(formula))
    if any(isinstance(node, Atom) for node in nodes):
        return False
    symbols = [node.symbol for node in nodes if isinstance(node, Apply)]
    return bool(symbols) and all(symbol in theory.rigid and not symbol.args for symbol in symbols)


def _needed(found: Sequence[Case], known: System) -> list[Case]:
    """Without cases that another one takes in."""
    kept: list[Case] = []
    for system, schedule in found:
        if any(_within(system, other, known) for other, _ in kept):
            continue
        kept = [(other, s) for other, s in kept if not _within(other, system, known)]
        kept.append((system, schedule))
    return kept


def _within(system: System, other: System, known: System) -> bool:
    return all(implied(inequality, (*system, *known)) for inequality in other)


def _widened(theory: Theory, found: Sequence[Case]) -> list[Case]:
    """Each case without inequalities that do not matter, because other cases take in what is on their other side."""
    union = formula_of(system for system, _ in found)
    solver, axioms, kept = Solver(theory), assumed(theory), []
    for system, schedule in found:
        for inequality in system:
            wider = tuple(other for other in system if other != inequality)
            hypotheses = (Clause("parameters", axioms), Clause("case", formula_of([wider])))
            if solver.valid(Condition("wider", "claim", hypotheses, union, "")):
                system = wider
        kept.append((system, schedule))
    return _needed(kept, _known(theory))
