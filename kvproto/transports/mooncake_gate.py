"""A gate before a receiving engine: every write waits there until it is let through, whole or in part.

The gate stands between two real engines.  The sender asks it where requests go, the gate asks the receiver and names
its own port instead.  With a connection for each request (`MC_TCP_ENABLE_CONNECTION_POOL=0`) every write can be held
by itself.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kvproto.transports import mooncake_wire as wire


@dataclass(slots=True)
class Held:
    """A write that the sender has handed over in full."""

    request: wire.Request
    origin: socket.socket
    onward: wire.Sender | None = None
    passed: int = 0


class Gate:
    """Holds the writes towards one receiver, in the order in which they came."""

    def __init__(self, receiver_port: int) -> None:
        self._receiver_port = receiver_port
        self._data_port: int | None = None
        self._changed = threading.Condition()
        self._held: list[Held] = []
        self._listeners: list[socket.socket] = []
        self._gate_port = self._listen(self._take)
        self.port = self._listen(self._introduce)

    def _listen(self, handle: Callable[[socket.socket], None]) -> int:
        listener = socket.create_server((wire.LOOPBACK, 0), backlog=256)
        self._listeners.append(listener)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.settimeout(wire.PATIENCE)
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return int(listener.getsockname()[1])

    def _introduce(self, connection: socket.socket) -> None:
        """Pass a question to the receiver, and its answer back with the gate's port in it."""
        with contextlib.suppress(EOFError, OSError), connection, wire.connect(self._receiver_port) as receiver:
            wire.send_message(receiver, wire.read_message(connection))
            answer, port = wire.redirected(wire.read_message(receiver), self._gate_port)
            if port is not None:
                self._data_port = port
            wire.send_message(connection, answer)

    def _take(self, connection: socket.socket) -> None:
        try:
            request = wire.read_request(connection)
        except (EOFError, OSError, ValueError):
            connection.close()
            return
        with self._changed:
            self._held.append(Held(request, connection))
            self._changed.notify_all()

    def wait(self, count: int) -> bool:
        """Wait until so many writes have come in all; whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._held) >= count, wire.PATIENCE)

    def request(self, number: int) -> wire.Request:
        """The write that came as that one, counted from 0."""
        return self._held[number].request

    def passed(self, number: int) -> int:
        """How many bytes of a write have been let through."""
        return self._held[number].passed

    def let_through(self, number: int, upto: int) -> int | None:
        """Pass bytes on up to that one; after the last one, what the receiver answers (framing 2)."""
        held = self._held[number]
        if held.onward is None:
            if self._data_port is None:
                raise LookupError("no sender has asked where requests go")
            held.onward = wire.Sender(self._data_port, held.request.header)
        held.onward.send(held.request.body[held.passed : upto])
        held.passed = upto
        return held.onward.finish() if upto == held.request.size else None

    def acknowledge(self, number: int) -> None:
        """Answer the sender as a receiver does that has applied all; it may have gone."""
        held = self._held[number]
        with contextlib.suppress(OSError):
            if held.request.framing == 2:
                held.origin.sendall(wire.APPLIED)
        held.origin.close()

    def cut(self, number: int) -> None:
        """End the sender's connection.  What it has handed over can still be let through."""
        self._held[number].origin.close()

    def close(self) -> None:
        """Close every socket; what is held goes no further."""
        for listener in self._listeners:
            listener.close()
        for held in self._held:
            held.origin.close()
            if held.onward is not None:
                held.onward.close()
