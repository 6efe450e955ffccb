"""A process beside this one in which real engines live.

The engines read their settings from the environment once, write to standard error as they like, and take seconds to
end; so they live apart, and the pages lie in memory that both processes see.  Commands go there as lines of JSON, and
each has an answer.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.transports import mooncake_wire as wire
from kvproto.transports.arena import Arena
from kvproto.transports.base import PageMemory

QUIET = {
    # Threads of numerical libraries would stand in the way of a network namespace.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class EngineProcess:
    """A module of this package, run by a Python that has the engine, with the pages of `memories`.

    `hello` is the first thing it says.  Whatever goes wrong ends the process and is a `KvError`.
    """

    def __init__(
        self, module: str, memories: Mapping[str, PageMemory], python: str, settings: Mapping[str, str]
    ) -> None:
        if not hasattr(os, "memfd_create"):
            raise KvError(
                "KV052",
                "transports by real engines run on Linux only",
                reason="the pages lie in anonymous memory that two processes share, which this system does not have",
                cure="leave --transport out: the scripted transport runs everywhere",
            )
        self.arena = Arena(memories)
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  # what the engines print
        sources = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), sources]))
        try:
            self._process: subprocess.Popen[str] | None = subprocess.Popen(
                [python, "-m", module, str(self.arena.descriptor), str(self.arena.size)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                text=True,
                pass_fds=[self.arena.descriptor],
                env={**os.environ, **QUIET, **settings, "PYTHONPATH": path},
            )
        except OSError as problem:
            self._process = None
            raise self.broken(f"it cannot be started: {problem}") from None
        try:
            self.hello = self._answer()
        except BaseException:
            # Whoever interrupts here has nothing yet to close.
            self.close()
            raise

    def ask(self, command: str, **values: object) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": command, **values}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self.broken("its process has ended") from None
        answer = self._answer()
        if "problem" in answer:
            raise self.broken(str(answer["problem"]))
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 3 * wire.PATIENCE)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise self.broken("its process has ended" if ready else "its process does not answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def broken(self, what: str) -> KvError:
        """End everything, and say what the engines printed last."""
        self._words.seek(0)
        said = self._words.read().decode(errors="replace").strip().splitlines()
        self.close()
        return KvError(
            "KV053",
            f"the transfer engine does not do what was asked: {what}",
            reason=f"the last that it printed: {said[-1].strip()}" if said else "it printed nothing",
            cure="on a machine under heavy load try again; --transport scripted needs no engine",
        )

    def close(self) -> None:
        """End the engines.  The pages keep what they hold."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process.kill()
            self._process.wait()
            self._process = None
        self.arena.close()
        self._words.close()
