"""The presets of the releases follow from the recorded facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cites_wheels import RELEASES
from kvproto.shipped.models.sglang.facts import FACTS

from kvproto.lang.bind import choose
from kvproto.lang.cites import releases, version
from kvproto.lang.load import find as find_model

if TYPE_CHECKING:
    from kvproto.shipped.models.sglang.facts.shapes import Fact


@pytest.mark.parametrize("fact", [fact for fact in FACTS if fact.switch], ids=lambda fact: fact.id)
def test_presets_follow_from_facts(fact: Fact) -> None:
    """A switch of the preset of a release is on if the fact that decides it says so."""
    model = find_model("sglang").model
    checked = [preset.name for preset in model.presets if preset.name in RELEASES]

    assert checked
    for release in checked:
        is_on = fact.on is not None and releases(fact.on).cover(version(release))
        assert is_on == choose(model, preset=release).binding.values[fact.switch], f"{fact.switch} of {release}"


def test_every_change_between_presets_is_a_fact() -> None:
    """A switch that differs between releases is decided by a fact."""
    model = find_model("sglang").model
    values = [choose(model, preset=p.name).binding.values for p in model.presets if p.name in RELEASES]
    changing = {name for name in values[0] if len({str(chosen[name]) for chosen in values}) > 1}

    assert changing
    assert changing <= {fact.switch for fact in FACTS}
