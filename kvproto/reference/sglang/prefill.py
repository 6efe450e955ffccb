"""The prefill scheduler: admission, bootstrap, forward passes, the in-flight queue, aborts."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.reference import attention, prompts
from kvproto.reference.array import Arrays
from kvproto.reference.pages import Image, Memory
from kvproto.reference.queues import Queues
from kvproto.reference.refusal import Refused, expect
from kvproto.reference.sglang.bootstrap import BootstrapThread
from kvproto.reference.sglang.links import Links
from kvproto.reference.sglang.memory import EMPTY, Allocator, Row
from kvproto.reference.sglang.messages import Failure
from kvproto.reference.sglang.rooms import Manager, Status
from kvproto.reference.sglang.worker import Chunk, Pass, TransferWorker

INTAKE, BOOTSTRAP, WAITING = "intake", "the bootstrap queue", "the waiting queue"
LAUNCHED, CHUNKED, FORWARDED = "its first forward pass", "chunks", "results"
INFLIGHT, OVER = "the in-flight queue", "no queue any more"


@dataclass(slots=True)
class Req:
    """A request as prefill knows it.  `input_text` is the prompt, until a rejection swaps it for a placeholder."""

    input_text: str
    to_finish: str | None = None  # an error that is to become the verdict, and that nobody looks at yet
    refused: bool = False  # the router was told
    aborted: bool = False  # what the sender reports from now on is a failure
    pages: dict[int, int] = field(default_factory=dict)  # by position; kept for the writes after they are freed
    row: int | None = None
    first_pass: Pass = field(default_factory=Pass)

    @property
    def tokens(self) -> int:
        """Tokens that are computed and sent."""
        return len(self.input_text)


class Rank:
    """One prefill rank: its slice of the KV, its tables and its threads."""

    def __init__(self, rank: int, links: Links, pages: int, arrays: Arrays) -> None:
        self.memory = Memory(pages, arrays)
        self.manager = Manager(rank, links.network, links.switches)
        self.worker = TransferWorker(self.manager, links)
        self.thread = BootstrapThread(self.manager, links)


class Prefill:
    """One prefill node.  All ranks allocate alike, so the numbers of pages and rows are the scheduler's."""

    def __init__(self, links: Links, arrays: Arrays) -> None:
        sizes, self._switches = links.sizes, links.switches
        self._links = links
        self.longest = (
            sizes.prefill_pages if self._switches.larger_pool else min(sizes.prefill_pool, sizes.prefill_pages)
        )
        self.pages = Allocator("prefill pool", min(self.longest, sizes.prefill_pages))
        self.row_owners = Allocator("prefill's metadata rows", sizes.prefill_rows)
        self.rows: list[Row] = [EMPTY] * sizes.prefill_rows
        self.ranks = [Rank(rank, links, len(self.pages), arrays) for rank in range(sizes.prefill_ranks)]
        self.queues = Queues("prefill")
        self.requests: dict[int, Req] = {}
        self.aborts: set[int] = set()  # rooms whose abort has not been handled
        self.chunked_req: int | None = None  # the one room that is between its chunks
        self.split_verdicts: list[int] = []  # rooms that pipeline stages have concluded differently
        self.dead = False

    # ------------------------------------------------------------------------------------------ intake

    def take(self, room: int, text: str) -> None:
        """The body arrives, from the router or, for a request that is computed again, from decode."""
        if not self.dead:
            self.requests[room] = Req(text)
            self.queues.move(room, INTAKE)

    def over(self, room: int) -> bool:
        """Whether the scheduler is through with the room."""
        return self.dead or self.queues.has(room, (OVER,))

    def admit(self, room: int) -> None:
        """Take a request from the intake; one that does not fit is cut, refused, or drains as a placeholder."""
        self._expect(room, INTAKE)
        request = self.requests[room]
        pages = prompts.page_count(request.tokens)
        if pages <= self.longest:
            self._open(room)
            return
        error = f"the prompt has {pages} pages, the prefill pool takes {self.longest}"
        if self._switches.unequal_lengths:
            request.input_text = request.input_text[: self.longest * prompts.PAGE_SIZE]
            self._open(room)
        elif self._switches.reject_at_admission:
            request.input_text = ""
            request.refused = True
            self._fail(room, error, refused=True)
        else:
            request.to_finish = error
            request.input_text = prompts.STUBS[room - 1]
            self._open(room)

    def _open(self, room: int) -> None:
        self.queues.move(room, BOOTSTRAP)
        for rank in self.ranks:
            rank.manager.update_status(room, Status.BOOTSTRAPPING)

    def finalize(self, room: int) -> None:
        """All ranks have decode's page numbers: the request gets a metadata row."""
        self._expect_alive(room, BOOTSTRAP)
        for rank in self.ranks:
            expect(
                rank.manager.status(room) is Status.WAITING,
                f"prefill: a rank does not wait for input for request {prompts.label(room)}",
            )
        (self.requests[room].row,) = self.row_owners.allocate(room, 1)
        self.queues.move(room, WAITING)

    def bootstrap_timeout(self, room: int) -> None:
        """Decode's page numbers have not come in time."""
        self._expect_alive(room, BOOTSTRAP)
        expect(self._switches.timeouts, "environment: nobody loses patience")
        late = [r.manager for r in self.ranks if r.manager.status(room) is Status.BOOTSTRAPPING]
        expect(bool(late), f"prefill: decode's page numbers for request {prompts.label(room)} are here")
        expect(
            self._switches.impatient or self._links.decode.given_up(room),
            f"prefill: decode's page numbers for request {prompts.label(room)} may still come",
        )
        for manager in late:
            manager.update_status(room, Status.FAILED)

    def bootstrap_failure(self, room: int) -> None:
        """The request failed before its forward pass."""
        self._expect(room, BOOTSTRAP, WAITING)
        self._expect_failed(room)
        self._clear(room)
        self._release(room)
        self._fail(room, "the bootstrap failed")

    # ----------------------------------------------------------------------------------- forward passes

    def forward_chunk(self, room: int) -> None:
        """Compute the first of two chunks and hand it over."""
        expect(not self._switches.early_send, "prefill: the first chunk is handed over while it is computed")
        self._allocate_first(room)
        self._compute_first(room)
        self._hand_over(room, 0)
        self.queues.move(room, CHUNKED)

    def launch_chunk(self, room: int) -> None:
        """Start the pass of the first of two chunks, and hand the chunk over at once."""
        expect(self._switches.early_send, "prefill: a chunk is handed over once it is computed")
        self._allocate_first(room)
        self._hand_over(room, 0)
        self.queues.move(room, LAUNCHED)

    def compute_chunk(self, room: int) -> None:
        """The pass that was started is through."""
        self._expect(room, LAUNCHED)
        self._compute_first(room)
        self.queues.move(room, CHUNKED)

    def _allocate_first(self, room: int) -> None:
        self._expect_alive(room, WAITING)
        expect(len(self._chunks(room)) == 2, f"prefill: request {prompts.label(room)} is computed in one pass")
        if self.chunked_req is not None:
            raise Refused(f"prefill: request {prompts.label(self.chunked_req)} is between its chunks")
        self._allocate(room, self._chunks(room)[0])
        self.chunked_req = room

    def _compute_first(self, room: int) -> None:
        self._compute(room, self._chunks(room)[0])
        self.requests[room].first_pass.done = True

    def forward(self, room: int) -> None:
        """Compute what is left of the prompt."""
        chunks = self._chunks(room) if room in self.requests else []
        self._expect_alive(room, WAITING if len(chunks) == 1 else CHUNKED)
        self._allocate(room, chunks[-1])
        self._compute(room, chunks[-1])
        self.requests[room].first_pass.done = True
        self._end_chunks(room)
        self.queues.move(room, FORWARDED)

    def _end_chunks(self, room: int) -> None:
        if self.chunked_req == room:
            self.chunked_req = None

    def _chunks(self, room: int) -> list[range]:
        """Positions that are computed and sent together."""
        pages = prompts.page_count(self.requests[room].tokens)
        if self._switches.two_chunks and pages > 1:
            return [range(1), range(1, pages)]
        return [range(pages)]

    def _allocate(self, room: int, positions: range) -> None:
        chosen = self.pages.allocate(room, len(positions))
        self.requests[room].pages |= zip(positions, chosen, strict=True)

    def _compute(self, room: int, positions: range) -> None:
        # Whole pages are computed: what stands behind the prompt's end on the last page is padding, not old bytes.
        request = self.requests[room]
        for position in positions:
            text = prompts.split(request.input_text)[position].ljust(prompts.PAGE_SIZE, prompts.PAD)
            for rank in self.ranks:
                keys, values = attention.encode(rank.memory.arrays, text, position)
                rank.memory.write(request.pages[position], Image(keys, values, tag=room))

    def _hand_over(self, room: int, number: int) -> None:
        request = self.requests[room]
        chunks = self._chunks(room)
        assert request.row is not None
        pages = {position: request.pages[position] for position in chunks[number]}
        chunk = Chunk(room, pages, number == len(chunks) - 1, request.row, request.first_pass)
        for rank in self.ranks:
            rank.worker.enqueue(chunk)

    def process_result(self, room: int) -> None:
        """The last pass is through: fill the metadata row and hand the last chunk over, or retire the request."""
        self._expect(room, FORWARDED)
        request = self.requests[room]
        if self._switches.retire_after_forward and (request.aborted or request.to_finish is not None):
            self._expect_unread(room)
            self._mark_failed(room)
            request.refused = request.to_finish is not None
            self._release(room)
            self._fail(room, request.to_finish or "aborted")
            return
        request.aborted = False
        assert request.row is not None
        self.rows[request.row] = Row(room, request.tokens, self._digest(request))
        self._hand_over(room, len(self._chunks(room)) - 1)
        self.queues.move(room, INFLIGHT)

    def _digest(self, request: Req) -> bytes:
        if not self._switches.checksum:
            return b""
        # All ranks hold the same prompt, so one digest stands for each of their slices.
        return self.ranks[0].memory.digest([request.pages[position] for position in sorted(request.pages)])

    # -------------------------------------------------------------------------------- the in-flight queue

    def inflight_success(self, room: int) -> None:
        """All ranks have sent everything."""
        self._expect_alive(room, INFLIGHT)
        for rank in self.ranks:
            expect(
                rank.manager.status(room) is Status.SUCCESS and not rank.worker.outstanding(room),
                f"prefill: a rank has not reported success for request {prompts.label(room)}",
            )
        self._release(room)
        self._clear(room)
        self._conclude(room)

    def inflight_failure(self, room: int) -> None:
        """A rank reports a failure: the source pages are freed at once, unless they are held until all is quiet."""
        self._expect(room, INFLIGHT)
        self._expect_failed(room)
        split = self._switches.pipeline and self._split(room)
        self._expect_unread(room)
        if split:
            self.split_verdicts.append(room)
        self._clear(room)
        self._release(room)
        self._fail(room, "the transfer failed")

    def _split(self, room: int) -> bool:
        """Pipeline stages agree on which rooms are through, and each then goes by what it has seen itself."""
        failed = self._failed_ranks(room)
        for bad, rank in zip(failed, self.ranks, strict=True):
            through = bad or rank.manager.status(room) is Status.SUCCESS
            expect(through, f"prefill: a stage is not through with request {prompts.label(room)}")
        return not all(failed)

    def handle_abort(self, room: int) -> None:
        """An abort: what it does depends on the queue that the request is in."""
        expect(room in self.aborts, f"prefill: no abort of request {prompts.label(room)} is pending")
        if self.over(room):
            self.aborts.discard(room)
            return
        self._expect(room, BOOTSTRAP, WAITING, CHUNKED, FORWARDED, INFLIGHT)
        if self.queues.has(room, (CHUNKED,)):
            self._expect_unread(room)
        self.aborts.discard(room)
        if self.queues.has(room, (BOOTSTRAP, CHUNKED, INFLIGHT)) or (
            self.queues.has(room, (WAITING,)) and self._switches.abort_waiting_sender
        ):
            self._mark_failed(room)
        if self.queues.has(room, (WAITING, CHUNKED)):
            self._release(room)
            self._fail(room, "aborted")
        else:
            self.requests[room].aborted = True

    # ------------------------------------------------------------------------------------------- the end

    def _expect_unread(self, room: int) -> None:
        """With the hold of source pages they are kept until no chunk of the room needs them any more."""
        reading = self._links.engine.of(room) or any(rank.worker.needs_source(room) for rank in self.ranks)
        expect(
            not (self._switches.source_hold and reading),
            f"prefill: pages of request {prompts.label(room)} are held until its writes have drained",
        )

    def _mark_failed(self, room: int) -> None:
        for rank in self.ranks:
            rank.manager.update_status(room, Status.FAILED)

    def _clear(self, room: int) -> None:
        for rank in self.ranks:
            rank.manager.clear(room)

    def _release(self, room: int) -> None:
        self.pages.release(room)
        self.row_owners.release(room)

    def _conclude(self, room: int) -> None:
        self._end_chunks(room)
        self.queues.move(room, OVER)
        self.aborts.discard(room)

    def _fail(self, room: int, error: str, *, refused: bool = False) -> None:
        """The leg ends with an error, of which decode hears nothing by itself."""
        self._conclude(room)
        self._links.router.prefill_failed(room, error, refused=refused)
        if self._switches.prefill_notifies and self._links.decode.awaits(room):
            for p, d in self._links.network.pairs:
                self.ranks[p].manager.send(d, Failure(room))

    def die(self) -> None:
        """The node stops; what its network card has posted may still land."""
        expect(self._switches.node_failure and not self.dead, "environment: the prefill node does not die now")
        self._links.faults.spend()
        self.dead = True
        rooms = range(1, self._links.sizes.requests + 1)
        for room in rooms:
            self._release(room)
        self.aborts.clear()
        for number, rank in enumerate(self.ranks):
            rank.manager.die()
            rank.worker.die(rooms)
            rank.thread.die()
            for room in rooms:
                self._links.engine.abandon(number, room)
        for socket in self._links.network.up.values():
            socket.unread.clear()

    def forget(self, room: int) -> None:
        """Both sides are through with the room and nothing is on its way: nobody remembers its numbers."""
        self.aborts.discard(room)
        request = self.requests.get(room)
        if request is not None:
            request.pages, request.row, request.input_text = {}, None, ""
            request.aborted, request.first_pass = False, Pass()
        for rank in self.ranks:
            rank.worker.forget(room)

    def _expect(self, room: int, *queues: str) -> None:
        expect(not self.dead, "prefill: the node is dead")
        self.queues.expect(room, *queues)

    def _expect_alive(self, room: int, *queues: str) -> None:
        self._expect(room, *queues)
        expect(not self.requests[room].aborted, f"prefill: request {prompts.label(room)} is aborted")

    def _failed_ranks(self, room: int) -> list[bool]:
        """Of which ranks the senders report a failure; of all, once the request is aborted."""
        aborted = self.requests[room].aborted
        return [aborted or not rank.manager.alive(room) for rank in self.ranks]

    def _expect_failed(self, room: int) -> None:
        failed = any(self._failed_ranks(room))
        expect(failed, f"prefill: no rank reports a failure for request {prompts.label(room)}")
