"""Threads: the same states under the same numbers, so the same result and the same traces, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_models import COUNT, Make, benchmark, figures, has_c, incident, release, searched

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search

pytestmark = pytest.mark.skipif(not has_c(), reason="threads are part of the C engine")

MODELS = {"benchmark": benchmark, "incident": incident, "release": release}
WORKERS = (2, 3, 7)
GRID = """
@init
def begin(s, k: Int(0, 5)):
    s.n = k


@action(m)
def up(s):
    require(s.n < 40)
    s.n += 1


@action(m)
def hold(s, r: Req):
    s.held[r] = not s.held[r]


@action(m)
def end(s, r: Req):
    assert s.n != 20 or not s.held[r]
    s.done = True


@invariant("low")
def low(s):
    return s.n < 30 or not s.done


@sometimes("high")
def high(s):
    return s.n == 33 and all(s.held[r] for r in Req)


@sometimes("never")
def never(s):
    return s.n > 36


def within(s):
    return s.n < 35
"""


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("options", [{}, {"symmetry": False}, {"keep_going": True, "coverage": True}], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_for_any_number(name: str, options: dict[str, object], workers: int) -> None:
    many = search(MODELS[name](), Options(workers=workers, share_from=1, **options))  # type: ignore[arg-type]

    assert many.workers == workers
    assert searched(MODELS[name](), **options) == figures(many)


@pytest.mark.parametrize("limits", [{"max_states": 7}, {"max_states": 5000}, {"max_depth": 5}, {"seed": 99}], ids=str)
def test_limits(limits: dict[str, object]) -> None:
    assert searched(release(), **limits) == searched(release(), workers=2, share_from=1, **limits)


@pytest.mark.parametrize("store", ["whole", "fingerprints", "spilled"])
@pytest.mark.parametrize("name", ["benchmark", "incident"])
def test_every_way_to_store_states(tmp_path: Path, name: str, store: str) -> None:
    """The states of `incident` are too wide to be kept in the table."""
    kind: dict[str, object] = {"fingerprints": True} if store == "fingerprints" else {}
    if store == "spilled":
        kind = {"spill": tmp_path, "memory_limit": 1 << 30}
    alone = searched(MODELS[name](), **kind)
    for workers in WORKERS:
        assert alone == searched(MODELS[name](), workers=workers, share_from=1, **kind)


@pytest.mark.parametrize("tier", ["bytecode", "compiled"])
@pytest.mark.parametrize("share_from", [1, 2, 50])
def test_all_that_a_search_looks_for(make: Make, tier: str, share_from: int) -> None:
    system = make(GRID, constraint="within", terminal="within")
    for more in ({}, {"symmetry": False}, {"keep_going": True, "coverage": True, "max_states": 400}):
        alone = searched(system, engine="reference", **more)
        assert alone == searched(system, tier=tier, **more)
        assert alone == searched(system, tier=tier, workers=3, share_from=share_from, **more)


@pytest.mark.parametrize("wrong", ["s.n += s.n // (s.n - 7)", "s.held[next((r for r in Req if s.n < 5), None)] = True"])
def test_errors_of_the_model(make: Make, wrong: str) -> None:
    """Threads meet many errors in one round; the first in the order of the search is reported."""
    hold = "@action(m)\ndef hold(s, r: Req):\n    s.held[r] = True\n\n\n"
    system = make(f"{COUNT}{hold}@action(m)\ndef bad(s):\n    {wrong}\n")
    said = set()
    for options in ({}, {"workers": 2}, {"workers": 3}, {"engine": "reference"}, {"tier": "python"}):
        with pytest.raises(KvError) as error:
            search(system, Options(share_from=1, symmetry=False, **options))  # type: ignore[arg-type]
        said.add(error.value.diagnostic.render())

    assert len(said) == 1


def test_claims_about_runs(make: Make) -> None:
    text = """
@action(m, fair="weak")
def up(s):
    s.n = (s.n + 1) % 41


@action(m)
def hold(s, r: Req):
    s.held[r] = not s.held[r]


@eventually("x")
def held(s, r: Req):
    return s.held[r]


@always_eventually("y")
def again(s):
    return s.n == 3
"""
    system = make(text)
    assert searched(system, engine="reference") == searched(system, workers=3, share_from=1)


def test_more_threads_than_states(make: Make) -> None:
    system = make(COUNT)
    assert searched(system) == searched(system, workers=64, share_from=1)


def test_where_there_are_no_threads() -> None:
    for options in ({"tier": "python"}, {"engine": "reference"}):
        result = search(incident(), Options(workers=4, **options))  # type: ignore[arg-type]
        assert result.workers == 1
        assert "one worker, only the C engine has more" in result.tier_note
