"""The whole answer: for every property, and for all of them together, what suffices and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kvproto.engine.outcome import Counterexample
from kvproto.engine.search import search, select
from kvproto.ir.nodes import Claim, System
from kvproto.mitigations.boundary import Boundary, exact, walk
from kvproto.mitigations.judge import Goal, Judge, Work
from kvproto.mitigations.lattice import bits
from kvproto.mitigations.rerun import Stage
from kvproto.mitigations.switches import Question

EXACT_UP_TO = 6
"""With so many switches all sets are decided unasked: it costs no more than to walk along the boundary."""

TOGETHER = "(all of them)"
"""Name of the goal that every selected property holds."""


@dataclass(frozen=True, slots=True)
class GoalAnswer:
    """The boundary for one goal; `names` are its properties.

    `vacuous` are sufficient sets with which a property holds emptily, and what is never true then.
    """

    name: str
    claim: str
    names: tuple[str, ...]
    boundary: Boundary
    vacuous: dict[int, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """`suffices` (some set does, and all is known), `none suffices`, or `inconclusive`."""
        if self.boundary.open or self.vacuous:
            return "inconclusive"
        return "suffices" if self.boundary.sufficient else "none suffices"

    @property
    def refuted(self) -> bool:
        """Whether some switch does harm: then more is not always better."""
        return bool(self.boundary.hurts)


@dataclass(frozen=True, slots=True)
class Answer:
    """Goals with their boundaries, verdicts by property on single switches or on the sets asked for, counterexamples.

    `base` is the system with all switches off; `never_fired` are actions that no search has seen happen.
    """

    question: Question
    base: System
    goals: tuple[GoalAnswer, ...]
    sets: dict[int, dict[str, bool | None]]
    runs: dict[tuple[int, str], Counterexample]
    systems: dict[int, System]
    work: Work
    never_fired: tuple[str, ...]


def answer(question: Question, judge: Judge, *, all_sets: bool | None = None) -> Answer:
    """Walk the lattice for every property and for all together, then search every set that is reported."""
    system = question.system(0)
    claims = select(system, judge.names)
    goals: list[tuple[str, str, tuple[str, ...]]] = [(claim.name, claim.text, (claim.name,)) for claim in claims]
    if len(claims) > 1:
        goals.append((TOGETHER, "every property above holds", judge.names))
    find = exact if _exactly(question, all_sets) else walk
    singles = [0, *bits(question.everything)]
    judge.ahead(singles, judge.names)
    _verdicts(judge, singles)
    found = [(name, text, names, find(question.everything, Goal(judge, names, singles))) for name, text, names in goals]
    given = [_judged(judge, name, text, names, boundary) for name, text, names, boundary in found]
    finder = _Runs(question, judge)
    for goal in given:
        spoilt = [chosen | bit for chosen, bit in goal.boundary.hurts]
        for chosen in (*goal.boundary.insufficient, *spoilt):
            finder.want(chosen, goal.names)
    idle = judge.never_fired()
    never = tuple(action.name for action in system.actions if action.name in idle)
    return _ended(question, judge, tuple(given), singles, finder, never)


def asked(question: Question, judge: Judge, sets: Sequence[int]) -> Answer:
    """The verdicts on these sets alone."""
    judge.ahead(sets, judge.names)
    finder = _Runs(question, judge)
    for chosen in sets:
        finder.want(chosen, judge.names)
    return _ended(question, judge, (), sets, finder, ())


def _ended(
    question: Question,
    judge: Judge,
    goals: tuple[GoalAnswer, ...],
    sets: Sequence[int],
    finder: _Runs,
    never: tuple[str, ...],
) -> Answer:
    verdicts = _verdicts(judge, sets)
    return Answer(question, question.system(0), goals, verdicts, finder.found, finder.systems, judge.work, never)


def _verdicts(judge: Judge, sets: Sequence[int]) -> dict[int, dict[str, bool | None]]:
    return {chosen: {name: judge.verdict(chosen, (name,)) for name in judge.names} for chosen in sets}


def _exactly(question: Question, all_sets: bool | None) -> bool:
    return len(question.switches) <= EXACT_UP_TO if all_sets is None else all_sets


def _judged(judge: Judge, name: str, text: str, names: tuple[str, ...], boundary: Boundary) -> GoalAnswer:
    """The goal with its sufficient sets confirmed by searches of their own, which also show what holds emptily."""
    vacuous: dict[int, str] = {}
    for chosen in boundary.sufficient:
        judge.confirm(chosen, names)
        empty = judge.vacuous.get(judge.keys[chosen], {})
        said = [empty[one] for one in names if one in empty]
        if said:
            vacuous[chosen] = said[0]
    return GoalAnswer(name, text, names, boundary, vacuous)


class _Runs:
    """Shortest counterexamples under the reported sets, one search a set."""

    def __init__(self, question: Question, judge: Judge) -> None:
        self.question = question
        self.judge = judge
        self.found: dict[tuple[int, str], Counterexample] = {}
        self.systems: dict[int, System] = {}

    def want(self, chosen: int, names: Sequence[str]) -> None:
        """Find a run for each of these properties that is violated with these switches."""
        broken = [n for n in names if self.judge.verdict(chosen, (n,)) is False and (chosen, n) not in self.found]
        if not broken:
            return
        system = self.systems.setdefault(chosen, self.question.system(chosen))
        result = search(system, replace(self.judge.options, properties=tuple(broken)))
        for finding in result.findings:
            run = finding.counterexample or self._known(system, finding.claim)
            if run is not None:
                self.found[chosen, finding.claim.name] = run

    def _known(self, system: System, claim: Claim) -> Counterexample | None:
        """A run that was found elsewhere, where a budget ends the search before it finds one."""
        stage = Stage(system)
        tries = (stage.again(claim, run) for run in self.judge.runs[claim.name])
        return next((run for run in tries if run is not None), None)
