"""Proved models with one part of a guard left out: refuted by a run, or proved all the same.

`python tests/prove/mutant_proofs.py TARGET...` tries all parts of some presets and prints what became of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from unittest.mock import patch

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.lang.model import Model
from kvproto.passes import run as run_passes
from kvproto.prove import prover
from kvproto.prove.lowering import fragment
from kvproto.prove.prover import Wanted, answer
from kvproto.prove.worlds import instances
from kvproto.suite.mutants import Mutant, mutants, same


@dataclass(frozen=True)
class Part:
    """The part of a guard that is left out: the mutant of that number, and how it reads."""

    target: str
    number: int
    guard: str

    def __str__(self) -> str:
        """Names a test."""
        return f"{self.target}: {self.guard}"


@dataclass(frozen=True)
class Fate:
    """What became of a model without the part; `by` are the claims that a run breaks."""

    kind: Literal["refuted", "proved", "undecided"]
    by: tuple[str, ...] = ()


def parts(target: str) -> Iterator[Part]:
    """Parts of guards of the preset that are not switched off."""
    system, every = _mutants(target)
    off = {action.name for action in run_passes(system).actions if action.switched_off}
    for number, mutant in enumerate(every):
        if mutant.action not in off and not same(mutant, system):
            yield Part(target, number, f"{mutant.action}: {mutant.part}")


def _mutants(target: str, more: int = 0) -> tuple[System, list[Mutant]]:
    """The system in its smallest world, or in one with `more` elements of each sort, and its mutants."""
    found = find(target)
    chosen = choose(found.model, preset=found.preset)
    sizes = {name: str(size + more) for name, size in chosen.binding.sizes.items()}
    system = build(found.model, choose(found.model, preset=found.preset, sets=sizes))
    return system, list(mutants(system))


def fate(part: Part) -> Fate:
    """A run of the smallest world is enough; else the way of `kvproto prove` is gone, or a larger world is searched."""
    by = _broken(part)
    if by:
        return Fate("refuted", by)
    with _without(part.number):
        found = answer(Wanted(find(part.target), exact=False))
    if found.violated:
        return Fate("refuted", found.violated)
    if found.exit_code == 0:
        return Fate("proved")
    by = _broken(part, more=1)
    return Fate("refuted" if by else "undecided", by)


def _broken(part: Part, more: int = 0) -> tuple[str, ...]:
    """Claims that a run breaks, or the code of an error that it makes: time goes on beyond the horizon."""
    try:
        result = search(_mutants(part.target, more)[1][part.number].system, Options(max_states=100_000))
    except KvError as problem:
        return (problem.diagnostic.code,)
    return tuple(each.claim.name for each in result.findings if each.counterexample)


@contextmanager
def _without(number: int) -> Iterator[None]:
    """Every system that is built has that part left out, whatever its sizes."""

    def mutated(model: Model, chosen: Chosen, **rest: Any) -> System:
        return list(mutants(build(model, chosen, **rest)))[number].system

    with (
        patch.object(fragment, "build", mutated),
        patch.object(instances, "build", mutated),
        patch.object(prover, "build", mutated),
    ):
        yield


if __name__ == "__main__":
    for one in (part for target in sys.argv[1:] for part in parts(target)):
        became = fate(one)
        print(f"{became.kind:<10} {one}  {', '.join(became.by)}", flush=True)
