"""The page about certificates says what they are."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import invariants
import pytest
import theories

from kvproto.prove.certificates.certificate import certificate
from kvproto.prove.certificates.recheck_file import place, recheck

pytest.importorskip("z3")

PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"
TEXT = PAGE.read_text(encoding="utf-8")


def first_cells(section: str) -> set[str]:
    """Names in the first column of the tables of a section."""
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_examples_do_what_they_show() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_the_first_example_is_the_shipped_one() -> None:
    found = recheck(place("proofs.late@deferred")).checked

    assert found is not None
    assert f"proves {', '.join(found.claims)}  {found.conditions} conditions, {found.steps} steps" in TEXT


def test_every_field_is_told() -> None:
    data = certificate(theories.late(), invariants.late())
    section = TEXT.split("## What is in it")[1].split("\n## ")[0]

    assert first_cells(section) == {*data, *data["conditions"][0]} - {"schema", "name"}


def test_every_kind_of_step_is_told() -> None:
    section = TEXT.split("## How a refutation is followed")[1].split("\n## ")[0]
    kinds = {re.sub(r'\["(\w+)".*', r"\1", cell) for cell in first_cells(section)}

    assert kinds == {"open", "instance", "element", "congruent", "transitive", "equal", "contradiction"}


def test_files_that_are_named_exist() -> None:
    root = PAGE.parents[1]
    paths = re.findall(r"kvproto/prove/[\w/]+\.py", TEXT)
    there = {path.name for path in (root / "kvproto" / "prove").rglob("*.py")}

    assert paths and all((root / name).exists() for name in paths), paths
    assert set(re.findall(r"`(\w+\.py)`", TEXT)) <= there
