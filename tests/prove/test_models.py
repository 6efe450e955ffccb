"""The shipped proofs: what their presets expect is found, and everything else that they claim is proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from proof_table import PAGE, claims_of, table

from kvproto.cli.main import main
from kvproto.engine.outcome import Options
from kvproto.lang.load import find, proofs
from kvproto.prove.prover import Wanted, answer
from kvproto.suite.entries import Entry, entries
from kvproto.suite.run import judge

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install 'kvproto[prove]'")

ALL = list(entries(proofs()))
LONG = ("proofs.ack@right", "proofs.tags@recycling", "proofs.tags@per-page-held", "proofs.tags@check-read-check-once")
"""Proofs that take more than ten seconds: their certificates are checked instead, with those of all others."""


def kept(entry: Entry) -> tuple[str, ...]:
    """Invariants that the preset is not expected to break."""
    return tuple(name for name in claims_of(find(entry.model).model) if name not in entry.expected)


PROVED = [entry for entry in ALL if kept(entry) and entry.target not in LONG]


def test_the_page_is_made_from_the_models() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_every_preset_says_what_is_found() -> None:
    expected = {f"{name}@{preset.name}" for name in proofs() for preset in find(name).model.presets}

    assert expected == {entry.target for entry in ALL}


@pytest.mark.parametrize("name", proofs())
def test_every_model_is_proved_and_refuted(name: str) -> None:
    """A model in which nothing goes wrong without its measures says nothing about them."""
    mine = [entry for entry in ALL if entry.model == name]

    assert any(not entry.expected for entry in mine)
    assert {claim for entry in mine for claim in entry.expected} == set(claims_of(find(name).model))


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.target)
def test_small_worlds(entry: Entry) -> None:
    """Every claim that breaks does, in so many steps; every other one holds, and what has to happen does."""
    found = judge(entry, Options())

    assert 0 == found.code, found.words()


@pytest.mark.parametrize("entry", PROVED, ids=lambda entry: entry.target)
def test_everything_else_is_proved(entry: Entry) -> None:
    found = answer(Wanted(find(entry.target), properties=kept(entry), exact=False))

    assert {"proved"} == set(found.verdicts.values())
    assert found.lowered is not None and not found.outside


def test_the_smallest_combinations(tmp_path: Path) -> None:
    """Both classes take deferred release, and the door or a count of tokens; a count of pages is not enough."""
    result = tmp_path / "sets.json"
    code = main(["mitigations", "proofs.incident@nothing", "--json", str(result), "--trace-dir", str(tmp_path), "-q"])
    goals = {goal["name"]: goal for goal in json.loads(result.read_text(encoding="utf-8"))["goals"]}

    assert 0 == code
    assert {("deferred_release", "door"), ("deferred_release", "token_count_check")} == {
        tuple(sorted(one)) for one in goals["(all of them)"]["sufficient"]
    }


# ------------------------------------------------------------------------------------------------------------ counting


def valid(claim: object) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def test_counts_are_sets() -> None:
    """Beginnings of one prompt: as many tokens means the same tokens, which is how `proofs.incident` compares."""
    a, b, k = z3.Ints("a b k")
    same = z3.ForAll([k], (k < a) == (k < b))

    assert valid((a == b) == same)


@pytest.mark.parametrize("size", [1, 2, 16, 64])
def test_counts_of_pages_are_weaker(size: int) -> None:
    """As many tokens means as many pages; as many pages means as many tokens only where a page is one token."""
    a, b, pages, other = z3.Ints("a b pages other")

    def fills(tokens: object, count: object) -> object:
        return z3.And((count - 1) * size < tokens, tokens <= count * size)

    both = z3.And(a >= 1, b >= 1, fills(a, pages), fills(b, other))
    assert valid(z3.Implies(z3.And(both, a == b), pages == other))
    assert valid(z3.Implies(z3.And(both, pages == other), a == b)) == (size == 1)
