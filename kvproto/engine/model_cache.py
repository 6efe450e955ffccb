"""Keeps the cache of compiled models small: what was not used for the longest time goes first.

Any number of processes may use the folder at once.  A library that is loaded stays so when its file is removed (or
cannot be removed at all), and one that vanishes before it is loaded is compiled again.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

MOST_ENTRIES: Final = 200
MOST_BYTES: Final = 256 << 20

UNFINISHED: Final = "unfinished-"
"""How the names of files begin that a compiler still works on."""

LEFT_BEHIND_S: Final = 24 * 3600
"""An unfinished file that is older than the newest library by so much belongs to nobody any more."""


def mark_used(library: Path) -> None:
    """Note that a library is of use now; where the file cannot be changed nothing is noted."""
    with contextlib.suppress(OSError):
        os.utime(library)


def prune(newest: Path, entries: int = MOST_ENTRIES, size: int = MOST_BYTES) -> None:
    """Remove libraries beside `newest` that are too many or too big together, and what broken-off compilations left.

    `newest` itself stays, however big it is.
    """
    now = _facts(newest)
    if now is None:
        return
    libraries = sorted(_found(newest.parent, "model-*"), key=lambda item: (item[1] == newest, item[0]), reverse=True)
    kept = taken = 0
    for _, path, bytes_ in libraries:
        kept += 1
        taken += bytes_
        if path != newest and (kept > entries or taken > size):
            _remove(path)
            kept -= 1
            taken -= bytes_
    for used, path, _ in _found(newest.parent, f"{UNFINISHED}*"):
        if used < now[0] - LEFT_BEHIND_S * 10**9:
            _remove(path)


def _found(folder: Path, pattern: str) -> list[tuple[int, Path, int]]:
    """Last use, path and bytes of each file of that name that is still there."""
    found = []
    for path in folder.glob(pattern):
        facts = _facts(path)
        if facts is not None:
            found.append((facts[0], path, facts[1]))
    return found


def _facts(path: Path) -> tuple[int, int] | None:
    """Last use in nanoseconds and bytes; None if another process has removed the file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _remove(path: Path) -> None:
    # Another process may have been faster, or uses it on a system that does not let it go.
    with contextlib.suppress(OSError):
        path.unlink()
