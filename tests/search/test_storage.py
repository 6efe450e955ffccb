"""Fingerprints, which prove nothing by themselves, and states on disk, which change nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_models import benchmark, figures, has_c, incident, release, searched, shipped, verdicts

from kvproto.diagnostics import KvError
from kvproto.engine.outcome import Options
from kvproto.engine.search import search

pytestmark = pytest.mark.skipif(not has_c(), reason="other tiers keep whole states in memory")


# --- fingerprints -----------------------------------------------------------------------------------------


def test_fingerprints_prove_nothing() -> None:
    patched = shipped("outline@patched")
    result = search(patched, Options(fingerprints=True))

    assert result.lossy
    assert result.complete
    assert set(verdicts(result).values()) == {"inconclusive"}
    assert {f.strength for f in result.findings} == {"bounded"}
    assert {f.reason for f in result.findings} == {"states were kept as 128-bit fingerprints"}


def test_fingerprints_that_one_takes_for_a_proof() -> None:
    patched = shipped("outline@patched")
    lossy = search(patched, Options(fingerprints=True, accept_lossy=True))

    assert searched(patched) == figures(lossy)
    assert 0 < lossy.collision_probability < 1e-25
    assert replace(lossy, lossy=False).collision_probability == 0


def test_what_fingerprints_find_is_true() -> None:
    """A violation is executed once more, so it stands."""
    exact, lossy = search(release()), search(release(), Options(fingerprints=True))

    for one, other in zip(exact.findings, lossy.findings, strict=True):
        assert (one.verdict == "violated") == (other.verdict == "violated")
        assert (one.verdict == "holds") == (other.verdict == "inconclusive")
    assert figures(exact)["counterexamples"] == figures(lossy)["counterexamples"]
    assert lossy.bytes_per_state < exact.bytes_per_state


def test_states_that_are_no_larger_than_fingerprints_are_kept() -> None:
    result = search(benchmark(), Options(fingerprints=True, keep_going=True))

    assert not result.lossy
    assert "no less room" in result.tier_note
    assert searched(benchmark(), keep_going=True) == figures(result)


def test_a_model_that_cannot_be_compiled_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvproto.engine.tier2.compilers", list)
    result = search(incident(), Options(tier="compiled"))

    assert not result.compiled
    assert result.tier_note == "the model is not compiled, no C compiler"
    assert searched(incident()) == figures(result)


@pytest.mark.parametrize("options", [{"engine": "reference"}, {"tier": "python"}], ids=str)
def test_other_tiers_have_neither(tmp_path: Path, options: dict[str, object]) -> None:
    for extra in ({"fingerprints": True}, {"spill": tmp_path}, {"checkpoint": tmp_path / "x"}):
        with pytest.raises(KvError, match="KV015") as error:
            search(incident(), Options(**options, **extra))  # type: ignore[arg-type]
        assert "leave the option out" in error.value.diagnostic.cure


# --- states on disk -----------------------------------------------------------------------------------------


def test_what_does_not_fit_into_memory_goes_to_disk(tmp_path: Path) -> None:
    limit = 3 << 20
    short = search(release(), Options(symmetry=False, memory_limit=limit))
    spilled = search(release(), Options(symmetry=False, memory_limit=limit, spill=tmp_path))

    assert short.stopped == "memory limit"
    assert spilled.complete
    assert searched(release(), symmetry=False) == figures(spilled)
    assert spilled.bytes_per_state * spilled.states <= limit
    assert list(tmp_path.iterdir()) == []


def test_several_threads_and_a_file(tmp_path: Path) -> None:
    more = {"memory_limit": 2 << 20, "spill": tmp_path, "workers": 2, "share_from": 1}

    assert searched(release()) == searched(release(), **more)


def test_a_table_that_does_not_fit_stops_the_search(tmp_path: Path) -> None:
    result = search(release(), Options(symmetry=False, memory_limit=1 << 20, spill=tmp_path))

    assert result.stopped == "memory limit"
    assert result.bytes_per_state * result.states <= 1 << 20
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys
from kvproto.cli.main import main
from kvproto.engine.native import load_engine
load_engine()  # perhaps it has to be built first
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
sys.exit(main(["check", "outline@0.5.19", "--no-symmetry", "--memory-limit", "3M", "--spill", "."]))
"""


def test_a_folder_without_room(tmp_path: Path) -> None:
    """The disk is full: the search stops as if there were no disk, and keeps what it found."""
    command = [sys.executable, "-c", FULL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (1, "")
    assert "stopped: memory limit" in done.stdout
