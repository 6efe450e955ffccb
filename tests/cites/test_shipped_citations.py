"""What the shipped models cite exists in every release for which they cite it."""

from __future__ import annotations

import pytest
from cites_names import missing
from cites_wheels import RELEASES, Wheel

from kvproto.cli.cited import PARAMETERS, cited, table
from kvproto.lang.cites import Cite, parse, version
from kvproto.lang.load import building_blocks, find, shipped_models

MODELS = (*shipped_models(), *building_blocks())


def test_every_action_of_the_engine_model_cites_something() -> None:
    actions = [item for item in cited(find("sglang")) if item.group != PARAMETERS]

    assert len(actions) > 10
    assert [] == [item.name for item in actions if not item.cites]


def problems(cite: Cite, wheels: dict[str, Wheel]) -> dict[str, list[str]]:
    """What is missing, with the releases in which it is."""
    covered = [release for release in RELEASES if cite.releases.cover(version(release))]
    if not covered:
        return {f"cites none of {', '.join(RELEASES)}": []}
    found: dict[str, list[str]] = {}
    for release in covered:
        if said := missing(cite, wheels[release]):
            found.setdefault(said, []).append(release)
    return found


@pytest.mark.network
def test_shipped_models_cite_what_exists(wheels: dict[str, Wheel]) -> None:
    cites = [(name, item.name, cite) for name in MODELS for item in cited(find(name)) for cite in item.cites]
    rows = [
        f"{model} {item}: {cite.text!r}\n  {', '.join(releases)}: {said}"
        for model, item, cite in cites
        for said, releases in problems(cite, wheels).items()
    ]

    assert len([cite for _, _, cite in cites if cite.kind == "code"]) > 20
    assert not rows, "\n".join(rows)


@pytest.mark.network
def test_a_citation_of_other_releases_is_a_problem(wheels: dict[str, Wheel]) -> None:
    assert list(problems(parse("0.4.1 srt/environ.py:Envs"), wheels)) == [f"cites none of {', '.join(RELEASES)}"]
    found = problems(parse("0.5.19+ srt/environ.py:SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES"), wheels)
    assert list(found.values()) == [["0.5.19"]]


def test_the_table_of_shipped_models_fits_eighty_columns() -> None:
    for target in map(find, MODELS):
        assert max(map(len, table(target, cited(target), False))) <= 80
