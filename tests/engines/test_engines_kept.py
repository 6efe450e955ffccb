"""Fetching, listing and removing releases, with a pip that fetches nothing."""

from __future__ import annotations

import importlib.metadata
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kvproto.cli.main import main
from kvproto.diagnostics import KvError
from kvproto.engines import fetching, kept


class Pip:
    """Takes pip's place: fills the target, or fails, and counts."""

    def __init__(self, *, fails: str = "") -> None:
        self.fails = fails
        self.calls: list[list[str]] = []
        self.meets = threading.Event()

    def __call__(self, command: list[str], **named: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append(command)
        self.meets.wait(timeout=0.2)
        if self.fails:
            return subprocess.CompletedProcess(command, 1, "", f"WARNING: noise\nERROR: {self.fails}\n")
        target = Path(command[command.index("--target") + 1])
        (target / "sglang").mkdir()
        (target / "sglang" / "version.py").write_text("__version__ = '0'\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    @property
    def names(self) -> list[str]:
        return [call[-1] for call in self.calls]


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    monkeypatch.setenv("KVPROTO_ENGINES", str(tmp_path / "engines"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "has_light", lambda: False)
    found = Pip()
    monkeypatch.setattr(fetching.subprocess, "run", found)
    return found


def test_fetch_once(pip: Pip, tmp_path: Path) -> None:
    said: list[str] = []
    release = kept.parse("sglang==0.5.19")

    fetching.fetch(release, said.append)
    fetching.fetch(release, said.append)
    fetching.fetch(kept.parse("sglang==0.5.20"), said.append)

    assert pip.names == [kept.LIGHT[-1], "sglang==0.5.19", "sglang==0.5.20"]
    assert [one.version for one in kept.fetched()] == ["0.5.19", "0.5.20"]
    assert kept.need(release) == kept.light_folder()
    assert not list((tmp_path / "engines").glob(".part-*"))
    assert all("--no-deps" in call for call in pip.calls[1:]) and "--no-deps" not in pip.calls[0]


def test_what_fails_is_not_there(pip: Pip, tmp_path: Path) -> None:
    pip.fails = "no index within reach"
    with pytest.raises(KvError) as refused:
        fetching.fetch(kept.parse("sglang==0.5.19"), lambda text: None)

    assert refused.value.diagnostic.code == "KV054"
    assert "no index within reach" in refused.value.diagnostic.reason and "noise" not in refused.value.diagnostic.reason
    assert kept.fetched() == [] and kept.light() is None
    assert not list((tmp_path / "engines").glob(".part-*"))


def test_what_an_interruption_left_is_taken_away(pip: Pip, tmp_path: Path) -> None:
    left = tmp_path / "engines" / ".part-sglang-0.5.19-abc"
    left.mkdir(parents=True)
    unfinished = tmp_path / "engines" / "sglang-0.5.19"
    unfinished.mkdir()

    fetching.fetch(kept.parse("sglang==0.5.19"), lambda text: None)

    assert not left.exists()
    assert kept.parse("sglang==0.5.19").fetched


def test_two_at_once_fetch_once(pip: Pip) -> None:
    both = [threading.Thread(target=fetching.fetch, args=(kept.parse("sglang==0.5.19"), print)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()

    assert sorted(pip.names) == sorted([kept.LIGHT[-1], "sglang==0.5.19"])


def test_list_and_remove(pip: Pip, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "fetch", "sglang==0.5.19"]) == 0
    assert main(["engine", "fetch", "sglang==9.9.9"]) == 0
    assert "only 0.5.19, 0.5.20, 0.5.21, 0.5.22, 0.5.23 are known to fit" in capsys.readouterr().err
    assert main(["engine", "list"]) == 0
    listed = capsys.readouterr().out
    assert "sglang==0.5.19  0 MB" in listed
    assert "sglang==9.9.9" in listed and "not known to fit" in listed
    assert "known to fit, not here: 0.5.20, 0.5.21, 0.5.22, 0.5.23" in listed

    assert main(["engine", "remove", "sglang==0.5.19"]) == 0
    assert [one.version for one in kept.fetched()] == ["9.9.9"]
    assert main(["engine", "remove", "--all"]) == 0
    assert kept.fetched() == [] and kept.light() is None


def test_of_two_that_remove_one_finds_nothing(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one was faster, while this one waited for the lock."""
    release = kept.parse("sglang==0.5.19")
    fetching.fetch(release, lambda text: None)
    lock = fetching._lock

    @contextmanager
    def late(name: str) -> Iterator[None]:
        monkeypatch.setattr(fetching, "_lock", lock)
        assert fetching.remove(release) > 0
        with lock(name):
            yield

    monkeypatch.setattr(fetching, "_lock", late)
    with pytest.raises(KvError, match="is not here"):
        fetching.remove(release)

    assert kept.fetched() == []
    assert fetching.remove_all() > 0


def test_a_folder_that_cannot_be_deleted(
    pip: Pip, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    assert main(["engine", "fetch", "sglang==0.5.19"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr("kvproto.engines.fetching.os.rename", refused)
        assert main(["engine", "remove", "sglang==0.5.19"]) == 2

    assert "error KV054  sglang-0.5.19 cannot be deleted: permission denied" in capsys.readouterr().err
    assert [one.version for one in kept.fetched()] == ["0.5.19"]


def test_folders_are_the_same_from_everywhere(pip: Pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine's process has a current folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KVPROTO_ENGINES", "engines")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")

    assert (tmp_path / "engines", tmp_path / "cache" / "kvproto") == (kept.root(), kept.cache())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["remove", "sglang==0.5.19"], "KV054", "is not here"),
        (["remove"], "KV022", "nothing to remove is named"),
        (["remove", "--all", "sglang==0.5.19"], "KV022", "both a release and --all"),
        (["fetch", "sglang"], "KV054", "is no engine"),
        (["fetch", "vllm==0.5.19"], "KV054", "is no engine"),
        (["fetch", "sglang==latest"], "KV054", "is no engine"),
        (["fetch", "sglang==0.5.19/../.."], "KV054", "is no engine"),
    ],
)
def test_refused(pip: Pip, capsys: pytest.CaptureFixture[str], words: list[str], code: str, said: str) -> None:
    assert main(["engine", *words]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error {code}  ") and said in shown
    assert pip.calls == []


def test_folder_that_cannot_be_written(
    pip: Pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVPROTO_ENGINES", str(tmp_path / "file" / "engines"))

    assert main(["engine", "fetch", "sglang==0.5.19"]) == 2
    assert "KVPROTO_ENGINES=DIR" in capsys.readouterr().err


def test_replay_says_how_to_fetch(pip: Pip, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(Path(__file__).parents[2] / "traces" / "sglang-incident-reads_own_writes.trace.json")

    assert main(["replay", trace, "--impl", "sglang==0.5.19"]) == 2
    assert "run once: kvproto engine fetch sglang==0.5.19   (kvproto explain KV054)" in capsys.readouterr().err


def test_packages_of_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra installed nothing is fetched for them; one other version, and something is."""
    pinned = dict(name.split("==") for name in kept.LIGHT)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: pinned[name] + "+cpu" * (name == "torch"))
    assert kept.has_light()
    pinned["torch"] = "2.12.0"
    assert not kept.has_light()


def test_folder_follows_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.light_folder()
    monkeypatch.setattr(kept, "LIGHT", kept.LIGHT[1:])

    assert kept.light_folder() != before


def test_extra_is_the_list() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert tuple(project["project"]["optional-dependencies"]["sglang"]) == kept.LIGHT
    assert all("==" in name for name in kept.LIGHT)
