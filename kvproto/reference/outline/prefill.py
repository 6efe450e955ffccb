"""The prefill scheduler: admission, the forward pass, sending, and what becomes of aborted requests."""

from __future__ import annotations

from dataclasses import dataclass

from kvproto.reference import attention, prompts
from kvproto.reference.outline.mitigations import Switches
from kvproto.reference.outline.protocol import Links, Status
from kvproto.reference.pages import Image, Pool
from kvproto.reference.queues import Queues
from kvproto.reference.refusal import Refused

INTAKE, BOOTSTRAP, FORWARDED, INFLIGHT, DRAINING = "intake", "bootstrap", "forwarded", "inflight", "draining"
DONE, REJECTED, ABORTED = "done", "rejected", "aborted"
CONCLUDED = (DONE, REJECTED, ABORTED)


@dataclass(slots=True)
class Req:
    """A request as prefill knows it.  `input_text` is the prompt, until a rejection swaps it for a placeholder."""

    input_text: str
    to_finish: str | None = None  # an error that is to become the verdict, and that nobody looks at yet
    targets: tuple[int, ...] = ()  # decode pool pages, from decode's metadata message
    pages: tuple[int, ...] = ()  # prefill pool pages; kept for the writes after they are freed
    digest: bytes = b""  # of the pages as they were sent

    def set_finish_with_abort(self, room: int, error: str) -> None:
        """Record an error and swap the prompt for one token, so that the request can drain as others do."""
        self.to_finish = error
        self.input_text = prompts.STUBS[room - 1]


class Prefill:
    """One prefill node."""

    def __init__(self, links: Links, pool: Pool, longest: int, switches: Switches) -> None:
        self._links = links
        self._longest = longest  # pages of the longest prompt that is taken
        self._switches = switches
        self.pool = pool
        self.queues = Queues("prefill")
        self.requests: dict[int, Req] = {}
        self.aborts: set[int] = set()  # rooms whose ABORT message has not been handled

    def take(self, room: int, text: str) -> None:
        """The router's body arrives."""
        self.requests[room] = Req(text)
        self.queues.move(room, INTAKE)

    def receive_metadata(self, room: int, targets: tuple[int, ...]) -> None:
        """Decode tells which of its pages wait for the room's KV, in order of position."""
        self.requests[room].targets = targets

    def notify_abort(self, room: int) -> None:
        """An ABORT message arrives; it is dropped if the room is past it."""
        if self.queues.has(room, (INTAKE, BOOTSTRAP, FORWARDED, INFLIGHT)):
            self.aborts.add(room)

    def concluded(self, room: int) -> bool:
        """Whether nothing more is done, and sent, for the room."""
        return self.queues.has(room, CONCLUDED)

    def abort_pending(self, room: int) -> bool:
        """Whether an abort of the room is under way and has not been handled."""
        return room in self.aborts

    def forget(self, room: int) -> None:
        """Drop the page numbers of a room that both sides are through with."""
        self.requests[room].pages = ()
        self.requests[room].targets = ()

    def admit(self, room: int) -> None:
        """Take a request from the intake; one that does not fit the pool is refused, or drains as a placeholder."""
        self.queues.expect(room, INTAKE)
        request = self.requests[room]
        pages = prompts.page_count(len(request.input_text))
        if pages <= self._longest:
            self.queues.move(room, BOOTSTRAP)
            return
        error = f"the prompt has {pages} pages, the prefill pool takes {self._longest}"
        if self._switches.reject_at_admission:
            self._reject(room, error)
        else:
            request.set_finish_with_abort(room, error)
            self.queues.move(room, BOOTSTRAP)

    def _reject(self, room: int, error: str) -> None:
        self.queues.move(room, REJECTED)
        self.aborts.discard(room)
        self._links.router.respond(room, 400, error)
        self._links.decode.notify_abort(room)

    def forward(self, room: int) -> None:
        """Compute the KV of the prompt, as prefill has it now, into pages of the pool."""
        self.queues.expect(room, BOOTSTRAP)
        request = self.requests[room]
        if not request.targets:
            raise Refused(f"prefill: decode has not told where the KV of request {prompts.label(room)} goes")
        request.pages = self.pool.allocate(room, prompts.page_count(len(request.input_text)))
        for position, page in enumerate(request.pages):
            self.pool.write(page, self._compute(room, position))
        self.queues.move(room, FORWARDED)
        if self._switches.retire_after_forward and request.to_finish is not None:
            self.pool.free(room)
            self._reject(room, request.to_finish)

    def _compute(self, room: int, position: int) -> Image:
        # Whole pages are computed: what stands behind the prompt's end on the last page is padding, not old bytes.
        text = prompts.split(self.requests[room].input_text)[position].ljust(prompts.PAGE_SIZE, prompts.PAD)
        keys, values = attention.encode(self.pool.arrays, text, position)
        return Image(keys, values, tag=room)

    def send(self, room: int) -> None:
        """Post one write for each page.  How many pages decode waits for is not asked."""
        self.queues.expect(room, FORWARDED)
        request = self.requests[room]
        if self._switches.checksum:
            request.digest = self.pool.digest(request.pages)
        for position, page in enumerate(request.pages):
            self._links.transport.post(room, position, page, request.targets[position])
        self.queues.move(room, INFLIGHT)

    def conclude(self, room: int) -> None:
        """All writes have landed: report success, free the pages."""
        self.queues.expect(room, INFLIGHT)
        self._expect_quiet(room)
        self._report(room, Status.SUCCESS)
        self.aborts.discard(room)
        self.pool.free(room)
        self.queues.move(room, DONE)

    def handle_abort(self, room: int) -> None:
        """Act on an ABORT message.  Posted writes go on; their source pages are freed all the same, by default."""
        if not self.abort_pending(room):
            raise Refused(f"prefill: no abort of request {prompts.label(room)} is pending")
        self.aborts.discard(room)
        if self.queues.has(room, (INFLIGHT,)):
            self.queues.move(room, DRAINING)
            if not self._switches.deferred_source_release:
                self.pool.free(room)
        else:
            self.pool.free(room)
            self.queues.move(room, ABORTED)

    def drained(self, room: int) -> None:
        """The transfer worker is through with an aborted room and reports how it went."""
        self.queues.expect(room, DRAINING)
        self._expect_quiet(room)
        self._report(room, Status.FAILED if self._switches.failed_is_terminal else Status.SUCCESS)
        self.pool.free(room)
        self.queues.move(room, ABORTED)

    def _expect_quiet(self, room: int) -> None:
        flying = self._links.transport.unconfirmed(room)
        if flying:
            where = ", ".join(map(str, flying))
            raise Refused(f"prefill: writes of request {prompts.label(room)} are in flight (pages {where})")

    def _report(self, room: int, status: Status) -> None:
        request = self.requests[room]
        self._links.decode.receive_status(room, status, len(request.input_text), request.digest)
