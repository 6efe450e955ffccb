"""The engine's process, seen from outside."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from kvproto.diagnostics import KvError
from kvproto.engines import kept
from kvproto.engines.protocol import Client, Leg, Now, Possible, Reading, Sizes, Step

BOOT = """
import sys, types
package, *folders = sys.argv[1:]
sys.path[:0] = folders
kvproto = types.ModuleType("kvproto")
kvproto.__path__ = [package]
sys.modules["kvproto"] = kvproto
from kvproto.engines.inside.serve import main
main()
"""
"""The interpreter starts isolated, without site packages; kvproto is a bare name there, and nothing else of it runs."""

SHAPE = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError")
"""Exceptions that tell of another shape of the engine, rather than of what it was made to do."""

PATIENCE = 120.0
"""Seconds after which a process that does not answer is given up; `SLOW_START` for its first word."""

SLOW_START = 600.0
"""Reading the release takes seconds on a machine that has nothing else to do."""

TAIL = 12
"""Lines of the process's own output that are kept for a message."""


class EngineRaised(KvError):
    """The engine's own code has raised an exception; `told` and `where` say which and at which line."""

    told = ""
    where = ""


class Child:
    """A process that runs one release.  A context manager; the process ends with it."""

    def __init__(self, engine: kept.Engine) -> None:
        light = kept.need(engine)
        self.engine = engine
        self._home = tempfile.TemporaryDirectory(prefix="kvproto-engine-")
        package = Path(__file__).resolve().parents[1]
        command = [sys.executable, "-I", "-S", "-c", BOOT, str(package), str(engine.folder), str(light)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=self._environment(),
            cwd=self._home.name,
        )
        self._said: collections.deque[str] = collections.deque(maxlen=TAIL)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            hello = self._receive("start", SLOW_START)
        except BaseException:
            self.close()
            raise
        self.version = str(hello["version"])

    def _environment(self) -> dict[str, str]:
        """A home of its own, so that settings of this user do not count, and one thread a library."""
        passed = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        return {**passed, **threads, **offline, "HOME": self._home.name, "TMPDIR": self._home.name}

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line.rstrip())

    # -------------------------------------------------------------------------------------------- asking
    def start(self, sizes: Sizes) -> Now:
        """A fresh pair of schedulers."""
        return _now(self._ask({"do": "start", "sizes": sizes.asked()}))

    def actions(self) -> list[Possible]:
        """What is possible now."""
        return [Possible(one["action"], one["args"]) for one in self._ask({"do": "actions"})["actions"]]

    def perform(self, action: str, args: Mapping[str, Any]) -> Step:
        """Do an action, unless it is refused."""
        reply = self._ask({"do": "perform", "action": action, "args": dict(args)})
        points, aside, notes = (tuple(reply[name]) for name in ("points", "aside", "notes"))
        return Step(reply["refused"], points, aside, notes, _now(reply))

    def run(self, sizes: Sizes, steps: Sequence[Possible]) -> tuple[int, str, Now]:
        """A fresh pair and these steps; how many were done, and why the next one was refused."""
        asked = [{"action": step.action, "args": dict(step.args)} for step in steps]
        reply = self._ask({"do": "run", "sizes": sizes.asked(), "steps": asked})
        return int(reply["performed"]), str(reply["refused"]), _now(reply)

    def view(self) -> dict[str, Client]:
        """What every client has."""
        found = self._ask({"do": "view"})["requests"]
        return {label: _client(one) for label, one in found.items()}

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._died() from None
        return self._receive(str(question["do"]), PATIENCE)

    def _receive(self, what: str, patience: float) -> dict[str, Any]:
        """The next answer.  A process that takes too long is ended, which ends the wait."""
        assert self._process.stdout is not None
        timer = threading.Timer(patience, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            raise self._died()
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError:
            # It was ended in the middle of a word.
            self._process.kill()
            raise self._died() from None
        if not reply["ok"]:
            raise self._failed(what, reply)
        return reply

    def _died(self) -> KvError:
        try:
            code: int | None = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        ended = f"exit code {code}" if code is not None and code >= 0 else f"signal {-(code or 0)}"
        return KvError(
            "KV056",
            f"the process that runs {self.engine} has ended ({ended})",
            reason=f"its last words: {' / '.join(self._said) or 'none'}"[:2000],
            cure="run it again; if it ends each time, is there memory (600 MB), and is the release one that fits?",
        )

    def _failed(self, what: str, reply: dict[str, Any]) -> KvError:
        told = f"{reply['kind']}: {reply['text']}"
        if reply["kind"] in SHAPE:
            fits = self.engine.version in kept.FITTING
            known = "this release is one that fits; its folder may be damaged" if fits else "this release is not one"
            return KvError(
                "KV055",
                f"{self.engine} has another shape than the harness expects: {told}"[:600],
                reason=f"met at {reply['where']}; releases known to fit are {', '.join(kept.FITTING)}; {known}",
                cure=f"take a release that fits: kvproto engine fetch sglang=={kept.FITTING[-1]}",
            )
        raised = EngineRaised(
            "KV056",
            f"{self.engine} has raised an exception in {what}: {told}"[:600],
            reason=f"met at {reply['where']}",
            cure="in a step that the model allows, what the engine raises is a finding: report it with the trace",
        )
        raised.told, raised.where = told, str(reply["where"])
        return raised

    # -------------------------------------------------------------------------------------------- ending
    def close(self) -> None:
        """End the process, which has nothing to put in order."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._home.cleanup()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _now(reply: dict[str, Any]) -> Now:
    return Now(reply["state"], tuple(reply["violations"]))


def _client(found: dict[str, Any]) -> Client:
    legs = {side: Leg(int(leg["status"]), str(leg["text"])) for side, leg in found["legs"].items()}
    reads = tuple(
        Reading(read["tokens"], tuple((int(page), author) for page, author in read["pages"])) for read in found["reads"]
    )
    return Client(found["client"], int(found["tokens"]), legs, reads)
