"""What is replaced below the engine's connection code, so that everything nondeterministic is a step.

The engine's `common/conn.py` and `mooncake/conn.py` stay as they are: status tables, message formats, bodies of
the bootstrap thread, of the decode thread and of the transfer worker, aborts and acknowledgements.
"""

from __future__ import annotations

import importlib
import threading
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from kvproto.engines.inside.baton import Baton
from kvproto.engines.inside.clock import Clock

ADDRESS = "127.0.0.1"
BOOTSTRAP_PORT = 8998
PORTS = {"prefill": 6001, "decode": 6002}
SESSIONS = {"prefill": f"{ADDRESS}:7001", "decode": f"{ADDRESS}:7002"}

ENVIRONMENT = {
    "SGLANG_USE_CPU_ENGINE": "1",
    # One transfer queue: all chunks for one decode session go through the same queue in any case.
    "SGLANG_DISAGGREGATION_QUEUE_SIZE": "1",
    "SGLANG_DISAGGREGATION_THREAD_POOL_SIZE": "1",
}
"""Set before the engine is imported."""


class Wires:
    """Everything of one run that goes between the two sides, and the threads that serve it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.mail: dict[str, deque[list[bytes]]] = {side: deque() for side in PORTS}
        self.building = "prefill"
        self.bodies: list[tuple[str, Callable[[], Any]]] = []
        self.batons: list[Baton] = []
        self.engines: dict[str, Any] = {}

    def here(self) -> Baton:
        """The thread that is running now."""
        return next(baton for baton in self.batons if baton.here())

    def running(self) -> Baton | None:
        """The thread that is running now, if it is one of the engine's."""
        return next((baton for baton in self.batons if baton.here()), None)

    def close(self) -> None:
        """End all threads."""
        for baton in self.batons:
            baton.close()


current = Wires()
"""The run under way.  The engine's modules are patched once and look here."""


def restart() -> Wires:
    """End the run under way and begin another one."""
    global current
    current.close()
    current = Wires()
    return current


class Socket:
    """A PUSH or PULL socket: sends at once, receives one message a step."""

    def __init__(self, side: str) -> None:
        self.side = side

    def send_multipart(self, parts: list[bytes], *given: Any, **named: Any) -> None:
        """Put a message on its way."""
        current.mail[self.side].append([bytes(part) for part in parts])

    def recv_multipart(self, *given: Any, **named: Any) -> list[bytes]:
        """The next message, once a step says so."""
        current.here().park("recv")
        return current.mail[self.side].popleft()

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


def _socket(endpoint: str) -> Socket:
    port = int(endpoint.rsplit(":", 1)[1])
    return Socket(next(side for side, number in PORTS.items() if number == port))


class Chunks:
    """The engine's queue of chunks: gives one out a step."""

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()
        self.taken: Any = None

    def put(self, chunk: Any) -> None:
        """A chunk is handed over."""
        self.waiting.append(chunk)

    def get(self) -> Any:
        """The next chunk, once a step says so."""
        current.here().park("get")
        self.taken = self.waiting.popleft()
        return self.taken


class Thread:
    """Stands in for `threading.Thread`: remembers the body, which a `Baton` runs step by step."""

    def __init__(
        self, target: Callable[..., Any] | None = None, args: tuple[Any, ...] = (), kwargs: Any = None, **named: Any
    ) -> None:
        self._body = (lambda: target(*args, **(kwargs or {}))) if target is not None else None
        self._name = getattr(target, "__name__", "")

    def start(self) -> None:
        """Remember the body."""
        if self._body is not None:
            current.bodies.append((self._name, self._body))

    def join(self, timeout: float | None = None) -> None:
        """Nobody waits."""

    def is_alive(self) -> bool:
        """It lives as long as the run."""
        return True


class Statuses(dict[int, Any]):
    """The table of rooms of a manager: where the transfer worker first looks at it, it stops once.

    The place lies between counting a chunk and looking at its room; the model has a step on either side.
    """

    def __init__(self, entries: dict[int, Any], failed: Any) -> None:
        super().__init__(entries)
        self._failed = failed
        self.revived = False

    def __contains__(self, room: object) -> bool:
        self._stop()
        return super().__contains__(room)

    def __setitem__(self, room: int, status: Any) -> None:
        if self.get(room) == self._failed and status != self._failed:
            self.revived = True
        super().__setitem__(room, status)

    def _stop(self) -> None:
        baton = current.running()
        if baton is not None and baton.name == "transfer_worker" and baton.place == "get":
            baton.park("status")


class Http:
    """The bootstrap server's answers, which are the same for one rank on either side."""

    exceptions = types.SimpleNamespace(RequestException=Exception)

    @staticmethod
    def get(url: str, *given: Any, **named: Any) -> Any:
        """`GET /route`: the layout of prefill, or the address of its only rank."""
        if "target_tp_rank=-1" in url or "prefill_dp_rank=-1" in url:
            body: dict[str, Any] = {
                "attn_tp_size": 1,
                "attn_cp_size": 1,
                "dp_size": 1,
                "pp_size": 1,
                "page_size": None,
                "kv_cache_dtype": None,
                "follow_bootstrap_room": True,
            }
        else:
            body = {"rank_ip": ADDRESS, "rank_port": PORTS["prefill"]}
        return types.SimpleNamespace(status_code=200, json=lambda: body, text="")

    put = post = get

    @staticmethod
    def session(*given: Any, **named: Any) -> Any:
        """A session is as good as none."""
        return Http

    Session = session


class Now:
    """`time` for the engine's modules: the clock of the run under way."""

    def __getattr__(self, name: str) -> Any:
        return getattr(current.clock, name)


_SOLO = types.SimpleNamespace(world_size=1, rank_in_group=0, cpu_group=None)


def install() -> None:
    """Patch the engine's modules, once in a process."""
    common = importlib.import_module("sglang.srt.disaggregation.common.conn")
    mooncake = importlib.import_module("sglang.srt.disaggregation.mooncake.conn")
    decode = importlib.import_module("sglang.srt.disaggregation.decode")
    threads = types.ModuleType("threading")
    threads.__dict__.update(threading.__dict__)
    threads.__dict__["Thread"] = Thread
    decode.__dict__["time"] = Now()
    for module in (common, mooncake):
        module.__dict__["time"] = Now()
        module.__dict__["threading"] = threads
        for name, value in (("FastQueue", Chunks), ("requests", Http)):
            if hasattr(module, name):
                setattr(module, name, value)
    _common(common)
    mooncake.__dict__["get_mooncake_transfer_engine"] = lambda: current.engines[current.building]
    # 0.5.23: page numbers would be handed over in pinned memory behind a CUDA event.
    mooncake.MooncakeKVSender.supports_host_tensor_indices = False


def _common(common: Any) -> None:
    """Sockets, addresses and the groups of one rank."""
    manager, receiver = common.CommonKVManager, common.CommonKVReceiver
    common._get_bootstrap_session = lambda address: Http
    common.get_local_ip_auto = lambda *given, **named: ADDRESS
    common.get_zmq_socket_on_host = lambda context, kind, host=None: (
        PORTS[current.building],
        Socket(current.building),
    )

    def connect(self: Any, endpoint: str, is_ipv6: bool = False) -> Socket:
        self._socket_send_locks.setdefault(endpoint, threading.Lock())
        return _socket(endpoint)

    manager._connect = connect
    receiver._connect = classmethod(lambda cls, endpoint, is_ipv6=False: (_socket(endpoint), threading.Lock()))
    manager.register_to_bootstrap = lambda self: None
    manager._sync_bootstrap_port_across_nodes = lambda self, port: port
    manager._make_worker_recv = lambda self, socket: socket.recv_multipart
    manager._start_heartbeat_checker_thread = lambda self: Thread()
    for name, value in (
        ("get_pp_group", lambda: _SOLO),
        ("get_world_group", lambda: _SOLO),
        ("get_attention_dp_size", lambda: 1),
        ("get_attention_dp_rank", lambda: 0),
    ):
        if hasattr(common, name):
            setattr(common, name, value)
