"""Wheels that are kept: which are taken, and what is read from them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import cites_wheels
import pytest
from cites_wheels import NoWheel, folder


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for wheels, and a pip that finds nothing."""
    monkeypatch.setenv("KVPROTO_SGLANG_WHEELS", str(tmp_path))
    for name in ("PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK"):
        monkeypatch.setenv(name, "1")
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def make(place: Path, release: str) -> None:
    with zipfile.ZipFile(place / f"sglang-{release}-py3-none-any.whl", "w") as archive:
        archive.writestr("sglang/srt/a.py", "LIMIT = 3\n")
        archive.writestr("sglang/srt/a.txt", "no source")
        archive.writestr("other/b.py", "x = 1\n")


def test_what_is_read(kept: Path) -> None:
    make(kept, "0.0.1")
    found = cites_wheels.wheel.__wrapped__("0.0.1")

    assert {"srt/a.py"} == found.files
    assert "LIMIT = 3\n" == found.text("srt/a.py")
    assert 1 == len(found.tree("srt/a.py").body)


def test_where_wheels_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVPROTO_SGLANG_WHEELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tmp_path / "kvproto" / "sglang" == folder()
    monkeypatch.setenv("KVPROTO_SGLANG_WHEELS", str(tmp_path / "x"))
    assert tmp_path / "x" == folder()
    monkeypatch.delenv("KVPROTO_SGLANG_WHEELS")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert ".cache" in folder().parts


@pytest.mark.parametrize("left", ["nothing", "half a wheel", "another release"])
def test_what_is_said_without_a_wheel(kept: Path, left: str) -> None:
    if left == "half a wheel":
        (kept / "sglang-0.0.1-py3-none-any.whl").write_bytes(b"PK\x03\x04 and no more")
    if left == "another release":
        make(kept, "0.0.11")
    with pytest.raises(NoWheel, match=r"sglang 0\.0\.1 cannot be downloaded: .*0\.0\.1"):
        cites_wheels.wheel.__wrapped__("0.0.1")
