"""Step points of threads and network: sockets, the transfer worker, writes that land."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from kvproto.engines.inside import places
from kvproto.engines.inside.landing import Write, copy
from kvproto.engines.inside.pair import Request
from kvproto.engines.inside.stepping import Stepping

Read = Callable[[list[bytes]], tuple[str, int] | None]


class ThreadSteps(Stepping):
    """One turn of a thread, or one write."""

    def _next(self, side: str, kind: str, request: Request) -> str:
        """Messages of one socket are read in order."""
        read = places.up if side == "prefill" else places.down
        waiting = self.pair.wires.mail[side]
        wanted = (kind, request.room)
        if not any(read(message) == wanted for message in waiting):
            return f"no {kind} of {request.label} is on its way to {side}"
        first = read(waiting[0])
        if first == wanted:
            return ""
        assert first is not None
        return f"{first[0]} of {self.pair.of_room(first[1]).label} comes first in the same socket"

    def may_receive_metadata(self, request: Request) -> str:
        """It is the next message."""
        return self._next("prefill", "METADATA", request)

    def do_receive_metadata(self, request: Request) -> None:
        """One turn of the bootstrap thread."""
        self._run(self.pair.bootstrap)

    def may_receive_abort(self, request: Request) -> str:
        """It is the next message."""
        return self._next("prefill", "ABORT", request)

    do_receive_abort = do_receive_metadata

    def may_receive_success(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "SUCCESS", request)

    def may_receive_failure(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "FAILED", request)

    def may_receive_ack(self, request: Request) -> str:
        """It is the next message."""
        return self._next("decode", "ACK", request)

    def do_receive_success(self, request: Request) -> None:
        """One turn of the decode thread."""
        self._run(self.pair.receiving)

    do_receive_failure = do_receive_ack = do_receive_success

    def _worker(self, request: Request, wanted: str) -> str:
        found = places.working(self.pair, request)
        return "" if found == wanted else f"the worker is {found} with {request.label}, not {wanted}"

    def may_dequeue(self, request: Request) -> str:
        """It is the next chunk, and the worker is free."""
        waiting = self.pair.chunks.waiting
        if not any(chunk.room == request.room for chunk in waiting):
            return f"no chunk of {request.label} waits"
        if self.pair.worker.place != "get":
            return f"the only worker of this session is {'dead' if self.pair.worker.dead else 'busy'}"
        ahead = self.pair.of_room(waiting[0].room).label
        return "" if ahead == request.label else f"a chunk of {ahead} comes first in the same queue"

    def do_dequeue(self, request: Request) -> None:
        """The worker takes the chunk and counts it."""
        self._work(request)

    def _work(self, request: Request) -> None:
        """Let the worker go on; back at its queue it is through with the chunk."""
        if self._run(self.pair.worker) == "get":
            request.chunk += 1
            self.pair.chunks.taken = None

    def may_check(self, request: Request) -> str:
        """The worker has taken the chunk."""
        return self._worker(request, "DEQUEUED")

    do_check = do_dequeue

    def may_begin(self, request: Request) -> str:
        """The worker is about to call the engine."""
        return self._worker(request, "CHECKED")

    do_begin = do_dequeue

    def _calling(self, request: Request) -> str:
        return self._worker(request, "CALLING")

    def may_call_succeeds(self, request: Request) -> str:
        """All its writes have landed."""
        said = self._calling(request) or self._flying(request)
        return said or (f"{self.pair.landing.left()} pages are not posted yet" if self.pair.landing.left() else "")

    def _flying(self, request: Request) -> str:
        left = len(self.pair.landing.of(request.room, awaited=True))
        return f"{left} writes of {request.label} have not landed" if left else ""

    do_call_succeeds = do_dequeue

    def may_call_fails(self, request: Request) -> str:
        """The call runs."""
        return self._calling(request)

    def do_call_fails(self, request: Request) -> None:
        """The call returns an error; its writes stay on their way."""
        for write in self.pair.landing.of(request.room, awaited=True):
            write.awaited = False
        self.pair.landing.outcome = -1
        self._work(request)

    def may_conclude(self, request: Request) -> str:
        """Pages are through."""
        return self._worker(request, "AUX")

    do_conclude = do_dequeue

    def may_next_batch(self, request: Request) -> str:
        """A call of a chunk is through, and there are more pages."""
        said = self._calling(request) or self._flying(request)
        return said or ("" if self.pair.landing.left() else "all pages are posted")

    def do_next_batch(self, request: Request) -> None:
        """The call returns, and the next one posts."""
        self._work(request)
        if self.pair.worker.place == "posting":
            self._work(request)

    def may_crash_worker(self, request: Request) -> str:
        """The worker is in a call, or about to be."""
        if not self.pair.sizes.crashes:
            return "workers do not die here"
        found = places.working(self.pair, request)
        return "" if found in ("CHECKED", "CALLING", "AUX") else f"the worker is {found} with {request.label}"

    def do_crash_worker(self, request: Request) -> None:
        """The call raises an exception, and the worker's own handler ends the thread."""
        for write in self.pair.landing.of(request.room, awaited=True):
            write.awaited = False
        self.pair.landing.crashing = True
        with contextlib.suppress(RuntimeError):
            self._work(request)

    # ------------------------------------------------------------------------------------------- network
    def may_lose_up(self, request: Request, m: str) -> str:
        """It is on its way, and nothing of its room before it."""
        return self._loses("prefill", places.up, request, m)

    def _loses(self, side: str, read: Read, request: Request, kind: str) -> str:
        if not self.pair.sizes.loses_messages:
            return "messages are not lost here"
        of_room = [entry for entry in map(read, self.pair.wires.mail[side]) if entry and entry[1] == request.room]
        first = of_room[:1] if side == "prefill" else of_room
        return "" if (kind, request.room) in first else f"no {kind} of {request.label} is next on its way to {side}"

    def do_lose_up(self, request: Request, m: str) -> None:
        """It never arrives."""
        self._lose("prefill", places.up, request, m)

    def _lose(self, side: str, read: Read, request: Request, kind: str) -> None:
        waiting = self.pair.wires.mail[side]
        waiting.remove(next(message for message in waiting if read(message) == (kind, request.room)))

    def may_lose_down(self, request: Request, m: str) -> str:
        """It is on its way."""
        return self._loses("decode", places.down, request, m)

    def do_lose_down(self, request: Request, m: str) -> None:
        """It never arrives."""
        self._lose("decode", places.down, request, m)

    def _write(self, request: Request, position: int, awaited: bool) -> Write | None:
        writes = self.pair.landing.of(request.room, awaited=awaited)
        return next((write for write in writes if write.position == position), None)

    def may_land(self, request: Request, k: int) -> str:
        """The write is posted, and its call waits."""
        there = self._write(request, k, True) is not None
        return "" if there else f"no write of page {k} of {request.label} is on its way"

    def do_land(self, request: Request, k: int) -> None:
        """The write takes effect."""
        self._land(self._write(request, k, True))

    def may_land_late(self, request: Request, k: int) -> str:
        """The write is posted, and its call has returned."""
        there = self._write(request, k, False) is not None
        return "" if there else f"no write of page {k} of {request.label} is left of an earlier call"

    def do_land_late(self, request: Request, k: int) -> None:
        """The write takes effect."""
        self._land(self._write(request, k, False))

    may_vanish = may_land_late

    def do_vanish(self, request: Request, k: int) -> None:
        """The write never takes effect."""
        write = self._write(request, k, False)
        assert write is not None
        self.pair.landing.writes.remove(write)

    def _land(self, write: Write | None) -> None:
        assert write is not None
        pair = self.pair
        label = pair.of_room(write.room).label
        owner = pair.owners(pair.decode).get(write.target - 1)
        for piece in write.pieces:
            copy(piece)
        pair.landing.writes.remove(write)
        self.done.points.append("note:the transfer engine, scripted")
        if pair.writer(pair.decode, write.target - 1) != label:
            pair.seen.wrong_source = True
        if owner != label:
            pair.seen.stray = True
            pair.seen.overwrote |= owner is not None
            whose = f"belongs to {owner}" if owner else "is free"
            self.done.notes.append(f"{label}'s write lands in page {write.target - 1}, which {whose}")
