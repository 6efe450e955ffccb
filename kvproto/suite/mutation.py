"""Fixes with one guard left out: is that always caught?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvproto.engine.outcome import Options
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.suite.entries import Entry, entries
from kvproto.suite.mutants import Fate, Kind, fates
from kvproto.suite.needless import Needless
from kvproto.suite.run import for_each


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the mutants of an entry."""

    entry: Entry
    fates: tuple[Fate, ...]

    def of(self, kind: Kind) -> list[Fate]:
        """Those of that fate."""
        return [fate for fate in self.fates if fate.kind == kind]

    def unexplained(self, known: Needless) -> list[Fate]:
        """Survivors without a reason."""
        return [fate for fate in self.of("survivor") if known.reason(self.entry.model, fate.guard) is None]


def subjects(some: Sequence[Entry]) -> list[Entry]:
    """The fixed presets: what breaks anyway says nothing about its guards."""
    return [entry for entry in some if not entry.expected]


def trial(entry: Entry, options: Options) -> Trial:
    """Leave out every guard of an entry, one after the other."""
    model = find(entry.model).model
    return Trial(entry, tuple(fates(build(model, choose(model, preset=entry.preset)), options)))


def try_all(some: Sequence[Entry], options: Options, workers: int) -> Iterator[Trial]:
    """Try all, some at a time, in the order in which they are done."""
    return for_each(trial, some, options, workers)


def outdated(trials: Sequence[Trial], known: Needless) -> list[tuple[str, str]]:
    """Reasons, by model and guard, for what does not survive, in models of which every fixed preset was tried."""
    survives = {(t.entry.model, fate.guard) for t in trials for fate in t.of("survivor")}
    tried = {t.entry.target for t in trials}
    reasons = [(model, guard) for model, some in known.reasons.items() if _whole(model, tried) for guard in some]
    return [reason for reason in reasons if reason not in survives]


def _whole(model: str, tried: set[str]) -> bool:
    return all(entry.target in tried for entry in subjects(list(entries([model]))))


def exit_code(trials: Sequence[Trial], known: Needless) -> int:
    """0: every guard that is left out is caught, or it is said why not; 1: not so; 3: a search was cut."""
    if any(t.unexplained(known) for t in trials) or outdated(trials, known):
        return 1
    return 3 if any(t.of("undecided") for t in trials) else 0
