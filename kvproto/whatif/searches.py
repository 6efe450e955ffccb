"""Whether the claim holds in the whole scope under a measure, or only this schedule is stopped: a search for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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

    Of presets the first ones are searched until the claim holds under one, and the rest is left out; the environment is
    nobody's measure.
    """
    known: dict[str, Guard] = {}
    done, settled = list[Guard](), False
    for guard, setting in tried:
        if guard.kind == "preset" and settled:
            continue
        if guard.kind == "environment":
            done.append(guard)
            continue
        system = subject.variants.system(setting.chosen(subject.chosen))
        code = digest(run_passes(system))
        if code not in known:
            known[code] = _searched(guard, system, subject.trace.property, states)
        done.append(replace(guard, verdict=known[code].verdict, other=known[code].other))
        settled = settled or (guard.kind == "preset" and done[-1].verdict == "holds")
    return done


def _searched(guard: Guard, system: System, claim: str, states: int) -> Guard:
    try:
        finding = search(system, Options(properties=(claim,), max_states=states)).finding(claim)
    except KvError:  # under this measure the model itself goes wrong somewhere
        return replace(guard, verdict="inconclusive")
    found = finding.counterexample
    return replace(guard, verdict=finding.verdict, other=0 if found is None else len(found.steps))
