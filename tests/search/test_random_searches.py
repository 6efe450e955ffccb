"""Random models through the driver: every tier, alone and in threads, stopped and resumed, says the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st
from random_models import models
from searching import imported, system_of
from small_models import figures, has_c

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search
from kvproto.ir.nodes import System

LIMIT = 2000
"""Models with more states are left to others: the reference checker is slow."""

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def said(system: System, **options: object) -> object:
    """The figures of a search, or the error of the model that it met."""
    try:
        result = search(system, Options(**options))  # type: ignore[arg-type]
    except KvError as error:
        return error.diagnostic.render()
    return figures(result)


def size(system: System) -> int:
    """Number of states, 0 where a search is refused or longer than the slow checkers bear."""
    try:
        result = search(system, Options(max_states=LIMIT, symmetry=False, keep_going=True))
    except KvError as refused:
        event(f"refused: {refused.diagnostic.code}")
        return 0 if refused.diagnostic.code.startswith("KV1") else 1
    return 0 if result.stopped == "state limit" else result.states


def tiers_and_threads_agree(folder: Path, text: str, more: dict[str, object]) -> None:
    with imported(text, folder) as module:
        try:
            system = system_of(module)
        except KvError:
            reject()
        if not size(system):
            reject()
        oracle = said(system, engine="reference", **more)
        event("error of the model" if isinstance(oracle, str) else "judged")
        assert oracle == said(system, tier="python", **more)
        if has_c():
            for workers in (1, 2, 3):
                assert oracle == said(system, tier="bytecode", workers=workers, share_from=1, **more)


def resumed_searches_agree(folder: Path, text: str, stops: list[int], more: dict[str, object]) -> None:
    """Stopped at some part of the way, once or more often, and gone on with, each time from the journal."""
    with imported(text, folder) as module, tempfile.TemporaryDirectory() as place:
        try:
            system = system_of(module)
        except KvError:
            reject()
        states = size(system)
        if not has_c() or states < 4:
            reject()
        path = Path(place) / "journal"
        begun: dict[str, object] = {"checkpoint": path}
        for percent in sorted(stops):
            said(system, max_states=max(1, states * percent // 100), **begun, **more)
            begun = {"resume": path} if path.exists() else {"checkpoint": path}
        event(f"resumed: {path.exists()}")
        assert said(system, **{**more, "workers": 1}) == said(system, **begun, **more)


choices = st.fixed_dictionaries(
    {"symmetry": st.sampled_from([None, False]), "keep_going": st.booleans(), "coverage": st.booleans()}
)
means = st.fixed_dictionaries(
    {"workers": st.integers(1, 3), "share_from": st.just(1), "coverage": st.booleans(), "por": st.booleans()}
)
percents = st.lists(st.integers(1, 99), min_size=1, max_size=3)
Factory = pytest.TempPathFactory


@settings(relaxed, max_examples=30)
@given(models(), choices)
def test_tiers_and_threads_agree(tmp_path_factory: Factory, text: str, more: dict[str, object]) -> None:
    tiers_and_threads_agree(tmp_path_factory.getbasetemp(), text, more)


@settings(relaxed, max_examples=20)
@given(models(), percents, means)
def test_resumed_searches_agree(
    tmp_path_factory: Factory, text: str, stops: list[int], more: dict[str, object]
) -> None:
    resumed_searches_agree(tmp_path_factory.getbasetemp(), text, stops, {"keep_going": True, **more})


@settings(relaxed, max_examples=5)
@given(models())
def test_printed_c_agrees(tmp_path_factory: Factory, text: str) -> None:
    with imported(text, tmp_path_factory.getbasetemp()) as module:
        try:
            system = system_of(module)
        except KvError:
            reject()
        if not has_c() or not size(system):
            reject()
        assert said(system) == said(system, tier="compiled") == said(system, tier="compiled", workers=2, share_from=1)


@pytest.mark.slow
@settings(relaxed, max_examples=250)
@given(models(), choices)
def test_tiers_and_threads_agree_on_many(tmp_path_factory: Factory, text: str, more: dict[str, object]) -> None:
    tiers_and_threads_agree(tmp_path_factory.getbasetemp(), text, more)


@pytest.mark.slow
@settings(relaxed, max_examples=100)
@given(models(), percents, means)
def test_resumed_searches_agree_on_many(
    tmp_path_factory: Factory, text: str, stops: list[int], more: dict[str, object]
) -> None:
    resumed_searches_agree(tmp_path_factory.getbasetemp(), text, stops, {"keep_going": True, **more})
