"""The process in which real NIXL agents live: one that sends, and one that receives for every write.

A receiving agent without a thread of its own makes progress only when it is asked for notifications.  Until then what
is sent to it waits; so each write has a receiver of its own, and lands when that one is asked.  All of them have the
same memory.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from kvproto.transports.hosting import Answer, serve, wait_for

SENDER = "sender"
WARM = 8
"""Bytes of the first transfer to a receiver, which makes the connection."""


class Host:
    """The sending agent, and every write by number."""

    def __init__(self, memory: mmap.mmap, nixl: Any) -> None:
        self._nixl = nixl
        self._memory = memory
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._scratch = ctypes.create_string_buffer(2 * WARM)
        self._sender = self._agent(SENDER, thread=True)
        self._receivers: list[Any] = []
        self._handles: list[Any] = []
        self._bodies: list[tuple[int, bytes]] = []
        self._last: dict[int, str] = {}

    def _agent(self, name: str, *, thread: bool) -> Any:
        agent = self._nixl.nixl_agent(name, self._nixl.nixl_agent_config(backends=[], enable_prog_thread=thread))
        agent.create_backend("UCX", {})
        pools = [(self._base, len(self._memory), 0, "")]
        agent.register_memory([*pools, (ctypes.addressof(self._scratch), 2 * WARM, 0, "")], "DRAM")
        return agent

    def _transfer(self, receiver: str, source: int, target: int, size: int, word: bytes) -> Any:
        places = [self._sender.get_xfer_descs([(at, size, 0)], "DRAM") for at in (source, target)]
        handle = self._sender.initialize_xfer("WRITE", *places, receiver, word)
        if self._sender.transfer(handle) == "ERR":
            raise ValueError("the engine refuses a transfer")
        return handle

    def post(self, source: int, target: int, size: int) -> Answer:
        """Begin a write towards a receiver that makes no progress by itself."""
        number = len(self._receivers)
        name = f"receiver {number}"
        receiver = self._agent(name, thread=False)
        self._sender.add_remote_agent(receiver.get_agent_metadata())
        receiver.add_remote_agent(self._sender.get_agent_metadata())
        scratch = ctypes.addressof(self._scratch)
        warm = self._transfer(name, scratch, scratch + WARM, WARM, b"warm")

        def through() -> bool:
            receiver.get_new_notifs()
            return bool(self._sender.check_xfer_state(warm) == "DONE")

        if not wait_for(through):
            raise ValueError("the first transfer to a receiver does not end")
        self._sender.release_xfer_handle(warm)
        self._receivers.append(receiver)
        self._bodies.append((target, self._memory[source : source + size]))
        self._handles.append(self._transfer(name, self._base + source, self._base + target, size, b"page"))
        return {"number": number, "state": self._state(number)}

    def land(self, number: int) -> Answer:
        """Let a write's receiver work until the bytes are there; whether it was told of them."""
        told: list[bytes] = []
        at, body = self._bodies[number]

        def there() -> bool:
            told.extend(self._receivers[number].get_new_notifs().get(SENDER, []))
            return self._memory[at : at + len(body)] == body and (self._handles[number] is None or self._done(number))

        applied = wait_for(there)
        # What is told comes after the data: a receiver that was never told is asked a little longer.
        for _ in range(20):
            told.extend(self._receivers[number].get_new_notifs().get(SENDER, []))
        return {"applied": applied, "notified": b"page" in told}

    def _done(self, number: int) -> bool:
        return self._state(number) == "DONE"

    def state(self, number: int) -> Answer:
        """What the sending agent says of a write."""
        return {"state": self._state(number)}

    def _state(self, number: int) -> str:
        if self._handles[number] is None:
            return "released"
        return str(self._sender.check_xfer_state(self._handles[number]))

    def release(self, number: int) -> Answer:
        """Give a write's handle back, which is the engine's way to take a transfer back."""
        if self._handles[number] is not None:
            self._sender.release_xfer_handle(self._handles[number])
            self._handles[number] = None
        return {}


if __name__ == "__main__":
    serve("nixl", Host)
