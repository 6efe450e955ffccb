"""Proved models with one part of a guard left out: refuted by a run, or proved all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from kvproto.ir.nodes import System
from kvproto.lang.bind import Chosen, choose
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find
from kvproto.lang.model import Model
from kvproto.prove import certificate_witness, fragment, instances, prover
from kvproto.prove.prover import Answer, Wanted, answer
from kvproto.suite.mutants import mutants, same


@dataclass(frozen=True)
class Part:
    """The part of a guard that is left out: the mutant of that number, and how it reads."""

    target: str
    number: int
    guard: str

    def __str__(self) -> str:
        """Names a test."""
        return f"{self.target}: {self.guard}"


def parts(target: str) -> Iterator[Part]:
    """Parts of guards of the preset that are not switched off."""
    found = find(target)
    system = build(found.model, choose(found.model, preset=found.preset))
    for number, mutant in enumerate(mutants(system)):
        if not same(mutant, system):
            yield Part(target, number, f"{mutant.action}: {mutant.part}")


def without(part: Part) -> Answer:
    """What is proved and refuted of the model without the part, by the way of `kvproto prove`."""
    with _mutated(part.number):
        return answer(Wanted(find(part.target), exact=False))


@contextmanager
def _mutated(number: int) -> Iterator[None]:
    """Every system that is built has that part left out, whatever its sizes."""

    def mutated(model: Model, chosen: Chosen, **rest: Any) -> System:
        return list(mutants(build(model, chosen, **rest)))[number].system

    with (
        patch.object(fragment, "build", mutated),
        patch.object(instances, "build", mutated),
        patch.object(prover, "build", mutated),
        patch.object(certificate_witness, "build", mutated),
    ):
        yield
