"""Finds, builds and loads the shared library of the C tier, or says why there is none.

Order: a library that ships beside this file, then one in the user's cache, then a fresh build into that
cache.  A library is used only when its ABI number and the hash of its source are those of `engine.c` here, so
a library left over from another version is passed over.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kvproto.engine.compile_c import CompileError, Compiler, build, compilers, library_suffix, source_hash

ABI = 3
"""The `KV_ABI` of engine.c that `c_explorer.py` is written for."""

SWITCH = "KVPROTO_NATIVE"
"""Environment variable; `off` means: do not use the C tier."""

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded library and where it came from."""

    library: ctypes.CDLL
    path: Path
    origin: str
    """`prebuilt`, `cached`, or `built with <compiler>`."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is no C tier here, and this is why."""

    reason: str


@cache
def load_engine() -> Engine | Unavailable:
    """The C engine of this process; looked for once."""
    return find_engine(HERE)


def find_engine(place: Path) -> Engine | Unavailable:
    """The C engine whose source, and perhaps prebuilt library, lie in `place`."""
    if os.environ.get(SWITCH, "").strip().lower() == "off":
        return Unavailable(f"switched off by {SWITCH}=off")
    source = place / "engine.c"
    try:
        expected = source_hash(source)
    except OSError as error:
        return Unavailable(f"its source is missing: {error}")
    prebuilt = place / f"_engine{library_suffix()}"
    complaint = ""
    if prebuilt.exists():
        loaded = _load(prebuilt, expected)
        if not isinstance(loaded, str):
            return Engine(loaded, prebuilt, "prebuilt")
        complaint = f"{prebuilt.name} is not usable ({loaded}); "
    result = _cached_or_built(source, expected)
    return result if isinstance(result, Engine) else Unavailable(complaint + result.reason)


def _cached_or_built(source: Path, expected: str) -> Engine | Unavailable:
    candidates = compilers()
    for compiler in candidates:
        target = user_cache() / _library_name(expected, compiler)
        if target.exists() and not isinstance(loaded := _load(target, expected), str):
            return Engine(loaded, target, "cached")
    failures: list[str] = []
    for compiler in candidates:
        for folder in build_folders():
            target = folder / _library_name(expected, compiler)
            try:
                build(source, target, [compiler])
            except CompileError as error:
                failures.append(str(error))
                break
            loaded = _load(target, expected)
            if not isinstance(loaded, str):
                return Engine(loaded, target, f"built with {compiler}")
            failures.append(f"{compiler}: {loaded}")  # for example a cache on a noexec mount: try the next
    return Unavailable("; ".join(failures) or "no C compiler found (tried $CC, cc, gcc, clang, ziglang)")


def _library_name(expected: str, compiler: Compiler) -> str:
    """A name that changes with the source, the compiler, its flags and the machine it builds for."""
    identity = "\0".join((*compiler.command, *compiler.flags, sys.platform, _machine()))
    return f"engine-{expected}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}{library_suffix()}"


def _machine() -> str:
    return os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")


def user_cache() -> Path:
    """Where libraries are kept between runs."""
    root = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(root) if root else Path("~/.cache").expanduser()) / "kvproto"


def build_folders() -> Iterator[Path]:
    """Folders to build into: the user's cache if it can be written, then one that lives as long as we do."""
    folder = user_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        yield folder
    except OSError:
        pass
    yield _temporary_folder()


@cache
def _temporary_folder() -> Path:
    # Private to this user (mkdtemp), so nobody can put a library of his own there.
    folder = Path(tempfile.mkdtemp(prefix="kvproto-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _load(path: Path, expected: str) -> ctypes.CDLL | str:
    """The library, or what is wrong with it."""
    try:
        library = ctypes.CDLL(str(path))
        library.kv_abi.restype = ctypes.c_uint32
        library.kv_source_hash.restype = ctypes.c_char_p
        abi, built_from = int(library.kv_abi()), library.kv_source_hash()
    except (OSError, AttributeError) as error:
        return str(error)
    if abi != ABI:
        return f"its ABI is {abi}, needed is {ABI}"
    if built_from != expected.encode():
        return "it was built from another engine.c"
    return library
