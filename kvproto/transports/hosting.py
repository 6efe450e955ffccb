"""The other end of `process`: what every process does in which engines live."""

from __future__ import annotations

import importlib
import json
import mmap
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from kvproto.transports import mooncake_wire as wire
from kvproto.transports.isolation import isolate

Answer = dict[str, object]


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait for something that an engine's threads do; whether it came."""
    end = time.monotonic() + wire.PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.0005)
    return True


def serve(engine: str, host_of: Callable[[mmap.mmap, Any], object]) -> None:
    """Import the engine's module, make a host of it, and carry out commands until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the engines' own words belong to standard error

    def answer(values: Answer) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    descriptor, size = int(sys.argv[1]), int(sys.argv[2])
    isolated = isolate()
    try:
        module = importlib.import_module(engine)
    except ImportError as missing:
        answer({"missing": str(missing)})
        return
    host = host_of(mmap.mmap(descriptor, size), module)
    answer({"isolated": isolated})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer(getattr(host, command.pop("do"))(**command))
        except (OSError, EOFError, LookupError, ValueError) as problem:
            answer({"problem": f"{type(problem).__name__}: {problem}"})
    # The engines take seconds to end in order, and all they have ends with the process.
    sys.stderr.flush()
    os._exit(0)
