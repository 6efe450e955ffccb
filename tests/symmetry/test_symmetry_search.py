"""The reduction where users meet it: in `search`."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st
from kvproto.shipped.models import kv_transfer, outline
from searching import imported, system_of, tiers
from symmetric_models import write

from kvproto.diagnostics import KvError
from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.outcome import Options, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System
from kvproto.lang.bind import choose
from kvproto.lang.frontend.build import build

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)

LIMIT = 2000

Said = dict[str, tuple[str, int | None]]


def said(result: Result) -> Said:
    """Verdicts, with the lengths of counterexamples."""
    return {
        found.claim.name: (found.verdict, len(found.counterexample.steps) if found.counterexample else None)
        for found in result.findings
    }


def judged(system: System, options: Options) -> tuple[Said | str, Result | None]:
    """What a search says: verdicts, or the kind of error that it raises."""
    try:
        result = search(system, options)
    except KvError as problem:
        return problem.diagnostic.code[:3], None
    return said(result), result


@st.composite
def symmetric(draw: st.DrawFn) -> str:
    """A random model that treats most elements alike."""
    return write(lambda low, high: draw(st.integers(low, high)))


@relaxed
@given(symmetric())
def test_verdicts_stay(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """With and without, on every tier."""
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
        except KvError:
            reject()
    expected, everything = judged(system, Options(symmetry=False, max_states=LIMIT))
    if everything is not None and everything.stopped == "state limit":
        reject()
    some = None
    for tier in ("auto", "python"):
        found, some = judged(system, Options(tier=tier))  # type: ignore[arg-type]
        assert found == expected, tier
    event("error" if some is None else f"{len(some.symmetric)} sorts")
    if everything is not None and some is not None:
        assert some.states <= everything.states
        assert some.depth == everything.depth
        assert some.never_fired == everything.never_fired


ENGINES: list[Literal["compiled", "reference"]] = ["compiled", "reference"]


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree(engine: Literal["compiled", "reference"]) -> None:
    """The reference checker reduces in the same way."""
    chosen = choose(kv_transfer.model, preset="vulnerable", scope="S", sets={"Page": 3, "pages_per_request": 1})
    result = search(build(kv_transfer.model, chosen), Options(engine=engine, keep_going=True))

    assert result.symmetric == ("Req",)
    assert (result.states, result.transitions, result.depth) == (1810, 6595, 22)
    assert said(result) == {"own_data": ("violated", 11), "no_stray": ("violated", 6)}


@pytest.mark.skipif(CExplorer not in tiers(), reason="the C tier does not work here")
@pytest.mark.parametrize(
    ("scope", "count", "steps", "levels"),
    [("S", 4284, 18160, 25), ("M", 7885, 34847, 37), ("L", 15636, 75040, 46), ("XL", 64696, 342613, 41)],
)
def test_benchmark(scope: str, count: int, steps: int, levels: int) -> None:
    """The counts that Murphi and TLC find with their symmetry reductions."""
    result = search(build(kv_transfer.model, choose(kv_transfer.model, preset="safe", scope=scope)))

    assert (result.states, result.transitions, result.depth) == (count, steps, levels)
    assert result.complete and result.symmetric == ("Req",)
    assert {found.verdict for found in result.findings} == {"holds"}


@pytest.mark.skipif(CExplorer not in tiers(), reason="the C tier does not work here")
def test_outline() -> None:
    """The incident, with the same verdicts and lengths."""
    system = build(outline.model, choose(outline.model, preset="0.5.19"))
    some, everything = (search(system, Options(symmetry=use, keep_going=True)) for use in (None, False))

    assert said(some) == said(everything)
    assert some.symmetric == ("Req",)
    assert some.states < everything.states * 0.6
