"""The command line in this process and in another one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Done:
    """What a run left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]
Write = Callable[..., Path]
Spawn = Callable[..., "subprocess.Popen[str]"]


def start(*args: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "kvproto", *args]
    return subprocess.Popen(command, text=True, errors="replace", env={**os.environ, **(env or {})}, **more)


def drain(terminal: int) -> str:
    """All that was written to a terminal, once nobody writes any more."""
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            return data.decode()
        if not piece:
            return data.decode()
        data += piece
