"""What docs/model.md says about the releases, their switches and the open questions is what searches find."""

from __future__ import annotations

import re

import pytest
from sglang_mutations import MUTATED
from sglang_tables import MODEL, lengths, system, table, words

VERSIONS = table("What each preset can do wrong")
SWITCHES = table("What each change of a release mends")
QUESTIONS = table("Questions")
PRESETS = [name for name in VERSIONS[0] if name not in ("property", "")]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_version_table(preset: str) -> None:
    found = lengths(preset, "small")
    claims = [*(claim.name for claim in system(preset, "small").claims)]

    assert {words(row["property"])[0]: row[preset] for row in VERSIONS} == {
        name: str(found.get(name, "holds")) for name in claims
    }


def test_the_version_table_has_all_presets() -> None:
    assert set(PRESETS) | {"incident"} == {preset.name for preset in MODEL.presets}


@pytest.mark.parametrize("row", SWITCHES, ids=[words(row["switch"])[0] for row in SWITCHES])
def test_what_a_switch_mends(row: dict[str, str]) -> None:
    """With the switch some property holds that is violated without it, or the page says why there is none."""
    switch, scope = words(row["switch"])[0], words(row["scope"])[0]
    target, *sets = words(row["compared in"])
    with_it = lengths(target, scope, (*sets, switch))
    without = lengths(target, scope, (*sets, f"{switch}=off"))

    assert sorted(without.keys() - with_it.keys()) == sorted(words(row["mends"]))


def test_every_switch_that_a_release_turned_on_is_in_the_table() -> None:
    releases = [preset for preset in MODEL.presets if preset.name[0] == "0"]

    assert {words(row["switch"])[0] for row in SWITCHES} == {name for preset in releases for name in preset.values}


@pytest.mark.parametrize("row", QUESTIONS, ids=[f"{at} {row['setting']}" for at, row in enumerate(QUESTIONS)])
def test_an_answer(row: dict[str, str]) -> None:
    preset, scope, *sets = words(row["setting"])
    found = lengths(preset, scope, tuple(sets))
    steps = dict(re.findall(r"`(\w+)` (\d+)", row["violated"]))

    assert steps.keys() <= set(words(row["asked of"]))
    assert {name: str(found[name]) for name in words(row["asked of"]) if name in found} == steps


def test_every_property_is_violated_somewhere() -> None:
    """None is vacuous: a preset breaks it, or a setting of an answer, or a changed model."""
    by_versions = {words(row["property"])[0] for row in VERSIONS if any(row[name] != "holds" for name in PRESETS)}
    by_answers = {name for row in QUESTIONS for name in words(row["violated"])}
    by_switches = {name for row in SWITCHES for name in words(row["mends"])}
    claims = {claim.name for claim in system("0.5.23", "small").claims}

    assert claims - by_versions - by_answers - by_switches == set(MUTATED)
