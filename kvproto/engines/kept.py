"""Where engines are kept: one folder of light packages for all, one folder for each release."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from kvproto.diagnostics import KvError, did_you_mean

LIGHT = (
    "aiohttp==3.14.5",
    "dill==0.4.1",
    "einops==0.8.2",
    "fastapi==0.165.0",
    "msgspec==0.23.0",
    "numpy==2.4.6",
    "openai==2.6.1",
    "orjson==3.13.0",
    "partial-json-parser==0.2.1.1.post7",
    "pillow==13.0.0",
    "prometheus-client==0.26.0",
    "psutil==7.2.2",
    "pybase64==1.5.1",
    "pydantic==2.14.4",
    "pyzmq==27.3.0",
    "requests==2.34.2",
    "sentencepiece==0.2.3",
    "setproctitle==1.3.8",
    "tokenizers==0.22.2",
    "torch==2.13.0",
    "transformers==5.12.1",
    "uvicorn==0.54.0",
)
"""What the engine's code imports, without what needs a GPU; one set serves every release below.

torch is pinned because elsewhere an open range brings gigabytes of CUDA.
"""

FITTING = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
"""Releases whose shape the harness is tested with."""

DONE = "kvproto-complete.json"
"""The last file of a folder to be written."""

_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:(?:a|b|rc|\.post|\.dev)[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Engine:
    """A release of an engine."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return root() / f"{self.name}-{self.version}"

    @property
    def fetched(self) -> bool:
        """Whether it is there as a whole."""
        return (self.folder / DONE).is_file()


def parse(text: str) -> Engine:
    """`sglang==0.5.19`."""
    name, equals, version = text.partition("==")
    if name != "sglang" or not equals or not _RELEASE.fullmatch(version):
        known = [f"sglang=={release}" for release in FITTING]
        raise KvError(
            "KV054",
            f"{ascii(text)[:60]} is no engine that can be run{did_you_mean(text, known)}",
            reason="an engine is sglang and a release, as pip writes it",
            cure=f"write sglang=={FITTING[0]}; releases known to fit are {', '.join(FITTING)}",
        )
    return Engine(name, version)


def root() -> Path:
    """The folder of all engines: in the user's cache, or where KVPROTO_ENGINES says."""
    chosen = os.environ.get("KVPROTO_ENGINES", "").strip()
    # Whole, because an engine's process has another current folder.
    return Path(chosen).absolute() if chosen else cache() / "engines"


def cache() -> Path:
    """What kvproto keeps for this user."""
    home = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(home).absolute() if home else Path("~/.cache").expanduser()) / "kvproto"


def light_folder() -> Path:
    """The folder of light packages; its name changes with the list and with Python."""
    asked = "\n".join((*LIGHT, sys.version.split()[0], sysconfig.get_platform()))
    return root() / f"light-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def light() -> Path | None:
    """Light packages: those that were fetched, or those of this interpreter if it has all of them (kvproto[sglang])."""
    if (light_folder() / DONE).is_file():
        return light_folder()
    return Path(sysconfig.get_paths()["purelib"]) if has_light() else None


def has_light() -> bool:
    """Whether this interpreter has every light package, each as pinned."""
    for pinned in LIGHT:
        name, _, version = pinned.partition("==")
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if found.partition("+")[0] != version:
            return False
    return True


def fetched() -> list[Engine]:
    """Releases that are there."""
    if not root().is_dir():
        return []
    found = [path.parent.name.partition("-") for path in root().glob(f"sglang-*/{DONE}")]
    return [Engine(name, version) for name, _, version in sorted(found)]


def size(folder: Path) -> int:
    """Bytes in a folder, which another process may be deleting."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def need(engine: Engine) -> Path:
    """The light packages, if the engine can be run at all."""
    there = light()
    if there is None or not engine.fetched:
        what = f"{engine} is" if not engine.fetched else f"packages that {engine} imports are"
        raise KvError(
            "KV054",
            f"{what} not here",
            reason=f"engines are kept in {root()}, and nothing is downloaded unasked",
            cure=f"run once: kvproto engine fetch {engine}",
        )
    return there


def write_done(folder: Path, about: dict[str, object]) -> None:
    """Say that the folder is complete."""
    (folder / DONE).write_text(json.dumps(about, sort_keys=True) + "\n", encoding="utf-8")
