"""Finding, building and loading the shared library of the C tier."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_explorers import CUBE, ENGINE_FOLDER, needs_c

from kvproto.engine import c_explorer, native
from kvproto.engine.c_explorer import CExplorer, EngineUnavailable
from kvproto.engine.compile_c import (
    FLAGS,
    CompileError,
    Compiler,
    build,
    compilers,
    library_suffix,
    source_hash,
)
from kvproto.engine.native import Engine, Unavailable, find_engine


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with engine.c and a cache of its own."""
    folder = tmp_path / "engine"
    folder.mkdir()
    shutil.copy(ENGINE_FOLDER / "engine.c", folder)
    shutil.copytree(ENGINE_FOLDER / "c", folder / "c")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(native.SWITCH, raising=False)
    return folder


def library_in(place: Path) -> Path:
    """Where a wheel puts the library."""
    return place / f"_engine{library_suffix()}"


def found(place: Path) -> Engine:
    """The engine there, which must be available."""
    engine = find_engine(place)
    assert isinstance(engine, Engine), engine
    return engine


@needs_c
def test_built_once_then_cached(place: Path) -> None:
    """The second process finds what the first one built."""
    assert found(place).origin.startswith("built with ")
    assert "cached" == found(place).origin
    assert ["c", "engine.c"] == sorted(path.name for path in place.iterdir())


@needs_c
def test_prebuilt_library_is_used(place: Path) -> None:
    """A library beside the source, built from it, needs no cache."""
    build(place / "engine.c", library_in(place))

    assert ("prebuilt", library_in(place)) == (found(place).origin, found(place).path)


@needs_c
@pytest.mark.parametrize("stale", ["text", "ABI"])
def test_stale_prebuilt_library_is_passed_over(place: Path, stale: str) -> None:
    """Built from another text, or with another ABI: a fresh one is built instead."""
    source, base = place / "engine.c", place / "c" / "base.h"
    old = place / "old.c"
    text = source.read_text()
    if stale == "text":
        old.write_text(text + "/* one more comment */\n")
    else:  # the hash is right, so only the number can give it away
        identity = f'#undef KV_SOURCE_HASH\n#define KV_SOURCE_HASH "{source_hash(source)}"\n'
        text = text.replace('#include "c/base.h"', base.read_text())
        old.write_text(identity + text.replace("#define KV_ABI ", "#define KV_ABI 1000"))
    build(old, library_in(place))

    assert found(place).origin.startswith("built with ")


@needs_c
def test_stale_library_without_compiler_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the library, what is wrong with it, and the compiler that failed."""
    old = place / "old.c"
    old.write_text((place / "engine.c").read_text() + "/* changed */\n")
    build(old, library_in(place))
    monkeypatch.setenv("CC", "no-such-compiler")
    engine = find_engine(place)

    assert isinstance(engine, Unavailable)
    assert "another engine.c" in engine.reason
    assert "no-such-compiler" in engine.reason


@needs_c
def test_damaged_libraries_are_replaced(place: Path) -> None:
    """Rubbish beside the source and in the cache does no harm."""
    library_in(place).write_bytes(b"not a library")
    cache = native.user_cache()
    cache.mkdir(parents=True)
    for compiler in compilers():
        name = native._library_name(source_hash(place / "engine.c"), compiler)
        (cache / name).write_bytes(b"")

    assert found(place).origin.startswith("built with ")


@needs_c
def test_unwritable_cache(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is built in a temporary folder; nothing is written where the cache should be."""
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    engine = found(place)

    assert engine.origin.startswith("built with ")
    assert blocked not in engine.path.parents
    assert "" == blocked.read_text()


def test_switched_off(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's word counts, and is repeated."""
    monkeypatch.setenv(native.SWITCH, "off")

    assert Unavailable("switched off by KVPROTO_NATIVE=off") == find_engine(place)


def test_explorer_without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason travels to whoever asks for the C tier."""
    monkeypatch.setattr(c_explorer, "load_engine", lambda: Unavailable("because"))
    with pytest.raises(EngineUnavailable, match="because"):
        CExplorer(CUBE)


def test_source_missing(place: Path) -> None:
    """Without the source nothing can be checked, so nothing is used."""
    (place / "engine.c").unlink()
    engine = find_engine(place)

    assert isinstance(engine, Unavailable)
    assert "source is missing" in engine.reason


def test_a_compiler_that_fails_is_quoted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set CC is not second-guessed, and its complaint is passed on."""
    monkeypatch.setenv("CC", "no-such-compiler --fast")

    assert [Compiler(("no-such-compiler", "--fast"))] == compilers()
    with pytest.raises(CompileError, match="no-such-compiler --fast: "):
        build(place / "engine.c", library_in(place))
    assert ["c", "engine.c"] == sorted(path.name for path in place.iterdir())


def test_zig_is_told_to_leave_its_sanitizer_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """However it was chosen; other compilers do not know that flag."""
    monkeypatch.setenv("CC", "python -m ziglang cc")
    assert "-fno-sanitize=all" in compilers()[0].flags
    monkeypatch.setenv("CC", "gcc")

    assert FLAGS == compilers()[0].flags


@needs_c
def test_the_build_hook_can_load_the_compiling_module_by_path(place: Path) -> None:
    """It runs where kvproto is not installed, so nothing of kvproto may be imported."""
    script = (
        "import pathlib, runpy, sys\n"
        "names = runpy.run_path(sys.argv[1])\n"
        "names['build'](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))\n"
        "assert not any(name.startswith('kvproto') for name in sys.modules), sorted(sys.modules)\n"
    )
    paths = [ENGINE_FOLDER / "compile_c.py", place / "engine.c", library_in(place)]
    command = [sys.executable, "-I", "-c", script, *map(str, paths)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert "prebuilt" == found(place).origin


@needs_c
def test_engine_compiles_without_a_warning(tmp_path: Path) -> None:
    """With the usual warnings as errors, with and without computed goto."""
    for extra in ((), ("-DKV_SWITCH",)):
        strict = [Compiler(x.command, (*x.flags, "-Wall", "-Wextra", "-Werror", *extra)) for x in compilers()]
        assert set(FLAGS) <= set(strict[0].flags)
        for compiler in strict:
            build(ENGINE_FOLDER / "engine.c", tmp_path / f"strict{library_suffix()}", [compiler])
