"""Getting an engine: its wheel without dependencies, and once for all releases the light packages it imports."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kvproto.diagnostics import KvError
from kvproto.engines import kept

Say = Callable[[str], None]

TAIL = 3
"""Lines of pip's complaint that are shown."""


def fetch(engine: kept.Engine, say: Say) -> None:
    """Get what is not here yet.

    A folder is filled under another name and renamed when it is complete, so it is there as a whole or not at all.
    Of several processes one fetches and the others wait.  What pip has downloaded before an interruption stays in
    its cache.
    """
    if kept.light() is None:
        _fill(kept.light_folder(), kept.LIGHT, (), say, what=f"{len(kept.LIGHT)} light packages")
    if not engine.fetched:
        _fill(engine.folder, (str(engine),), ("--no-deps",), say, what=str(engine))
    if engine.version not in kept.FITTING:
        say(f"{engine} is here, but only {', '.join(kept.FITTING)} are known to fit")
    say(f"{engine} is in {engine.folder}")


def remove(engine: kept.Engine) -> int:
    """Delete a release; gives the bytes."""
    freed = _delete(engine.folder)
    if freed is None:
        raise KvError(
            "KV054",
            f"{engine} is not here",
            reason=f"nothing of that name is in {kept.root()}",
            cure="kvproto engine list shows what is",
        )
    return freed


def remove_all() -> int:
    """Delete every release and the light packages; gives the bytes."""
    folders = [*kept.root().glob("sglang-*"), *kept.root().glob("light-*")]
    return sum(_delete(folder) or 0 for folder in folders)


def _delete(folder: Path) -> int | None:
    """Rename first: a folder that is half deleted is not taken for a release.  None if there is nothing to delete."""
    if not folder.is_dir():
        return None
    with _lock(folder.name):
        # Another process may have been here while this one waited.
        if not folder.is_dir():
            return None
        count = kept.size(folder)
        try:
            doomed = Path(tempfile.mkdtemp(prefix=f".part-{folder.name}-", dir=folder.parent))
            os.rename(folder, doomed / "old")
            shutil.rmtree(doomed)
        except OSError as error:
            raise KvError(
                "KV054",
                f"{folder.name} cannot be deleted: {(error.strerror or str(error)).lower()}",
                reason=f"it lies in {folder.parent}",
                cure="see who owns that folder, and whether it can be written",
            ) from None
    return count


def _fill(folder: Path, names: Sequence[str], options: Sequence[str], say: Say, *, what: str) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder.parent, error) from None
    with _lock(folder.name):
        if (folder / kept.DONE).is_file():
            return
        for left in folder.parent.glob(f".part-{folder.name}-*"):
            shutil.rmtree(left, ignore_errors=True)
        say(f"fetching {what} ...")
        part = Path(tempfile.mkdtemp(prefix=f".part-{folder.name}-", dir=folder.parent))
        try:
            _pip(part, names, options, what)
            kept.write_done(part, {"packages": list(names), "python": sys.version.split()[0]})
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One process at a time; the lock goes with the process that holds it."""
    path = kept.root() / f".lock-{name}"
    try:
        handle = path.open("w")
    except OSError as error:
        raise _unwritable(path.parent, error) from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _unwritable(folder: Path, error: OSError) -> KvError:
    return KvError(
        "KV054",
        f"engines cannot be kept in {folder}: {error.strerror}",
        reason="a release takes 200 MB there, the packages it imports 1.2 GB",
        cure="name another folder: KVPROTO_ENGINES=DIR",
    )


def _pip(target: Path, names: Sequence[str], options: Sequence[str], what: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-compile", "--only-binary", ":all:", "--retries", "2", "--timeout", "60"]
    command += ["--target", str(target), *options]
    wheels = kept.cache() / "sglang"
    if wheels.is_dir():
        command += ["--find-links", str(wheels)]
    done = subprocess.run([*command, *names], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if "WARNING" not in line]
        raise KvError(
            "KV054",
            f"{what} cannot be fetched",
            reason="pip says: " + " / ".join(said[-TAIL:] or ["nothing"]),
            cure="is the package index within reach? then run the same command again; downloads are resumed",
        )
