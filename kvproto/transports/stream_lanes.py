"""Lanes: each holds one piece of work until it is let go.  On a card a lane is a CUDA stream, elsewhere a queue.

On a card the work is handed over at once, behind a wait for a value in memory that the host sets
(`cuStreamWaitValue32`).  So it is in the card's hands while the host goes on with other streams, and no time decides
when it happens.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Protocol

from kvproto.diagnostics import KvError
from kvproto.reference.paged.libraries import torch

Work = Callable[[], None]

PATIENCE = 60.0
"""Seconds after which a card that waits for something held is let go."""


class Lane(Protocol):
    """One piece of work that is held."""

    def let_go(self) -> None:
        """Let the work happen, and return once it has."""


class Lanes(Protocol):
    """Makes lanes."""

    def hold(self, work: Work) -> Lane:
        """Hand work over; it happens when its lane is let go."""

    def close(self) -> None:
        """Give back what the lanes hold of the machine.  All of them have been let go."""


class Held:
    """Work that waits in this process."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def let_go(self) -> None:
        """Do it."""
        self._work()


class HeldLanes:
    """Lanes without a card."""

    def hold(self, work: Work) -> Lane:
        """Keep the work."""
        return Held(work)

    def close(self) -> None:
        """Nothing to give back."""


class Driver:
    """The three calls of the CUDA driver that PyTorch does not offer."""

    NON_BLOCKING = 1
    """A stream that the default stream does not wait for."""

    AT_LEAST = 0
    """Go on once the value in memory is not smaller."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as missing:
            raise KvError(
                "KV050",
                f"the CUDA driver cannot be loaded: {missing}",
                reason="copies are held in CUDA streams by a call of the driver",
                cure="give --device cpu, where copies are held in a queue",
            ) from None

    def _call(self, name: str, *arguments: Any) -> None:
        # Names with a version are those of newer drivers; the older ones take the same arguments.
        function = getattr(self._library, f"{name}_v2", None) or getattr(self._library, name)
        code = function(*arguments)
        if code != 0:
            raise KvError(
                "KV050",
                f"the CUDA driver refuses {name} (error {code})",
                reason="copies are held in CUDA streams by a call of the driver",
                cure="give --transport scripted, which holds them in this process",
            )

    def stream(self) -> ctypes.c_void_p:
        """A new stream."""
        handle = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(handle), ctypes.c_uint(self.NON_BLOCKING))
        return handle

    def destroy(self, stream: ctypes.c_void_p) -> None:
        """Give a stream back."""
        self._call("cuStreamDestroy", stream)

    def wait_for(self, stream: ctypes.c_void_p, address: int, value: int) -> None:
        """Let a stream wait until the number at an address is not smaller than a value."""
        where, what = ctypes.c_uint64(address), ctypes.c_uint32(value)
        self._call("cuStreamWaitValue32", stream, where, what, ctypes.c_uint(self.AT_LEAST))


class CudaLane:
    """Work in a stream of its own, behind a gate that the host opens."""

    def __init__(self, lanes: CudaLanes, slot: int, work: Work) -> None:
        module = torch()
        self._lanes, self._slot = lanes, slot
        self._stream = lanes.driver.stream()
        self._done = module.cuda.Event()
        stream = module.cuda.ExternalStream(self._stream.value, device=lanes.device)
        # The work starts from what the host has asked of its own stream so far.
        stream.wait_stream(module.cuda.current_stream(lanes.device))
        lanes.driver.wait_for(self._stream, lanes.address(slot), 1)
        with module.cuda.stream(stream):
            work()
            self._done.record(stream)

    def let_go(self) -> None:
        """Open the gate, and wait for the work."""
        # What the host has changed on its own stream comes first.
        torch().cuda.current_stream(self._lanes.device).synchronize()
        self._lanes.open(self._slot)
        self._done.synchronize()
        self._lanes.driver.destroy(self._stream)
        self._lanes.check()


class CudaLanes:
    """Lanes on a card.

    Some calls wait for all streams of a card, also for a held one, and so for ever.  A watchman lets everything go
    after `PATIENCE` seconds in which nothing was let go, and the next lane says so.
    """

    MOST = 4096
    """Lanes in all."""

    def __init__(self, device: Any) -> None:
        module = torch()
        self.device = device
        self.driver = Driver()
        # Memory of the host that the card can read at the same address.
        self._gates = module.zeros(self.MOST, dtype=module.int32, pin_memory=True)
        self._used = 0
        self._held: set[int] = set()
        self._watch: threading.Timer | None = None
        self._overrun = False

    def hold(self, work: Work) -> Lane:
        """Hand work over to a stream."""
        if self._used == self.MOST:
            raise KvError(
                "KV050",
                f"more than {self.MOST} copies in CUDA streams",
                reason="each has a gate of its own",
                cure="give --transport scripted for a run of this length",
            )
        slot, self._used = self._used, self._used + 1
        self._held.add(slot)
        self._wind()
        return CudaLane(self, slot, work)

    def address(self, slot: int) -> int:
        """Where the gate of a lane lies."""
        return int(self._gates.data_ptr()) + 4 * slot

    def open(self, slot: int) -> None:
        """Open a gate."""
        self._gates[slot] = 1
        self._held.discard(slot)
        self._wind()

    def check(self) -> None:
        """Raise if the watchman had to let everything go."""
        if self._overrun:
            raise KvError(
                "KV050",
                f"the card waited {PATIENCE:.0f} seconds for copies that are held",
                reason="a call waited for all streams, and the held ones were let go before their time",
                cure="give --transport scripted",
            )

    def close(self) -> None:
        """Stop the watchman."""
        self._held.clear()
        self._wind()

    def _wind(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch = threading.Timer(PATIENCE, self._let_all_go) if self._held else None
        if self._watch is not None:
            self._watch.daemon = True
            self._watch.start()

    def _let_all_go(self) -> None:
        self._overrun = True
        self._gates.fill_(1)


def lanes_on(device: Any) -> Lanes:
    """Lanes for tensors that lie on a device."""
    return CudaLanes(device) if device.type == "cuda" else HeldLanes()
