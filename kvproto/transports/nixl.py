"""Pages moved by real NIXL agents over UCX and TCP on loopback.  Whole pages only.

Every write is held because its receiver does not work until `land` lets it.  The engine has no time-out, no failure
that can be brought about from outside, and no success before the bytes are there; giving a transfer's handle back is
all that a sender can do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from kvproto.diagnostics import KvError
from kvproto.transports.base import Move, PageMemory, Told
from kvproto.transports.ledger import Ledger
from kvproto.transports.process import EngineProcess

PYTHON = "KVPROTO_NIXL_PYTHON"
"""Environment variable: the Python that has NIXL, where that is another one; its packages want CUDA's beside them."""

SETTINGS = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "NIXL_LOG_LEVEL": "ERROR"}


class Nixl(Ledger):
    """A sending agent, and a receiving one for every write, in a process beside this one."""

    name = "nixl"

    def __init__(self) -> None:
        super().__init__()
        self.isolated = False
        self._process: EngineProcess | None = None
        self._held: dict[int, int] = {}

    def open(self, memories: Mapping[str, PageMemory]) -> None:
        """Move the memories to where the agents see them, and start the sending one."""
        for memory in memories.values():
            if memory.arrays.device != "cpu":
                raise _missing(f"these pages are on {memory.arrays.device}, not in main memory")
        python = os.environ.get(PYTHON, sys.executable)
        process = EngineProcess("kvproto.transports.nixl_host", memories, python, SETTINGS)
        self._process = process
        if "missing" in process.hello:
            self.close()
            raise _missing(str(process.hello["missing"]))
        self.isolated = bool(process.hello["isolated"])

    @property
    def _engines(self) -> EngineProcess:
        if self._process is None:
            raise ValueError("the transport is closed")
        return self._process

    def post(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Begin every transfer; its receiver does nothing yet."""
        writes = self._register(moves)
        regions = self._engines.arena.regions
        for write, move in zip(writes, moves, strict=True):
            source, target = regions[move.source], regions[move.target]
            places = {"source": source.page(move.source_page), "target": target.page(move.target_page)}
            answer = self._engines.ask("post", **places, size=target.page_size)
            self._held[write] = int(answer["number"])
            self._note(write, f"the engine says {answer['state']}")
        return writes

    def land(self, write: int, upto: int | None = None) -> None:
        """Let the write's receiver work; whether it is told of the write is the engine's doing."""
        entry = self._in_flight(write)
        size = self._engines.arena.regions[entry.move.target].page_size
        if upto is not None and upto < size:
            raise ValueError("NIXL moves whole pages: nothing stops a transfer in the middle")
        answer = self._engines.ask("land", number=self._held[write])
        if not answer["applied"]:
            raise self._engines.broken("a receiver did not apply a write")
        self._has_arrived(write, size, size)
        if answer["notified"]:
            super().notify(write)
        else:
            self._note(write, "receiver not told")

    def notify(self, write: int) -> None:
        """The engine tells receivers by itself, or not at all: see `land`."""
        if not self.notified(write):
            raise ValueError("NIXL tells the receiver as the write lands, or never")

    def acknowledge(self, write: int) -> None:
        """Hear what the sending agent says; it says success once the bytes are there, and not before."""
        if self.told(write) is not Told.NOTHING:
            return
        state = self._engines.ask("state", number=self._held[write])["state"]
        if state != "DONE":
            raise ValueError(f"the sending agent says {state}: it does not report success early")
        self._tell(write, Told.SUCCESS)

    def fail(self, write: int, told: Told = Told.FAILED) -> None:
        """The caller gives up, and gives the handle back as far as it calls that a failure.  The write goes on."""
        if told is Told.FAILED and self.told(write) is Told.NOTHING:
            self.cancel(write)
        self._tell(write, told)

    def cancel(self, write: int) -> str:
        """Give the handle back.  The engine says nothing against it, and the write goes on."""
        self._entry(write)
        self._engines.ask("release", number=self._held[write])
        self._note(write, "cancel asked: the handle is released")
        return "the handle is released"

    def duplicate(self, write: int) -> int:
        """Begin the same transfer once more."""
        return self.post([self._in_flight(write).move])[0]

    def vanish(self, write: int) -> None:
        """Never let the write's receiver work."""
        self._in_flight(write).flying = False
        self._note(write, "vanished")

    def close(self) -> None:
        """End the agents.  The pages keep what they hold."""
        if self._process is not None:
            self._process.close()
            self._process = None


def _missing(problem: str) -> KvError:
    return KvError(
        "KV052",
        "the transport 'nixl' is not there",
        reason=problem,
        cure="pip install --no-deps nixl-cu12==1.5.1 nixl==1.5.1; in another environment, "
        f"whose Python {PYTHON} names, with numpy",
    )
