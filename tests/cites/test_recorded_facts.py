"""What the model records of the released code is true of the wheels, and its presets follow from it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from cites_mutations import mutants
from cites_names import words
from cites_patterns import pattern
from cites_shapes import difference, find, wrong
from cites_wheels import RELEASES, Wheel
from kvproto.shipped.models.sglang.facts import FACTS
from kvproto.shipped.models.sglang.facts.shapes import Absent, Lacks

from kvproto.lang.cites import parse, releases, version

if TYPE_CHECKING:
    from kvproto.shipped.models.sglang.facts.shapes import Fact, Shape


@pytest.mark.network
@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_fact_is_true_of_the_releases(wheels: dict[str, Wheel], fact: Fact) -> None:
    differences = [said for release in RELEASES if (said := difference(fact, wheels[release]))]

    assert not differences, "\n".join([fact.says, *differences])


def recorded(fact: Fact, release: str) -> tuple[str, Shape]:
    """The citation and the shape for a release."""
    at = version(release)
    where = next(cite for cite in fact.where if parse(cite).releases.cover(at))
    return where, next(shape for span, shape in fact.expected if releases(span).cover(at))


@pytest.mark.network
@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_a_change_of_the_source_is_noticed(wheels: dict[str, Wheel], fact: Fact) -> None:
    for release in RELEASES:
        where, shape = recorded(fact, release)
        if isinstance(shape, Absent):
            continue
        (scope,) = find(parse(where), wheels[release]).values()
        changed = list(mutants(shape, scope))

        assert changed
        assert "" == wrong(shape, scope)
        assert all(wrong(shape, mutant) for mutant in changed)


@pytest.mark.network
@pytest.mark.parametrize("fact", [fact for fact in FACTS if len(fact.expected) > 1], ids=lambda fact: fact.id)
def test_a_release_that_goes_back_is_noticed(wheels: dict[str, Wheel], fact: Fact) -> None:
    """What is recorded of the last release is not true of the first one."""
    _, shape = recorded(fact, RELEASES[-1])
    found = find(parse(recorded(fact, RELEASES[0])[0]), wheels[RELEASES[0]])

    assert not isinstance(shape, Absent)
    assert not found or all(wrong(shape, scope) for scope in found.values())


def named(code: str) -> set[str]:
    """The names in a pattern."""
    found = {n.id for n in ast.walk(pattern(code)) if isinstance(n, ast.Name)}
    return (found | {n.attr for n in ast.walk(pattern(code)) if isinstance(n, ast.Attribute)}) - {"_", "len", "all"}


@pytest.mark.network
@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_what_is_not_there_could_be(wheels: dict[str, Wheel], fact: Fact) -> None:
    """A name that no release has would not be missed, nor one that has been renamed in the meantime."""
    ever = frozenset[str]().union(*map(words, wheels.values()))
    for release in RELEASES:
        _, shape = recorded(fact, release)
        names = [named(code) for code in shape.codes] if isinstance(shape, Lacks) else []

        assert all(some <= ever for some in names)
        assert not names or len(fact.expected) > 1 or any(some <= words(wheels[release]) for some in names)


def test_facts_have_names_of_their_own() -> None:
    assert len(FACTS) == len({fact.id for fact in FACTS})


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_one_place_and_one_shape_for_each_release(fact: Fact) -> None:
    for release in map(version, RELEASES):
        assert 1 == sum(parse(cite).releases.cover(release) for cite in fact.where)
        assert 1 == sum(releases(span).cover(release) for span, _ in fact.expected)
