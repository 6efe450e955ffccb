"""The cache of compiled models stays within its bounds, whoever else uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_explorers import CUBE, CUBE_STATES, explored, needs_c

from kvproto.engine import tier2
from kvproto.engine.c_explorer import CExplorer
from kvproto.engine.model_cache import LEFT_BEHIND_S, UNFINISHED, mark_used, prune
from kvproto.engine.native import user_cache


def library(folder: Path, name: str, *, age: int, size: int = 10) -> Path:
    """A file that was used `age` seconds before a certain moment."""
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (1_000_000_000 - age,) * 2)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path) -> None:
    for age in (4, 1, 3, 2):
        library(tmp_path, f"model-{age}.so", age=age)
    newest = library(tmp_path, "model-0.so", age=0)
    prune(newest, entries=3)

    assert ["model-0.so", "model-1.so", "model-2.so"] == names(tmp_path)


def test_a_use_counts(tmp_path: Path) -> None:
    old, middle = library(tmp_path, "model-old.so", age=9), library(tmp_path, "model-middle.so", age=5)
    mark_used(old)
    prune(library(tmp_path, "model-new.so", age=0), entries=2)

    assert ["model-new.so", "model-old.so"] == names(tmp_path)
    mark_used(middle)  # it is gone: nothing happens


def test_bytes_count_together(tmp_path: Path) -> None:
    """A big old one goes, small older ones stay where there is room for them."""
    for name, age, size in (("a", 1, 40), ("b", 2, 70), ("c", 3, 30)):
        library(tmp_path, f"model-{name}.so", age=age, size=size)
    prune(library(tmp_path, "model-new.so", age=0, size=20), size=100)

    assert ["model-a.so", "model-c.so", "model-new.so"] == names(tmp_path)


def test_the_new_one_stays_whatever_its_size_and_age(tmp_path: Path) -> None:
    library(tmp_path, "model-other.so", age=-50)
    prune(library(tmp_path, "model-new.so", age=0, size=500), entries=1, size=100)

    assert ["model-new.so"] == names(tmp_path)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Engines, and what a compiler still works on; what one left behind a day ago goes."""
    library(tmp_path, "engine-1.so", age=10**6)
    library(tmp_path, f"{UNFINISHED}now.c", age=LEFT_BEHIND_S - 9)
    library(tmp_path, f"{UNFINISHED}then.c", age=LEFT_BEHIND_S + 9)
    prune(library(tmp_path, "model-new.so", age=0), entries=1)

    assert ["engine-1.so", "model-new.so", f"{UNFINISHED}now.c"] == names(tmp_path)


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    prune(tmp_path / "none" / "model.so")

    assert [] == names(tmp_path)


PRUNING = """
import sys
from pathlib import Path
from kvproto.engine.model_cache import prune
for round in range(200):
    path = Path(sys.argv[1], f"model-{sys.argv[2]}-{round}.so")
    path.write_bytes(b"x" * 10)
    prune(path, entries=4)
"""


@pytest.mark.parametrize("processes", ["ab", "abc"])
def test_several_processes_at_once(tmp_path: Path, processes: str) -> None:
    """None fails because another one was faster, and the bound holds."""
    command = [sys.executable, "-c", PRUNING, str(tmp_path)]
    others = [subprocess.Popen([*command, name], stderr=subprocess.PIPE) for name in processes]

    assert {b""} == {other.communicate(timeout=120)[1] for other in others}
    assert 1 <= len(names(tmp_path)) <= 3 + len(processes)


@needs_c
def test_a_search_prunes_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one model the one before it goes, while it is still in use."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tier2, "prune", lambda path: prune(path, entries=1))
    first = CExplorer(CUBE, compiling="now")
    before = list(user_cache().glob("model-*"))
    second = CExplorer(replace(CUBE, actions=CUBE.actions[:2]), compiling="now")
    after = list(user_cache().glob("model-*"))

    assert first.compiled
    assert second.compiled
    assert [1, 1] == [len(before), len(after)]
    assert before != after
    assert explored(first, [0], 10**9, 10**9).states() == CUBE_STATES
    assert [] == list(user_cache().glob(f"{UNFINISHED}*"))
