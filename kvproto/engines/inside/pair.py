"""A prefill side and a decode side in one process, and the requests that go through them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from kvproto.engines.inside import schedulers, seams
from kvproto.engines.inside.baton import Baton
from kvproto.engines.inside.landing import Landing, Region

PAGE = 8
"""Tokens of a page."""

SLACK = 4
"""A prompt of n pages lacks so many tokens at its end: room for what is generated, and for prefill's estimate."""

SPARE = 1
"""Pages that prefill's estimate of what a prompt needs never lets it use, beyond those of the model."""

STUB_TOKEN = 7
"""What the forward pass answers."""

BATCH = "SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES"
"""The engine's bound on pages of a call; 0 is none.  0.5.19 does not have it."""

LABELS = "ABCDEFGH"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the model, which are also those of the engine: pages here are pages there.

    `limit` is what prefill's pool really has; the model may number more pages than that, and never uses them.
    """

    requests: int
    context: int
    short: int
    prefill_pages: int
    limit: int
    decode_pages: int
    prefill_rows: int
    decode_rows: int
    truncates: bool = False
    bounded: bool = False
    loses_rows: bool = False
    loses_messages: bool = False
    crashes: bool = False


@dataclass(slots=True)
class Request:
    """A request of a client, and what has been seen of it.  `source` and `target` are the engine's objects."""

    label: str
    room: int
    client: str = "IDLE"
    need: int = 0
    cancel_prefill: bool = False
    cancel_decode: bool = False
    source: Any = None
    target: Any = None
    held: Any = None
    receiver: Any = None
    batch: Any = None
    stub: bool = False
    turned_away: bool = False
    timed_out: bool = False
    aborted: bool = False
    doomed: bool = False
    computed: bool = False
    chunk: int = 0
    source_pages: list[int] = field(default_factory=list)
    source_row: int | None = None
    target_pages: list[int] = field(default_factory=list)
    target_row: int | None = None
    reads: list[dict[str, Any]] = field(default_factory=list)
    saw_blank: bool = False
    saw_foreign: bool = False
    forgotten: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of the client's prompt."""
        return self.need * PAGE - SLACK


@dataclass(slots=True)
class Seen:
    """What an onlooker has seen so far."""

    stray: bool = False
    overwrote: bool = False
    wrong_source: bool = False
    faults: int = 0
    faded_pages: set[tuple[int, str]] = field(default_factory=set)
    faded_rows: set[tuple[int, str]] = field(default_factory=set)


class Pair:
    """Both sides, their threads, and every request."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.wires = seams.restart()
        for side in seams.PORTS:
            self.wires.engines[side] = Landing(side)
        self.requests = {label: Request(label, number + 1) for number, label in enumerate(LABELS[: sizes.requests])}
        self.seen = Seen()
        self.landing: Landing = self.wires.engines["prefill"]
        os.environ.update({BATCH: "1" if sizes.bounded else "0"})
        self.landing.loses_rows = sizes.loses_rows
        # A prompt that is cut to the longest leaves prefill's estimate its room.
        longest = sizes.limit * PAGE - (SLACK // 2 if sizes.truncates else 0)
        self.prefill = self._side("prefill", (sizes.limit + SPARE) * PAGE, longest, sizes.prefill_rows)
        # Decode's own door is never the one that refuses: what does not fit its pool is refused by the queue.
        self.decode = self._side("decode", sizes.decode_pages * PAGE, schedulers.LONGEST, sizes.decode_rows)
        self.bootstrap = self._baton("bootstrap_thread")
        self.worker = self._baton("transfer_worker")
        self.receiving = self._baton("decode_thread")
        self.chunks: seams.Chunks = self.prefill.kv_manager.transfer_queues[0]
        self.landing.chunk = lambda: self.chunks.taken
        self.landing.regions = [self._region(buffer) for buffer in (self.keys(self.decode), self.values(self.decode))]
        self.running: list[str] = []

    # ------------------------------------------------------------------------------------------ building
    def _side(self, mode: str, tokens: int, longest: int, rows: int) -> Any:
        side = schedulers.build(mode, tokens=tokens, longest=longest, page=PAGE, slots=self.sizes.requests + 1)
        manager = side.kv_manager
        manager.request_status = seams.Statuses(dict(manager.request_status), self.failed)
        side.req_to_metadata_buffer_idx_allocator.free_slots = deque(range(rows))
        return side

    def _baton(self, name: str) -> Baton:
        body = next(body for known, body in self.wires.bodies if known == name)
        baton = Baton(name, body)
        self.wires.batons.append(baton)
        baton.go()
        return baton

    def _region(self, buffer: Any) -> Region:
        return Region(buffer.data_ptr(), buffer[0].numel() * buffer.element_size() * PAGE, buffer.shape[0] // PAGE)

    @property
    def failed(self) -> Any:
        """The status of a failed room."""
        from sglang.srt.disaggregation.base import KVPoll

        return KVPoll.Failed

    # -------------------------------------------------------------------------------------------- looking
    @staticmethod
    def keys(side: Any) -> torch.Tensor:
        """Keys of the pool's only layer."""
        found: torch.Tensor = side.kvpool.k_buffer[0]
        return found

    @staticmethod
    def values(side: Any) -> torch.Tensor:
        """Values of the pool's only layer."""
        found: torch.Tensor = side.kvpool.v_buffer[0]
        return found

    def of_room(self, room: int) -> Request:
        """The request of a room."""
        return next(request for request in self.requests.values() if request.room == room)

    def pages(self, side: Any, req: Any) -> list[int]:
        """Pages that a request holds, in the order of its prompt; pages count from 0 as in the model."""
        if req is None or req.kv.req_pool_idx is None:
            return []
        slots = side.req_to_token_pool.req_to_token[req.kv.req_pool_idx, : req.kv.kv_allocated_len].long()
        return list(dict.fromkeys((slots // PAGE - 1).tolist()))

    def free(self, side: Any) -> list[int]:
        """Free pages, by number."""
        allocator = side.token_to_kv_pool_allocator
        if hasattr(allocator, "get_all_free_pages"):
            found = allocator.get_all_free_pages()
        else:
            found = torch.cat((allocator.free_pages, allocator.release_pages))
        return sorted(int(page) - 1 for page in found.tolist())

    def owners(self, side: Any) -> dict[int, str]:
        """Who holds which page."""
        engine = "source" if side is self.prefill else "target"
        return {
            page: request.label
            for request in self.requests.values()
            for page in self.pages(side, getattr(request, engine))
        }

    def writer(self, side: Any, page: int) -> str | None:
        """Who wrote the first token of a page; None if nobody did."""
        return self.author(float(self.keys(side)[(page + 1) * PAGE, 0, 0]))

    def author(self, value: float) -> str | None:
        """Whose token it is."""
        return None if value == 0 else LABELS[int(value) // 1000 - 1]

    @staticmethod
    def tags(request: Request, count: int) -> torch.Tensor:
        """What the forward pass of a request writes: its number and the position, one value a token."""
        return 1000.0 * request.room + torch.arange(count, dtype=torch.float32)

    # --------------------------------------------------------------------------------------------- acting
    def lowest_first(self, side: Any) -> None:
        """Let the allocator take the lowest free page next, as the model does.

        Which free page comes first depends on all traffic before; sorting is what the allocator itself does when
        it has run out of sorted ones.
        """
        allocator = side.token_to_kv_pool_allocator
        allocator.merge_and_sort_free()
        allocator.free_pages = torch.sort(allocator.free_pages)[0]
        rows = side.req_to_metadata_buffer_idx_allocator
        rows.free_slots = deque(sorted(rows.free_slots))

    def in_turn(self) -> None:
        """Deliver what the model has no message for: registrations, and acknowledgements that nobody counts."""
        while self.wires.mail["prefill"] and self.wires.mail["prefill"][0][0] == b"None":
            schedulers.use(self.prefill)
            self.bootstrap.go()
        while self.wires.mail["decode"] and uncounted(self.wires.mail["decode"][0]):
            schedulers.use(self.decode)
            self.receiving.go()


def uncounted(message: list[bytes]) -> bool:
    """An acknowledgement without a rank, from releases and settings that do not wait for one."""
    return message[0] == b"ABORT_ACK" and len(message) < 3


@contextmanager
def only(owner: Any, name: str, mine: Callable[[Any], bool], aside: list[Any]) -> Iterator[None]:
    """Let a pass over a queue see one request of it.

    The model's steps are of one request, the engine's loops of all.  The others keep their place in the queue;
    they are noted in `aside`.
    """
    whole = list(getattr(owner, name))
    setattr(owner, name, [entry for entry in whole if mine(entry)])
    try:
        yield
    finally:
        left = list(getattr(owner, name))
        others = [entry for entry in whole if not mine(entry)]
        aside.extend(others)
        kept = {id(entry) for entry in (*left, *others)}
        known = {id(entry) for entry in whole}
        merged = [entry for entry in whole if id(entry) in kept] + [entry for entry in left if id(entry) not in known]
        setattr(owner, name, merged)
