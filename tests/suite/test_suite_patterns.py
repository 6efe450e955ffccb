"""Patterns: their page says what they say, every fix has a claim about progress, and each switch of a fix is needed."""

from __future__ import annotations

import pytest
from pattern_table import PAGE, tables

from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import LIVENESS
from kvproto.lang.bind import choose
from kvproto.lang.binding import Flag
from kvproto.lang.frontend.build import build
from kvproto.lang.load import find, patterns
from kvproto.suite.entries import Entry, entries

FIXED = [e for e in entries(patterns()) if not e.expected]


def test_the_page_is_made_from_the_models() -> None:
    assert tables() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", patterns())
def test_a_pattern_claims_progress_too(name: str) -> None:
    model = find(name).model
    kinds = {claim.kind for claim in build(model, choose(model)).claims}
    assert kinds & set(LIVENESS), "a fix that waits for ever would pass"
    assert model.reports


@pytest.mark.parametrize("entry", FIXED, ids=lambda e: e.target)
def test_a_fix_without_all_of_its_switches_is_none(entry: Entry) -> None:
    """A fix that is made of several is broken without any of them, but for one that another of them makes needless."""
    model = find(entry.model).model
    chosen = choose(model, preset=entry.preset)
    flags = dict(model.params.parameters()) if model.params else {}
    on = [n for n, p in flags.items() if isinstance(p, Flag) and p.kind == "mitigation" and chosen.binding.values[n]]
    off = dict.fromkeys(on, False)
    result = search(build(model, choose(model, preset=entry.preset, sets=off)), Options())
    broken = {f.claim.name for f in result.findings if f.verdict == "violated"}
    assert broken or not on, "without its mitigations the fixed preset still holds"
