"""The released wheels of SGLang as text: downloaded once, read from the archive, never installed or imported."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

RELEASES = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")


class NoWheel(Exception):
    """A wheel that is neither kept nor can be downloaded, and what pip said."""


def folder() -> Path:
    """Where wheels are kept between runs: outside of the checkout, or where KVPROTO_SGLANG_WHEELS says."""
    chosen = os.environ.get("KVPROTO_SGLANG_WHEELS", "").strip()
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return Path(chosen) if chosen else (Path(cache) if cache else Path("~/.cache").expanduser()) / "kvproto" / "sglang"


@dataclass(frozen=True)
class Wheel:
    """The source of one release.  Paths are below the package."""

    release: str
    path: Path

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(self.path)

    @cached_property
    def files(self) -> frozenset[str]:
        """Python files of the package."""
        names = self._archive.namelist()
        return frozenset(n.removeprefix("sglang/") for n in names if n.startswith("sglang/") and n.endswith(".py"))

    def text(self, path: str) -> str:
        """A file of the package."""
        return self._archive.read(f"sglang/{path}").decode("utf-8")

    def tree(self, path: str) -> ast.Module:
        """A file of the package, parsed."""
        return ast.parse(self.text(path))


@lru_cache(maxsize=len(RELEASES))
def wheel(release: str) -> Wheel:
    """The wheel of a release, downloaded if it is not kept; raises NoWheel."""
    kept = _kept(release)
    if not kept:
        _download(release)
        kept = _kept(release)
    if not kept:
        raise NoWheel(f"pip left no wheel of sglang {release} in {folder()}")
    return Wheel(release, kept[0])


def _kept(release: str) -> list[Path]:
    return sorted(path for path in folder().glob(f"sglang-{release}-*.whl") if zipfile.is_zipfile(path))


def _download(release: str) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--retries",
        "1",
        "--timeout",
        "20",
        "--only-binary",
        ":all:",
        "--dest",
        str(folder()),
        f"sglang=={release}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["pip said nothing"]
        raise NoWheel(f"sglang {release} cannot be downloaded: {said[-1]}")
