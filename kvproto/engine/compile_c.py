"""Compiles `engine.c` into a shared library with whatever C compiler there is.

The wheel build hook loads this file by path, before kvproto is installed.  So it imports the standard library
only, and nothing of kvproto.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

FLAGS = (
    "-O2",
    "-std=c11",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    *(() if sys.platform == "win32" else ("-pthread",)),
)
"""Flags for every compiler."""

TIMEOUT_S = 300
"""A compiler that takes longer is given up; ziglang's first run on a slow disk takes tens of seconds."""


class CompileError(Exception):
    """No compiler could build the library; the text says what each of them answered."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """One way to call a C compiler."""

    command: tuple[str, ...]
    flags: tuple[str, ...] = FLAGS

    def __str__(self) -> str:
        """The command as a user would type it."""
        return shlex.join(self.command)


def library_suffix() -> str:
    """File name ending of a shared library on this platform."""
    if sys.platform == "win32":
        return ".dll"
    return ".dylib" if sys.platform == "darwin" else ".so"


def source_hash(source: Path) -> str:
    """What `kv_source_hash()` of a library built from this source, and the parts in `c/` beside it, answers."""
    parts = [source, *sorted((source.parent / "c").glob("*.h"))]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:16]


def compilers() -> list[Compiler]:
    """The compilers to try, best first.  A set `CC` is a decision of the user: nothing else is tried."""
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        return [_compiler(*shlex.split(chosen))]
    found = [_compiler(path) for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    if find_spec("ziglang") is not None:
        found.append(_compiler(sys.executable, "-m", "ziglang", "cc"))
    return found


def _compiler(*command: str) -> Compiler:
    if any("zig" in Path(part).name for part in command):
        # Without this zig may call a sanitizer runtime that a plain library does not have.
        return Compiler(command, (*FLAGS, "-fno-sanitize=all"))
    return Compiler(command)


def build(source: Path, target: Path, candidates: Sequence[Compiler] | None = None) -> Compiler:
    """Build `target` from `source` with the first compiler that works, and answer which one that was.

    The library appears under its name only when it is complete, so two processes may build it at once.
    """
    tried: list[str] = []
    for compiler in compilers() if candidates is None else candidates:
        try:
            _compile(compiler, source, target)
        except CompileError as error:
            tried.append(f"{compiler}: {error}")
        else:
            return compiler
    raise CompileError("; ".join(tried) or "no C compiler found (tried $CC, cc, gcc, clang, ziglang)")


def _compile(compiler: Compiler, source: Path, target: Path) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.stem + ".", suffix=".tmp")
    os.close(handle)
    identity = f'-DKV_SOURCE_HASH="{source_hash(source)}"'
    command = [*compiler.command, *compiler.flags, identity, "-o", name, str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0 or Path(name).stat().st_size == 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise CompileError(lines[0] if lines else f"exit status {done.returncode}")
        Path(name).chmod(0o755)
        Path(name).replace(target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(str(error)) from error
    finally:
        Path(name).unlink(missing_ok=True)
