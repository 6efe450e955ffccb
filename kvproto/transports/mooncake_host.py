"""The process in which real Mooncake engines live: a sender, a receiver, and the gate between them.

The engines listen on all interfaces, whatever address they are told; here they have a network of their own where the
kernel allows it.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from dataclasses import dataclass
from typing import Any

from kvproto.transports import mooncake_wire as wire
from kvproto.transports.hosting import Answer, serve, wait_for
from kvproto.transports.mooncake_gate import Gate

WAITING, COMPLETED, FAILED = 0, 1, -1
"""What the engine says of a write."""


class Call:
    """What the sending engine says of a write, or of all that one call posted."""

    def __init__(self, engine: Any, handle: int, *, batch: bool) -> None:
        self._engine = engine
        self._handle = handle
        self._status = WAITING
        self._batch = batch
        if batch:
            # The engine's only question about a batch waits for the answer.
            threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        code = int(self._engine.get_batch_transfer_status([self._handle]))
        self._status = COMPLETED if code == 0 else FAILED

    def status(self) -> int:
        """The engine forgets a write once it has told how it ended, so that is kept here."""
        if not self._batch and self._status == WAITING:
            self._status = int(self._engine.transfer_check_status(self._handle))
        return self._status


@dataclass(slots=True)
class Script:
    """A write of which no engine is the sender.  Its bytes are read as they are sent."""

    source: int
    target: int
    size: int
    framing: int
    onward: wire.Sender | None = None
    passed: int = 0


class Host:
    """Both engines, and every write by number."""

    def __init__(self, memory: mmap.mmap, engine_type: Any) -> None:
        self._memory = memory
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._sender, self._receiver = self._engine(engine_type), self._engine(engine_type)
        self._gate = Gate(self._receiver.get_rpc_port())
        self._calls: list[Call] = []  # of every write, by its number at the gate
        self._answered: set[int] = set()
        self._scripts: dict[int, Script] = {}

    def _engine(self, engine_type: Any) -> Any:
        engine = engine_type()
        if engine.initialize(wire.LOOPBACK, "P2PHANDSHAKE", "tcp", "") != 0:
            raise RuntimeError("the engine does not start")
        return engine

    def register(self, role: str, start: int, size: int) -> Answer:
        """Register a part of the memory with the sender or the receiver."""
        engine = self._sender if role == "source" else self._receiver
        return {"code": engine.register_memory(self._base + start, size)}

    def post(self, writes: list[tuple[int, int, int]]) -> Answer:
        """Submit the writes of one call, each a source, a target and a size, and wait until all are at the gate."""
        first = len(self._calls)
        self._calls += [self._submit(writes)] * len(writes)
        if not self._gate.wait(len(self._calls)):
            return {"held": False}
        # Each has a connection of its own, so they come in any order; what they are is told by where they go.
        came = {self._gate.request(number).address: number for number in range(first, len(self._calls))}
        numbers = [came.get(self._base + target, -1) for _, target, _ in writes]
        framing = self._gate.request(first).framing
        if framing == 1:
            # There is no answer to wait for: all has left, so the engine must say so.
            self._settled(first)
        held = sorted(numbers) == list(range(first, len(self._calls)))
        return {"numbers": numbers, "held": held, "framing": framing, "status": self._calls[first].status()}

    def _submit(self, writes: list[tuple[int, int, int]]) -> Call:
        peer = f"{wire.LOOPBACK}:{self._gate.port}"
        sources, targets = ([self._base + write[which] for write in writes] for which in (0, 1))
        sizes = [size for _, _, size in writes]
        if len(writes) == 1:
            handle = self._sender.transfer_submit_write(peer, sources[0], targets[0], sizes[0])
        else:
            handle = self._sender.batch_transfer_async_write(peer, sources, targets, sizes)
        return Call(self._sender, handle, batch=len(writes) > 1)

    def script(self, source: int, target: int, size: int, framing: int) -> Answer:
        """Note a write that a script sends when it is released."""
        number = -1 - len(self._scripts)
        self._scripts[number] = Script(source, target, size, framing)
        return {"number": number}

    def release(self, number: int, upto: int) -> Answer:
        """Let a write through up to a byte, and wait until these bytes are in the receiver's memory."""
        if number < 0:
            return self._send(self._scripts[number], upto)
        request = self._gate.request(number)
        before = self._gate.passed(number)
        code = self._gate.let_through(number, upto)
        return self._arrived(request.address - self._base + before, request.body[before:upto], code)

    def _send(self, script: Script, upto: int) -> Answer:
        if script.onward is None:
            port = wire.describe(self._receiver.get_rpc_port())
            script.onward = wire.Sender(port, wire.header(script.size, self._base + script.target, script.framing))
        data = self._memory[script.source + script.passed : script.source + upto]
        at = script.target + script.passed
        script.onward.send(data)
        script.passed = upto
        return self._arrived(at, data, script.onward.finish() if upto == script.size else None)

    def _arrived(self, at: int, data: bytes, code: int | None) -> Answer:
        """Wait until bytes are in memory: without an answer (framing 1, a part of a page) nothing else tells."""
        return {"applied": code in (None, 0) and wait_for(lambda: self._memory[at : at + len(data)] == data)}

    def acknowledge(self, number: int) -> Answer:
        """Let the sender know of success, and wait until its engine says so, if nothing else of the call is held."""
        self._gate.acknowledge(number)
        self._answered.add(number)
        whole = all(other in self._answered for other, call in enumerate(self._calls) if call is self._calls[number])
        return {"status": self._settled(number) if whole else self._calls[number].status()}

    def cut(self, number: int) -> Answer:
        """End the sender's connection, and wait until its engine has noticed."""
        self._gate.cut(number)
        return {"status": self._settled(number)}

    def status(self, number: int) -> Answer:
        """What the sending engine says of a write by itself."""
        return {"status": self._calls[number].status()}

    def _settled(self, number: int) -> int:
        wait_for(lambda: self._calls[number].status() != WAITING)
        return self._calls[number].status()


if __name__ == "__main__":
    serve("mooncake.engine", lambda memory, module: Host(memory, module.TransferEngine))
