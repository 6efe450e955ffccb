"""Decides single sets of switches, with as little search as possible.

A verdict on a set comes from one of four places, the cheapest first: the system after folding is one that was judged
already; a counterexample found elsewhere is possible there, too, step by step; the system only forbids
steps of one in which the property holds; a search.  Only complete searches, and what follows from them, say `holds`.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from time import monotonic

from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import LIVENESS, System
from kvproto.mitigations.inclusion import Outline, outline
from kvproto.mitigations.rerun import Run, Stage
from kvproto.mitigations.switches import Question, Recipe
from kvproto.passes import run as run_passes

SAFETY = frozenset({"invariant", "assert"})
"""Kinds of claims that hold in a system with fewer steps if they hold in one with more."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is asked of a set, and what is known before: properties judged by system, runs, good systems nearby.

    It is asked whether all `names` hold; a search that has to be made anyway judges the `others`, too.
    """

    names: tuple[str, ...]
    others: tuple[str, ...]
    settled: Mapping[str, frozenset[str]]
    runs: Mapping[str, tuple[Run, ...]]
    good: Sequence[tuple[Outline, frozenset[str]]]


@dataclass(slots=True)
class Examined:
    """What one set turned out to be: verdicts (None: inconclusive) with where they come from, and new runs.

    `fired` are actions that happened in a search, `idle` those that a complete search has not seen.
    """

    outline: Outline
    key: str
    verdicts: dict[str, bool | None] = field(default_factory=dict)
    ways: Counter[str] = field(default_factory=Counter)
    runs: dict[str, Run] = field(default_factory=dict)
    vacuous: dict[str, str] = field(default_factory=dict)
    fired: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    states: int = 0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search."""


def examine(question: Question, chosen: int, told: Told, options: Options) -> Examined:
    """Judge one set for the properties that `told` asks for."""
    system = question.system(chosen)
    sketch = outline(run_passes(system))
    found = Examined(sketch, sketch.key())
    known = told.settled.get(found.key, frozenset())
    left = _without_search(system, [name for name in told.names if name not in known], told, found)
    if left and False not in found.verdicts.values():
        left += _without_search(system, [name for name in told.others if name not in known], told, found)
        _by_search(system, left, options, found)
    return found


def _without_search(system: System, names: list[str], told: Told, found: Examined) -> list[str]:
    """Decide what can be decided cheaply; gives the rest."""
    left = _by_runs(system, names, told, found) if names else []
    return _by_inclusion(system, left, told, found) if left else []


def _by_runs(system: System, left: list[str], told: Told, found: Examined) -> list[str]:
    stage = Stage(system)
    for name in left:
        claim = system.claim(name)
        if any(stage.again(claim, run) is not None for run in told.runs.get(name, ())):
            found.verdicts[name] = False
            found.ways["run"] += 1
    return [name for name in left if name not in found.verdicts]


def _by_inclusion(system: System, left: list[str], told: Told, found: Examined) -> list[str]:
    safe = {name for name in left if system.claim(name).kind in SAFETY}
    for other, held in told.good:
        here = (held & safe) - found.verdicts.keys()
        if here and found.outline.restricts(other, here):
            found.verdicts |= dict.fromkeys(sorted(here), True)
            found.ways["inclusion"] += len(here)
    return [name for name in left if name not in found.verdicts]


def _by_search(system: System, left: list[str], options: Options, found: Examined) -> None:
    result = search(system, replace(options, properties=tuple(left)))
    if result.interrupted:
        raise Interrupted
    found.states = result.states
    stage = Stage(system)
    for finding in result.findings:
        name = finding.claim.name
        found.verdicts[name] = {"holds": True, "violated": False, "inconclusive": None}[finding.verdict]
        if finding.counterexample is not None:
            found.runs[name] = stage.strip(finding.counterexample)
    found.ways["search"] += len(result.findings)
    found.vacuous = {gap.owner: gap.text for gap in result.vacuous}
    found.fired = frozenset(name for name, count in result.fired.items() if count)
    found.idle = frozenset(result.never_fired)


@dataclass(slots=True)
class Work:
    """How the verdicts were come by: sets looked at, distinct systems, verdicts by way, states, seconds."""

    sets: int = 0
    systems: int = 0
    searches: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    states: int = 0
    seconds: float = 0.0


class Disagreement(AssertionError):
    """A search does not confirm an inferred verdict: a bug of kvproto."""


class Judge:
    """Verdicts on sets, remembered by the text of their systems; a context manager if it has several processes."""

    def __init__(
        self,
        question: Question,
        names: Sequence[str],
        options: Options,
        *,
        jobs: int = 1,
        max_sets: int | None = None,
        progress: Callable[[Work], None] | None = None,
    ) -> None:
        self.question = question
        self.names = tuple(names)
        self.options = options
        self.jobs = jobs
        self.max_sets = max_sets
        self.progress = progress
        self.about_runs = {claim.name for claim in question.system(0).claims if claim.kind in LIVENESS}
        self.work = Work()
        self.began = monotonic()
        self.keys: dict[int, str] = {}
        self.verdicts: dict[str, dict[str, bool | None]] = {}
        self.runs: dict[str, list[Run]] = {name: [] for name in self.names}
        self.outlines: dict[str, Outline] = {}
        self.vacuous: dict[str, dict[str, str]] = {}
        self.fired: set[str] = set()
        self.idle: set[str] = set()
        self.searched: set[tuple[str, str]] = set()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Judge:
        if self.jobs > 1:
            setup = (self.question.recipe(), self.options)
            self._pool = ProcessPoolExecutor(self.jobs, get_context("spawn"), _set_up, setup)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def verdict(self, chosen: int, names: Sequence[str]) -> bool | None:
        """Whether all these properties hold with these switches on; None if that is not known within the budget.

        One that does not settles it, whatever is not known about the others.
        """
        if not self._known(chosen, names):
            if self._spent(chosen):
                return None
            self._take(chosen, examine(self.question, chosen, self._told(chosen, names), self.options))
        return self._together(self.verdicts[self.keys[chosen]], names)

    def confirm(self, chosen: int, names: Sequence[str]) -> None:
        """Search a set whose verdicts may have been inferred; raises Disagreement where the search says otherwise."""
        code = self.keys[chosen]
        left = tuple(name for name in names if (code, name) not in self.searched)
        if not left:
            return
        nothing = Told(left, (), {}, {}, ())
        found = examine(self.question, chosen, nothing, self.options)
        for name, verdict in found.verdicts.items():
            before = self.verdicts[code].get(name)
            if None not in (verdict, before) and verdict != before:
                raise Disagreement(f"{name} with {self.question.names(chosen)}: inferred {before}, searched {verdict}")
            if verdict is None and before is not None:
                found.verdicts[name] = before
        self._take(chosen, found)
        self.searched |= {(code, name) for name in left}

    def ahead(self, sets: Iterable[int], names: Sequence[str]) -> None:
        """Decide sets that will be asked for, in several processes if there are."""
        if self._pool is None:
            return
        wanted = [chosen for chosen in sets if not self._known(chosen, names) and not self._spent(chosen)]
        for at in range(0, len(wanted), 4 * self.jobs):
            some = wanted[at : at + 4 * self.jobs]
            futures = [self._pool.submit(_work, chosen, self._told(chosen, names)) for chosen in some]
            for chosen, future in zip(some, futures, strict=True):
                self._take(chosen, future.result())

    @staticmethod
    def _together(known: Mapping[str, bool | None], names: Sequence[str]) -> bool | None:
        verdicts = [known.get(name) for name in names]
        return False if False in verdicts else None if None in verdicts else True

    def _spent(self, chosen: int) -> bool:
        """Whether the set is one more than may be looked at."""
        return self.max_sets is not None and chosen not in self.keys and len(self.keys) >= self.max_sets

    def never_fired(self) -> frozenset[str]:
        """Actions that did not happen in a complete search, although they are not switched off, nor in any other."""
        return frozenset(self.idle - self.fired)

    def _known(self, chosen: int, names: Sequence[str]) -> bool:
        """Whether asking again would bring nothing new."""
        known = self.verdicts[self.keys[chosen]] if chosen in self.keys else {}
        return self._together(known, names) is False or all(name in known for name in names)

    def _told(self, chosen: int, names: Sequence[str]) -> Told:
        """What may help with this set: for inclusions, good systems one switch away."""
        near = [chosen ^ (1 << at) for at in range(len(self.question.switches))]
        codes = dict.fromkeys(self.keys[other] for other in near if other in self.keys)
        good = [(self.outlines[code], self._held(code)) for code in codes if code in self.outlines]
        return Told(
            tuple(names),
            tuple(name for name in self.names if name not in names and self._as_cheap(name, names)),
            {code: frozenset(verdicts) for code, verdicts in self.verdicts.items()},
            {name: tuple(reversed(runs)) for name, runs in self.runs.items()},
            good,
        )

    def _as_cheap(self, name: str, names: Sequence[str]) -> bool:
        """Whether judging this property, too, costs little: claims about runs take a graph, and all states."""
        return (name in self.about_runs) == any(one in self.about_runs for one in names)

    def _held(self, code: str) -> frozenset[str]:
        return frozenset(name for name, verdict in self.verdicts[code].items() if verdict)

    def _take(self, chosen: int, found: Examined) -> None:
        new = found.key not in self.verdicts
        self.keys[chosen] = found.key
        self.verdicts.setdefault(found.key, {}).update(found.verdicts)
        for name, run in found.runs.items():
            if run not in self.runs[name]:
                self.runs[name].append(run)
        self.outlines[found.key] = found.outline
        if found.vacuous:
            self.vacuous.setdefault(found.key, {}).update(found.vacuous)
        self.fired |= found.fired
        self.idle |= found.idle
        self._count(found, new)

    def _count(self, found: Examined, new: bool) -> None:
        work = self.work
        work.sets = len(self.keys)
        work.systems += new
        work.searches += bool(found.ways["search"])
        work.ways.update(found.ways)
        work.ways["same system"] += not found.verdicts
        work.states += found.states
        work.seconds = monotonic() - self.began
        if self.progress:
            self.progress(work)


class Goal:
    """Some properties, all of which have to hold, as the walk over the lattice asks for them.

    What was decided for other goals only is no evidence here: it depends on the number of processes; answers do not.
    """

    def __init__(self, judge: Judge, names: Sequence[str], known: Iterable[int] = ()) -> None:
        self.judge = judge
        self.names = tuple(names)
        self.verdicts = {chosen: judge.verdict(chosen, names) for chosen in known}

    def decide(self, chosen: int) -> bool | None:
        """Whether all hold; None if that is not known."""
        if chosen not in self.verdicts:
            self.verdicts[chosen] = self.judge.verdict(chosen, self.names)
        return self.verdicts[chosen]

    def ahead(self, sets: Iterable[int]) -> None:
        """Decide these sets in parallel, if there are processes for it."""
        self.judge.ahead(sets, self.names)

    def decided(self) -> Mapping[int, bool]:
        """All sets decided so far."""
        return {chosen: verdict for chosen, verdict in self.verdicts.items() if verdict is not None}


_HERE: dict[str, tuple[Question, Options]] = {}
"""What a process of the pool works on."""


def _set_up(recipe: Recipe, options: Options) -> None:
    # Ctrl-C reaches all processes of a terminal; only the first one speaks of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _HERE["work"] = (Question.made(recipe), options)


def _work(chosen: int, told: Told) -> Examined:
    question, options = _HERE["work"]
    return examine(question, chosen, told, options)
