"""The process in which real Mooncake engines live: a sender, a receiver, and the gate between them.

The engines listen on all interfaces, whatever address they are told; here they have a network of their own where the
kernel allows it.
"""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

from kvproto.transports import mooncake_wire as wire
from kvproto.transports.hosting import Answer, serve, wait_for
from kvproto.transports.mooncake_gate import Gate

WAITING = 0
"""What the engine says of a write that is under way."""


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
        self._handles: list[int] = []  # of the sending engine; their numbers are the gate's
        self._last: dict[int, int] = {}
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

    def post(self, source: int, target: int, size: int) -> Answer:
        """Submit a write and wait until it is at the gate."""
        peer = f"{wire.LOOPBACK}:{self._gate.port}"
        handle = self._sender.transfer_submit_write(peer, self._base + source, self._base + target, size)
        number = len(self._handles)
        self._handles.append(handle)
        if not self._gate.wait(number + 1):
            return {"held": False}
        request = self._gate.request(number)
        right = (request.address, request.size) == (self._base + target, size)
        if request.framing == 1:
            # There is no answer to wait for: all has left, so the engine must say so.
            self._settled(number)
        return {"number": number, "held": right, "framing": request.framing, "status": self._status(number)}

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
        """Let the sender know of success, and wait until its engine says so."""
        self._gate.acknowledge(number)
        return {"status": self._settled(number)}

    def cut(self, number: int) -> Answer:
        """End the sender's connection, and wait until its engine has noticed."""
        self._gate.cut(number)
        return {"status": self._settled(number)}

    def status(self, number: int) -> Answer:
        """What the sending engine says of a write now."""
        return {"status": self._status(number)}

    def _settled(self, number: int) -> int:
        wait_for(lambda: self._status(number) != WAITING)
        return self._status(number)

    def _status(self, number: int) -> int:
        """The engine forgets a write once it has told how it ended, so that is kept here."""
        if number not in self._last:
            told = self._sender.transfer_check_status(self._handles[number])
            if told == WAITING:
                return WAITING
            self._last[number] = int(told)
        return self._last[number]


if __name__ == "__main__":
    serve("mooncake.engine", lambda memory, module: Host(memory, module.TransferEngine))
