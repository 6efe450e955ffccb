"""Journals: a search that was interrupted and resumed says in every figure what one says that was not."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest
from small_models import COUNT, Make, benchmark, figures, has_c, incident, release, searched, shipped, verdicts

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options, Progress, Result
from kvproto.engine.search import search
from kvproto.ir.nodes import System

pytestmark = pytest.mark.skipif(not has_c(), reason="journals are part of the C engine")

MODELS = {"benchmark": benchmark, "incident": incident, "release": release}


def begun(system: System, path: Path, states: int, **options: object) -> Result:
    """A search that was stopped after so many states."""
    result = search(system, Options(checkpoint=path, max_states=states, **options))  # type: ignore[arg-type]
    assert result.stopped == "state limit"
    assert result.checkpoint == path
    return result


def refused(system: System, path: Path, **options: object) -> str:
    with pytest.raises(KvError) as error:
        search(system, Options(resume=path, **options))  # type: ignore[arg-type]
    return error.value.diagnostic.render()


# --- the same figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", [None, False])
@pytest.mark.parametrize("states", [2, 20, 150, 300])
@pytest.mark.parametrize("name", ["benchmark", "incident"])
def test_a_resumed_search_is_the_whole_search(tmp_path: Path, name: str, states: int, symmetry: bool | None) -> None:
    system, path = MODELS[name](), tmp_path / "journal"
    begun(system, path, states, symmetry=symmetry)
    resumed = search(system, Options(resume=path, symmetry=symmetry))

    assert searched(system, symmetry=symmetry) == figures(resumed)
    assert resumed.checkpoint is None
    assert not path.exists()


@pytest.mark.parametrize(
    "more", [{"keep_going": True}, {"coverage": True}, {"properties": ("own_data",)}, {"por": True}], ids=str
)
def test_whatever_is_searched_for(tmp_path: Path, more: dict[str, object]) -> None:
    path = tmp_path / "journal"
    begun(benchmark(), path, 100, **more)

    assert searched(benchmark(), **more) == searched(benchmark(), resume=path, **more)


def test_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    begun(incident(), path, 200, fingerprints=True, accept_lossy=True)
    resumed = search(incident(), Options(resume=path, fingerprints=True, accept_lossy=True))

    assert resumed.lossy
    assert searched(incident(), fingerprints=True, accept_lossy=True) == figures(resumed)


@pytest.mark.parametrize("other", [{"tier": "compiled"}, {"workers": 2}, {"workers": 3, "seed": 7}], ids=str)
def test_with_other_means(tmp_path: Path, other: dict[str, object]) -> None:
    """Tier, threads and seed decide how a search runs, not what it finds."""
    path = tmp_path / "journal"
    begun(release(), path, 9000, tier="bytecode")
    begun(release(), path, 20000, resume=path, share_from=1, **other)

    assert searched(release()) == searched(release(), resume=path, share_from=1, **other)


def test_in_many_short_turns(tmp_path: Path) -> None:
    """Each turn stops at another limit; the journal grows by one record a turn."""
    path, turns = tmp_path / "journal", 0
    result = search(benchmark(), Options(checkpoint=path, keep_going=True, max_states=10))
    while not result.complete:
        turns += 1
        limits = {"max_states": result.states + 60} if turns % 2 else {"max_depth": result.depth + 1}
        result = search(benchmark(), Options(resume=path, keep_going=True, **limits))  # type: ignore[arg-type]

    assert turns > 8
    assert searched(benchmark(), keep_going=True) == figures(result)


@pytest.mark.parametrize("limit", [{"max_states": 700}, {"max_depth": 9}, {"max_states": 601, "workers": 2}], ids=str)
def test_a_limit_is_met_where_it_would_have_been(tmp_path: Path, limit: dict[str, object]) -> None:
    path = tmp_path / "journal"
    more = {"keep_going": True, "share_from": 1}
    begun(benchmark(), path, 77, **more)
    begun(benchmark(), path, 200, resume=path, **more)

    assert searched(benchmark(), **limit, **more) == searched(benchmark(), resume=path, **limit, **more)


def test_time_limits(tmp_path: Path) -> None:
    path, limit = tmp_path / "journal", 0.05
    result = search(release(), Options(checkpoint=path, time_limit=limit))
    while not result.complete:
        assert result.stopped == "time limit"
        limit *= 1.3
        again = {"resume": path} if path.exists() else {"checkpoint": path}
        result = search(release(), Options(time_limit=limit, **again))  # type: ignore[arg-type]

    assert searched(release()) == figures(result)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("looks", [1, 5, 9])
def test_an_interrupt(tmp_path: Path, looks: int, number: int) -> None:
    path, seen = tmp_path / "journal", 0

    def press(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == looks:
            signal.raise_signal(number)

    result = search(release(), Options(checkpoint=path), press)

    assert result.interrupted
    assert result.checkpoint == path
    assert searched(release()) == searched(release(), resume=path)


def test_journals_that_nobody_asked_for_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two searches under way at once, and files that lay there before."""
    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)
    (tmp_path / "left.journal").write_bytes(b"of an earlier search")
    inner: list[Result] = []
    options = Options(fallback_checkpoint=tmp_path / "left.journal", max_states=150, checkpoint_interval=1e-9)

    def meanwhile(_: Progress) -> None:
        if not inner:
            inner.append(search(release(), options))

    outer = search(release(), options, meanwhile)
    files = {path.name: path for path in tmp_path.iterdir()}

    assert {"left.journal", "left-2.journal", "left-3.journal"} == set(files)
    assert {inner[0].checkpoint, outer.checkpoint} == {files["left-2.journal"], files["left-3.journal"]}
    assert b"of an earlier search" == files["left.journal"].read_bytes()
    for result in (inner[0], outer):
        assert searched(release()) == searched(release(), resume=result.checkpoint)
    assert [files["left.journal"]] == list(tmp_path.iterdir())


def test_a_name_that_was_claimed_is_given_up_with_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        result = search(release(), Options(fallback_checkpoint=tmp_path / "j", max_states=150))

    assert result.checkpoint is None
    assert "no space left on device" in result.checkpoint_problem
    assert [] == list(tmp_path.iterdir())


def test_a_record_after_every_step(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    every = Options(checkpoint=path, checkpoint_interval=1e-9)
    sizes: list[int] = []
    whole = search(release(), every, lambda _: sizes.append(path.stat().st_size))

    assert searched(release()) == figures(whole)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 5
    assert not path.exists()


def test_a_search_that_is_decided_leaves_no_journal(tmp_path: Path, make: Make) -> None:
    system = make(COUNT + "@invariant('x')\ndef low(s):\n    return s.n < 5\n")
    path = tmp_path / "journal"
    result = search(system, Options(checkpoint=path, checkpoint_interval=1e-9))

    assert result.stopped == "every selected property is violated"
    assert result.checkpoint is None
    assert not path.exists()


def test_states_outside_of_the_constraint(tmp_path: Path, make: Make) -> None:
    system = make(
        COUNT
        + "@action(m)\ndef hold(s, r: Req):\n    s.held[r] = not s.held[r]\n\n\ndef within(s):\n    return s.n < 7\n",
        constraint="within",
        deadlock="True",
    )
    path = tmp_path / "journal"
    for states in range(2, 24, 3):
        begun(system, path, states)
        assert searched(system) == searched(system, resume=path)


def test_witnesses_found_before_and_after(tmp_path: Path, make: Make) -> None:
    texts = [f"@sometimes('x')\ndef at{n}(s):\n    return s.n == {n}\n\n\n" for n in (2, 7, 12)]
    system = make(COUNT + "".join(texts))
    path = tmp_path / "journal"
    for states in (2, 5, 8):
        begun(system, path, states)
        result = search(system, Options(resume=path))
        assert searched(system) == figures(result)
        assert verdicts(result) == {"at2": "holds", "at7": "holds", "at12": "violated"}


# --- claims about runs ------------------------------------------------------------------------------------

AGAIN = """
@action(m, fair="weak")
def inc(s):
    s.n = (s.n + 1) % 30


@action(m)
def hold(s, r: Req):
    s.held[r] = not s.held[r]


@always_eventually("x")
def again(s):
    return s.n == 20


@eventually("y")
def held(s, r: Req):
    return s.held[r]
"""


def test_claims_about_runs(tmp_path: Path, make: Make) -> None:
    system, path = make(AGAIN), tmp_path / "journal"
    for states in (2, 50, 100):
        begun(system, path, states)
        resumed = search(system, Options(resume=path))
        assert searched(system) == figures(resumed)
        assert verdicts(resumed) == {"again": "holds", "held": "violated"}


def test_a_graph_that_found_no_room_may_find_it_later(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvproto.engine import liveness

    system, path = make(AGAIN), tmp_path / "journal"
    with monkeypatch.context() as patch:
        patch.setattr(liveness, "Budget", lambda memory, stop: liveness.graph.Budget(1, stop))
        short = search(system, Options(checkpoint=path))

    assert short.complete
    assert set(verdicts(short).values()) == {"inconclusive"}
    assert short.checkpoint == path
    assert searched(system) == searched(system, resume=path)


# --- what nobody asked for --------------------------------------------------------------------------------


def test_a_long_search_keeps_a_journal_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "journal"
    assert search(benchmark(), Options(fallback_checkpoint=path, max_states=99)).checkpoint is None
    assert not path.parent.exists()

    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)
    result = search(benchmark(), Options(fallback_checkpoint=path, max_states=99))
    assert result.checkpoint == path
    assert searched(benchmark()) == searched(benchmark(), resume=path)


def test_a_finished_search_takes_its_journal_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)
    path = tmp_path / "journal"
    result = search(benchmark(), Options(fallback_checkpoint=path, checkpoint_interval=1e-9))

    assert result.checkpoint is None
    assert not path.exists()


def test_other_tiers_keep_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.engine.search.WORTH_KEEPING_S", 0)
    for tier in ({"engine": "reference"}, {"tier": "python"}):
        options = Options(fallback_checkpoint=tmp_path / "journal", max_states=99, **tier)  # type: ignore[arg-type]
        assert search(benchmark(), options).checkpoint is None
    assert list(tmp_path.iterdir()) == []


# --- what does not fit --------------------------------------------------------------------------------------


def test_the_journal_of_another_search(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    begun(benchmark(), path, 99)
    before = path.read_bytes()
    others = [
        (incident(), {}),
        (shipped("kv_transfer@safe", Req=3, Page=3, pages_per_request=1), {}),
        (shipped("kv_transfer@vulnerable", Req=2, Page=3, pages_per_request=1), {}),
        (benchmark(), {"properties": ("own_data",)}),
        (benchmark(), {"symmetry": False}),
        (benchmark(), {"coverage": True}),
        (benchmark(), {"fingerprints": True}),
    ]

    for system, options in others:
        text = refused(system, path, **options)
        assert text.startswith(f"error KV025  checkpoint {path} cannot be used: it belongs to another search")
        assert "(of kv_transfer@vulnerable)" in text
        assert path.read_bytes() == before
    assert searched(benchmark()) == searched(benchmark(), resume=path)


def test_the_same_actions_from_another_start(tmp_path: Path, make: Make) -> None:
    """Expanded states are not expanded again, so what another start enables there would be missed."""
    text = COUNT + "@action(m)\ndef hold(s, r: Req):\n    require(s.done)\n    s.held[r] = True\n\n\n"
    text += "@invariant('x')\ndef free(s):\n    return not any(s.held[r] for r in Req)\n\n\n"
    start = "@init\ndef begin(s):\n    s.done = {}\n"
    one, other = make(text + start.format(False)), make(text + start.format(True))
    path = tmp_path / "journal"
    begun(one, path, 5)

    assert verdicts(search(other)) == {"free": "violated"}
    assert "it belongs to another search" in refused(other, path)


def test_less_memory_than_before(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    begun(release(), path, 40000)
    text = refused(release(), path, memory_limit=2_000_000)

    assert text.startswith(f"error KV006  the memory limit leaves no room for the states of {path}")
    assert path.exists()


def test_memory_that_was_short_can_be_given_later(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = search(release(), Options(checkpoint=path, memory_limit=2 << 20))

    assert first.stopped == "memory limit"
    assert searched(release()) == searched(release(), resume=path)


def test_states_on_disk_go_on_where_states_in_memory_stopped(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    begun(benchmark(), path, 99)
    begun(benchmark(), path, 300, resume=path, spill=tmp_path, memory_limit=1 << 30)

    assert searched(benchmark()) == searched(benchmark(), resume=path)
