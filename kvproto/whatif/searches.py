"""Whether the claim holds in the whole scope under a measure, or only this schedule is stopped: a search for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.digest import digest
from kvproto.ir.nodes import System
from kvproto.passes import run as run_passes
from kvproto.trace.analysis import Guard
from kvproto.whatif.settings import Setting
from kvproto.whatif.subject import Subject

STATES = 300_000
"""States of one search at most: a bound on work, and the same on every machine."""


def searches(subject: Subject, tried: Sequence[tuple[Guard, Setting]], states: int) -> list[Guard]:
    """The guards with the verdicts of searches of up to so many states.

    Of presets all that the claim holds under are kept, and those before the first of them; the environment is nobody's
    measure.
    """
    known: dict[str, Guard] = {}
    done, settled, others = list[Guard](), False, _Others(subject, states)
    for guard, setting in tried:
        if guard.kind == "environment":
            done.append(guard)
            continue
        system = subject.variants.system(setting.chosen(subject.chosen))
        code = digest(run_passes(system))
        if code not in known:
            known[code] = _searched(guard, system, subject.trace.property, states)
            known[code] = replace(known[code], breaks=others.broken(system) if known[code].verdict == "holds" else ())
        found = known[code]
        if guard.kind == "switch" or not settled or found.verdict == "holds":
            done.append(replace(guard, verdict=found.verdict, other=found.other, breaks=found.breaks))
        settled = settled or (guard.kind == "preset" and found.verdict == "holds")
    return done


def _searched(guard: Guard, system: System, claim: str, states: int) -> Guard:
    try:
        finding = search(system, Options(properties=(claim,), max_states=states)).finding(claim)
    except KvError:  # under this measure the model itself goes wrong somewhere
        return replace(guard, verdict="inconclusive")
    found = finding.counterexample
    return replace(guard, verdict=finding.verdict, other=0 if found is None else len(found.steps))


class _Others:
    """The claims that a trace is not about: a measure that breaks one of them is no cure."""

    def __init__(self, subject: Subject, states: int) -> None:
        self.subject = subject
        self.states = states

    def broken(self, system: System) -> tuple[str, ...]:
        """Claims that a measure breaks and that hold without it."""
        there = {claim.name for claim in system.claims}
        verdicts = _verdicts(system, tuple(name for name in self._held if name in there), self.states)
        return tuple(name for name, verdict in verdicts.items() if verdict == "violated")

    @cached_property
    def _held(self) -> tuple[str, ...]:
        """Claims that hold in the system of the trace, the one that the trace is about left out."""
        system, own = self.subject.system, self.subject.trace.property
        names = tuple(claim.name for claim in system.claims if claim.kind != "sometimes" and claim.name != own)
        return tuple(name for name, verdict in _verdicts(system, names, self.states).items() if verdict == "holds")


def _verdicts(system: System, names: tuple[str, ...], states: int) -> dict[str, str]:
    """Verdicts of a search of up to so many states; none if the model itself goes wrong somewhere."""
    if not names:
        return {}
    try:
        result = search(system, Options(properties=names, max_states=states))
    except KvError:
        return {}
    return {finding.claim.name: finding.verdict for finding in result.findings if finding.claim.name in names}
