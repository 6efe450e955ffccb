"""A reduction that is wrong in one place is caught: by a program made for it, and by random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy

import pytest
from por_cases import CASES, in_full, reduced, verdicts
from por_programs import concurrent_program

from kvproto.engine.ledger import Ledger
from kvproto.engine.por.relations import NOBODY, Relations, relate
from kvproto.engine.program import Program

RANDOM = 600
"""So many random programs are enough to catch everything here."""

Breaking = Callable[[Relations], Iterable[Relations]]


def blind(tables: Relations) -> Iterator[Relations]:
    """Claims and probes are not looked after: actions that matter to them may be put in one order."""
    broken = copy(tables)
    facts = {node for node, group in enumerate(tables.group) if group != NOBODY}
    broken.dependent = [tuple(node for node in row if node not in facts) for row in tables.dependent]
    yield broken


def not_enabled(tables: Relations) -> Iterator[Relations]:
    """What is not enabled now is left out, and whatever could enable it."""
    broken = copy(tables)
    broken.enablers = [() for _ in tables.enablers]
    broken.final = [() for _ in tables.final]
    broken.fallback = [row if owner != NOBODY else () for row, owner in zip(tables.fallback, tables.owner, strict=True)]
    yield broken


def independent_pairs(tables: Relations) -> Iterator[Relations]:
    """One pair of actions counts as independent, for each pair that is not."""
    owners = [node if owner == NOBODY else owner for node, owner in enumerate(tables.owner)]
    met = {(a, owners[node]) for a, row in enumerate(tables.dependent) for node in row}
    for a, b in sorted(pair for pair in met if pair[0] < pair[1] < tables.actions):
        broken = copy(tables)
        broken.dependent = list(tables.dependent)
        for one, other in ((a, b), (b, a)):
            broken.dependent[one] = tuple(node for node in tables.dependent[one] if owners[node] != other)
        yield broken


def caught(program: Program, initial: list[int], breaking: Breaking) -> bool:
    """Whether a broken reduction of the program changes a verdict."""
    full = in_full(program, initial, 500)
    if full is None:
        return False
    right = verdicts(full, program)
    return any(verdicts(reduced(program, initial, broken), program) != right for broken in breaking(relate(program)))


@pytest.mark.parametrize(
    ("breaking", "name"),
    [(blind, "meeting"), (not_enabled, "watcher"), (independent_pairs, "failing"), (independent_pairs, "last writer")],
)
def test_made_for_it(breaking: Breaking, name: str) -> None:
    """Hand-made programs."""
    assert caught(CASES[name], [0], breaking)


@pytest.mark.parametrize("breaking", [blind, not_enabled, independent_pairs])
def test_found_at_random(breaking: Breaking) -> None:
    """Random programs."""
    assert any(caught(*concurrent_program(seed), breaking) for seed in range(RANDOM))


def test_without_the_proviso(monkeypatch: pytest.MonkeyPatch) -> None:
    """If what is put off is never made up for, a ring hides the rest of the program."""
    program = CASES["put off"]
    assert [True] == verdicts(reduced(program), program)["violated"]

    monkeypatch.setattr(Ledger, "_leads_on", lambda *_: True)
    assert [False] == verdicts(reduced(program), program)["violated"]
    assert any(caught(*concurrent_program(seed), lambda tables: [tables]) for seed in range(RANDOM))
