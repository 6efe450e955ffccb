"""The machine that a benchmark ran on, without anything that says whose it is."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from kvproto import __version__
from kvproto.engine.native import Unavailable, load_engine
from kvproto.export import spin


def describe() -> dict[str, str]:
    """What decides how fast things are."""
    return {
        "processor": _processor(),
        "cores": str(_cores()),
        "memory": f"{_memory() / 2**30:.0f} GiB",
        "system": _system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": _first_line([spin.compiler() or "cc", "--version"]) or "none",
        "spin": _first_line(["spin", "-V"]) or "none",
        "kvproto": __version__,
        "engine": _engine(),
    }


def load() -> str:
    """The load averages of the last 1, 5 and 15 minutes."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        rows = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        rows = []
    names = [row.partition(":")[2].strip() for row in rows if row.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _engine() -> str:
    """Whether the first search has to compile the C engine, which decides how it starts with empty caches."""
    engine = load_engine()
    if isinstance(engine, Unavailable):
        return f"none: {engine.reason}"
    return "prebuilt" if engine.origin == "prebuilt" else "compiled at the first search"


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return ""
    return (done.stdout or done.stderr).partition("\n")[0].strip()
