"""The decode scheduler: reservation, commit, attention, and every way to give pages back."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.reference import attention, prompts
from kvproto.reference.outline.mitigations import Switches
from kvproto.reference.outline.protocol import Links, Status
from kvproto.reference.pages import Pool
from kvproto.reference.queues import Queues
from kvproto.reference.refusal import Refused

PREALLOC, TRANSFER, WAITING = "prealloc", "transfer", "waiting"
RUNNING, DEFERRED = "running", "deferred release"
FINISHED, ABORTED = "finished", "aborted"
CONCLUDED = (FINISHED, ABORTED)


@dataclass(slots=True)
class Req:
    """A request as decode knows it.  `passes` are the texts that attention gave, newest last."""

    prompt_tokens: int
    pages: tuple[int, ...] = ()  # reserved, by position; known after they are freed, as prefill has them too
    generations: tuple[int, ...] = ()  # of the pages when they were reserved
    status: Status | None = None
    sent_tokens: int = 0
    sent_digest: bytes = b""
    passes: list[str] = field(default_factory=list)


class Decode:
    """One decode node."""

    def __init__(self, links: Links, pool: Pool, switches: Switches) -> None:
        self._links = links
        self._switches = switches
        self.pool = pool
        self.queues = Queues("decode")
        self.requests: dict[int, Req] = {}
        self.aborts: set[int] = set()  # rooms whose abort has not been handled

    def take(self, room: int, prompt_tokens: int) -> None:
        """The router's body arrives."""
        self.requests[room] = Req(prompt_tokens)
        self.queues.move(room, PREALLOC)

    def receive_status(self, room: int, status: Status, tokens: int, digest: bytes) -> None:
        """Prefill's word on a room: how it went, tokens transferred, digest of the pages as they were sent."""
        request = self.requests[room]
        request.status, request.sent_tokens, request.sent_digest = status, tokens, digest

    def notify_abort(self, room: int) -> None:
        """An abort arrives; it is dropped if the room is past it."""
        if self.queues.has(room, (PREALLOC, TRANSFER, WAITING, RUNNING)):
            self.aborts.add(room)

    def concluded(self, room: int) -> bool:
        """Whether decode is through with the room and holds none of its pages."""
        return self.queues.has(room, CONCLUDED)

    def in_transfer(self, room: int) -> bool:
        """Whether the room has its pages and not yet its first token."""
        return self.queues.has(room, (TRANSFER, WAITING))

    def forget(self, room: int) -> None:
        """Drop the page numbers of a room that both sides are through with."""
        self.requests[room].pages = ()
        self.requests[room].generations = ()

    def prealloc(self, room: int) -> None:
        """Reserve a page for every page of the prompt and publish the numbers; refuse a prompt beyond the pool."""
        self.queues.expect(room, PREALLOC)
        request = self.requests[room]
        count = prompts.page_count(request.prompt_tokens)
        if count > self.pool.pages:
            error = f"the prompt has {count} pages, the decode pool {self.pool.pages}"
            self._links.router.respond(room, 400, error)
            self._stop(room)
            return
        request.pages = self.pool.allocate(room, count)
        request.generations = tuple(self.pool.generations[page] for page in request.pages)
        self.queues.move(room, TRANSFER)
        self._links.prefill.receive_metadata(room, request.pages)

    def commit(self, room: int) -> None:
        """Take prefill's success to mean that the reserved pages hold the prompt."""
        self.queues.expect(room, TRANSFER)
        request = self.requests[room]
        if request.status is not Status.SUCCESS:
            raise Refused(f"decode: prefill has not reported success for request {prompts.label(room)}")
        if self._switches.token_count_check and request.sent_tokens != request.prompt_tokens:
            self._fail(room, f"{request.sent_tokens} of {request.prompt_tokens} tokens were transferred")
        else:
            self.queues.move(room, WAITING)

    def attend(self, room: int) -> None:
        """Run attention over all reserved pages; its output is the answer so far."""
        self.queues.expect(room, WAITING, RUNNING)
        request = self.requests[room]
        error = self._refusal(room)
        if error is not None:
            self._fail(room, error)
            return
        expected = [room] * len(request.pages) if self._switches.carried_tags else None
        try:
            text = attention.attend(self.pool, request.pages, expected=expected)
        except attention.WrongTag:
            self._fail(room, "a page carries another request's tag")
            return
        self.queues.move(room, RUNNING)
        # A pass that reads the same again adds no text to the answer.
        if not request.passes or request.passes[-1] != text:
            request.passes.append(text)

    def _refusal(self, room: int) -> str | None:
        """Why the pages must not be read, as far as checks in front of the read can tell."""
        request = self.requests[room]
        if self._switches.checksum and self.queues.has(room, (WAITING,)):
            if self.pool.digest(request.pages) != request.sent_digest:
                return "the checksum of the transferred KV is wrong"
        if self._switches.page_tags:
            now = tuple(self.pool.generations[page] for page in request.pages)
            if now != request.generations:
                return "a page was given away after it was reserved"
        return None

    def finish(self, room: int) -> None:
        """All tokens are there: answer the client, free the pages."""
        self.queues.expect(room, RUNNING)
        self.aborts.discard(room)
        self._links.router.respond(room, 200, "\n".join(self.requests[room].passes))
        self.pool.free(room)
        self.queues.move(room, FINISHED)

    def handle_abort(self, room: int) -> None:
        """Act on an abort."""
        if room not in self.aborts:
            raise Refused(f"decode: no abort of request {prompts.label(room)} is pending")
        self._stop(room)

    def fail_transfer(self, room: int) -> None:
        """Give a request up while its transfer is awaited: time-out, lost node, failed status."""
        self.queues.expect(room, TRANSFER)
        self._fail(room, "the transfer failed")

    def _fail(self, room: int, error: str) -> None:
        self._links.router.respond(room, 500, error)
        self._stop(room)

    def _stop(self, room: int) -> None:
        """End a request without an answer from here: tell prefill, free the pages or hold them."""
        self.aborts.discard(room)
        self._links.prefill.notify_abort(room)
        if self._switches.deferred_release and self.queues.has(room, (TRANSFER,)):
            self.queues.move(room, DEFERRED)
        else:
            self._release(room)

    def release_acknowledged(self, room: int) -> None:
        """Prefill has acknowledged that nothing more is coming: free the held pages."""
        self.queues.expect(room, DEFERRED)
        if not self._links.prefill.concluded(room):
            raise Refused(f"decode: prefill has not acknowledged the end of request {prompts.label(room)}")
        self._release(room)

    def release_expired(self, room: int) -> None:
        """The time limit is over: free the held pages, drained or not."""
        self.queues.expect(room, DEFERRED)
        if not self._switches.release_timeout:
            raise Refused("decode: a deferred release has no time limit")
        if self._switches.bounded_batch and self._links.transport.in_flight(room):
            raise Refused("decode: writes are in flight, and none outlives the time limit")
        if self._switches.prompt_abort and self._links.prefill.abort_pending(room):
            raise Refused("decode: the abort is on its way, and reaches prefill before the time limit")
        self._release(room)

    def _release(self, room: int) -> None:
        self.pool.free(room)
        self.queues.move(room, ABORTED)
