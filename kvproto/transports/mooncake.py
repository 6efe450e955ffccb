"""Pages moved by real Mooncake engines over TCP on loopback.

The writes of a trace are posted through a sending engine and held at a gate before the receiving one; `land` lets them
through.  Both engines work on the page pools themselves.  What the sender is told is what its engine says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from kvproto.diagnostics import KvError
from kvproto.transports.base import Move, PageMemory, Told
from kvproto.transports.ledger import Ledger
from kvproto.transports.process import EngineProcess

SETTINGS = {
    # A connection for each write, so that each can be held by itself.
    "MC_TCP_ENABLE_CONNECTION_POOL": "0",
    # Nothing may end by itself while it is held: time-outs are the trace's.
    "MC_TCP_STATUS_TIMEOUT_SEC": "3600",
    "MC_TCP_PROGRESS_TIMEOUT_SEC": "3600",
    "MC_TRANSFER_TIMEOUT": "3600",
    "MC_LOG_LEVEL": "ERROR",
    "GLOG_minloglevel": "2",
}

WAITING, COMPLETED = 0, 1
"""What the engine says of a call that is under way, and of one that is through."""


class Mooncake(Ledger):
    """A sending and a receiving engine in a process beside this one.

    `framing` 2 is what releases from 0.3.12 on speak: success means that the receiver has applied the bytes.  Framing 1
    is what those before spoke: success means that the bytes have left the sender.  Without `engine_sends` the sending
    half is a script that speaks the wire format; it reads the source as it lands and not as it is posted.
    """

    def __init__(self, *, framing: int = 2, engine_sends: bool = True) -> None:
        super().__init__()
        self.name = "mooncake" if engine_sends else "mooncake-wire"
        self.isolated = False
        self._framing = framing
        self._engine_sends = engine_sends
        self._process: EngineProcess | None = None
        self._held: dict[int, int] = {}  # writes, by their number in the host

    def open(self, memories: Mapping[str, PageMemory]) -> None:
        """Move the memories to where the engines see them, start these, and register every pool."""
        for memory in memories.values():
            if memory.arrays.device != "cpu":
                raise _elsewhere(str(memory.arrays.device))
        settings = {**SETTINGS, "MC_TCP_PROTO": str(self._framing)}
        process = EngineProcess("kvproto.transports.mooncake_host", memories, sys.executable, settings)
        self._process = process
        if "missing" in process.hello:
            self.close()
            raise _missing(str(process.hello["missing"]))
        self.isolated = bool(process.hello["isolated"])
        for region in process.arena.regions.values():
            for role in ("source", "target"):
                if process.ask("register", role=role, start=region.start, size=region.size)["code"] != 0:
                    raise process.broken("the engine does not register a pool")

    def post(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Submit the writes to the sending engine, several as a batch; they are at the gate when this returns."""
        writes = self._register(moves)
        if self._engine_sends:
            self._submit(writes)
        else:
            self._write_down(writes)
        return writes

    def _submit(self, writes: tuple[int, ...]) -> None:
        answer = self._engines.ask("post", writes=[self._places(write) for write in writes])
        if not answer["held"]:
            raise self._engines.broken("a write did not get to the gate")
        if answer["framing"] != self._framing:
            raise self._engines.broken(f"the engine speaks framing {answer['framing']}")
        for write, number in zip(writes, answer["numbers"], strict=True):
            self._held[write] = int(number)
            self._note(write, "held before the receiving engine")
        self._hear(writes[0], int(answer["status"]))

    def _write_down(self, writes: tuple[int, ...]) -> None:
        for write in writes:
            source, target, size = self._places(write)
            answer = self._engines.ask("script", source=source, target=target, size=size, framing=self._framing)
            self._held[write] = int(answer["number"])
            if self._framing == 1:
                self._tell(write, Told.SUCCESS)

    def _places(self, write: int) -> tuple[int, int, int]:
        move, regions = self._entry(write).move, self._engines.arena.regions
        source, target = regions[move.source], regions[move.target]
        return source.page(move.source_page), target.page(move.target_page), target.page_size

    def _hear(self, write: int, status: int) -> None:
        """Note what the engine says, if it says that the write's call is over.  It speaks of calls, not of writes."""
        if status != WAITING:
            for each in self.call(write):
                self._tell(each, Told.SUCCESS if status == COMPLETED else Told.FAILED)

    def land(self, write: int, upto: int | None = None) -> None:
        """Let a write through to the receiving engine, or its bytes up to that one, and see them arrive."""
        self._in_flight(write)
        size = self._places(write)[2]
        stop = size if upto is None else min(upto, size)
        if stop < self.arrived(write):
            raise ValueError(f"{self.arrived(write)} bytes have arrived, more than {stop}")
        if not self._engines.ask("release", number=self._held[write], upto=stop)["applied"]:
            raise self._engines.broken("the receiving engine did not apply a write")
        self._has_arrived(write, stop, size)

    def listen(self, write: int) -> Told:
        """What the sending engine says of a write by itself, for instance because its own time is up."""
        if self._engine_sends and self.told(write) is Told.NOTHING:
            self._hear(write, int(self._engines.ask("status", number=self._held[write])["status"]))
        return self.told(write)

    def acknowledge(self, write: int) -> None:
        """Let the sending engine have the answer that the bytes are applied, and hear what it makes of it."""
        if self.told(write) is Told.NOTHING:
            self._settle("acknowledge", write, Told.SUCCESS)

    def fail(self, write: int, told: Told = Told.FAILED) -> None:
        """End the sender's connection, whereupon its engine reports a failure; after a time-out, only stop waiting."""
        if told is Told.FAILED and self.told(write) is Told.NOTHING:
            self._settle("cut", write, told)
        else:
            self._tell(write, told)

    def _settle(self, event: str, write: int, told: Told) -> None:
        if not self._engine_sends:
            self._tell(write, told)
            return
        status = int(self._engines.ask(event, number=self._held[write])["status"])
        self._hear(write, status)
        partly = status == WAITING and len(self.call(write)) > 1 and told is Told.SUCCESS
        if not partly and self.told(write) is not told:
            raise self._engines.broken(f"the sending engine says {self.told(write).value} and not {told.value}")

    def duplicate(self, write: int) -> int:
        """Submit the same write once more."""
        return self.post([self._in_flight(write).move])[0]

    def cancel(self, write: int) -> str:
        """The Python interface of the engine has no way to take a write back."""
        self._entry(write)
        self._note(write, "cancel asked: the engine has no such call")
        return "the engine has no such call"

    def vanish(self, write: int) -> None:
        """End the sender's connection, and never let through what it handed over."""
        entry = self._in_flight(write)
        if entry.told is Told.NOTHING and self._engine_sends:
            self._engines.ask("cut", number=self._held[write])
        entry.flying = False
        self._note(write, "vanished")

    def close(self) -> None:
        """End the engines.  The pages keep what they hold."""
        if self._process is not None:
            self._process.close()
            self._process = None

    @property
    def _engines(self) -> EngineProcess:
        if self._process is None:
            raise ValueError("the transport is closed")
        return self._process


def _elsewhere(device: str) -> KvError:
    return KvError(
        "KV052",
        f"the transport 'mooncake' moves pages of main memory, and these are on {device}",
        reason="the engine's wheel without CUDA registers main memory only",
        cure="leave --device out, or take another transport",
    )


def _missing(problem: str) -> KvError:
    library = "libibverbs" in problem
    return KvError(
        "KV052",
        "the transport 'mooncake' needs a library of the system"
        if library
        else "the transport 'mooncake' needs a wheel",
        reason=problem,
        cure="apt-get install libibverbs1 ibverbs-providers" if library else "pip install 'kvproto[mooncake]'",
    )
