"""The decode scheduler: reservation, transfer, attention, answers, every way to give pages back."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvproto.reference import attention, prompts
from kvproto.reference.array import Arrays
from kvproto.reference.pages import Image
from kvproto.reference.queues import Queues
from kvproto.reference.refusal import Refused, expect
from kvproto.reference.sglang.links import Links
from kvproto.reference.sglang.messages import Abort, Failure, Success
from kvproto.reference.sglang.receiver import Rank
from kvproto.reference.sglang.rooms import Status
from kvproto.reference.sglang.worker import Stage

INTAKE, PREALLOC, TRANSFER = "intake", "the prealloc queue", "the transfer queue"
WAITING, RUNNING, DEFERRED, OVER = "the waiting queue", "the running batch", "deferred releases", "no queue any more"


@dataclass(slots=True)
class Req:
    """A request as decode knows it.

    `passes` are what attention gave, newest last: a text for each slice, by decode rank and prefill rank.
    """

    prompt_tokens: int
    retracted: bool = False
    digests: dict[int, bytes] = field(default_factory=dict)  # from the metadata rows, by decode rank
    passes: list[dict[tuple[int, int], str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Shared:
    """A page that went into the prefix tree, with the bytes that it held."""

    room: int
    image: Image


class Decode:
    """One decode node."""

    def __init__(self, links: Links, arrays: Arrays) -> None:
        self._links = links
        self._switches = links.switches
        self.ranks = [Rank(rank, links, arrays) for rank in range(links.sizes.decode_ranks)]
        self.queues = Queues("decode")
        self.requests: dict[int, Req] = {}
        self.aborts: set[int] = set()  # rooms whose abort has not been handled
        self.tree: list[Shared] = []

    def over(self, room: int) -> bool:
        """Whether decode is through with the room."""
        return self.queues.has(room, (OVER,))

    def holds(self, room: int) -> bool:
        """Whether the room's pages are kept by a deferred release."""
        return self.queues.has(room, (DEFERRED,))

    def given_up(self, room: int) -> bool:
        """Whether decode does not wait for the room any more, and will not again."""
        return self.queues.has(room, (DEFERRED, OVER))

    def awaits(self, room: int) -> bool:
        """Whether news of the transfer still interests decode."""
        return self.queues.of(room) in (None, INTAKE, PREALLOC, TRANSFER)

    def in_transfer(self, room: int) -> bool:
        """Whether the room has its pages and not yet its first token."""
        return self.queues.has(room, (TRANSFER, WAITING))

    # ----------------------------------------------------------------------------------- into the queues

    def take(self, room: int, prompt_tokens: int) -> None:
        """The router's body arrives."""
        self.requests[room] = Req(prompt_tokens)
        self.queues.move(room, INTAKE)

    def enter(self, room: int) -> None:
        """Take a request in and shake hands with prefill; refuse a prompt beyond the pool."""
        self.queues.expect(room, INTAKE)
        count = prompts.page_count(self.requests[room].prompt_tokens)
        pages = self._links.sizes.decode_pages
        if count > pages:
            self._links.router.respond(room, 400, f"the prompt has {count} pages, the decode pool {pages}")
            self._conclude(room)
            return
        self.queues.move(room, PREALLOC)
        for rank in self.ranks:
            rank.receivers[room].status = Status.WAITING

    def prealloc(self, room: int) -> None:
        """Reserve a page for every page of the prompt and a metadata row, on every rank."""
        self.queues.expect(room, PREALLOC)
        self._expect_status(room, Status.WAITING)
        count = prompts.page_count(self.requests[room].prompt_tokens)
        for rank in self.ranks:
            rank.pages.expect(count)
            rank.row_owners.expect(1)
        self.queues.move(room, TRANSFER)
        for rank in self.ranks:
            rank.reserve(room, count)

    def prealloc_failure(self, room: int) -> None:
        """The request failed before anything was reserved."""
        self.queues.expect(room, PREALLOC)
        self._expect_failed(room)
        self._fail(room, "the request failed before its transfer")

    # --------------------------------------------------------------------------------------- the transfer

    def waiting_timeout(self, d: int, room: int) -> None:
        """A rank loses patience; with patient time-outs only where nothing is left on its way."""
        self.queues.expect(room, TRANSFER)
        expect(self._switches.timeouts, "environment: nobody loses patience")
        expect(
            self._switches.impatient or self._in_vain(room),
            f"decode: something of request {prompts.label(room)} is on its way",
        )
        self.ranks[d].waiting_timeout(room)

    def _in_vain(self, room: int) -> bool:
        prefill, network = self._links.prefill, self._links.network
        return (
            prefill.over(room)
            and room not in self.aborts
            and all(
                self.ranks[d].receivers[room].status is Status.WAITING
                and not prefill.ranks[p].worker.busy(room)
                and not any(isinstance(m, Success | Failure) for m in network.down[p, d].of(room))
                for p, d in network.pairs
            )
        )

    def transfer_failure(self, room: int) -> None:
        """A rank reports that the transfer failed: tell the client, free the pages or hold them."""
        self.queues.expect(room, TRANSFER)
        self._expect_failed(room)
        self._links.router.respond(room, 500, "the transfer failed")
        if self._switches.deferred_release and self._switches.defer_all_failures:
            self._notify_abort(room)
        if self._switches.deferred_release and any(rank.receivers[room].notified for rank in self.ranks):
            self._hold(room)
        else:
            self._release(room)

    def _hold(self, room: int) -> None:
        self.queues.move(room, DEFERRED)
        self.aborts.discard(room)
        if self._switches.bounded_batch:
            for p in range(self._links.sizes.prefill_ranks):
                self._links.engine.bound(p, room)
        if not self._switches.rank_agreement:
            for rank in self.ranks:
                if not rank.receivers[room].notified:
                    rank.release(room)

    def commit(self, room: int) -> None:
        """Take success and a metadata row on every rank to mean that the reserved pages hold the prompt."""
        self.queues.expect(room, TRANSFER)
        self._expect_status(room, Status.SUCCESS)
        rows = {rank.rank: rank.row_of(room) for rank in self.ranks}
        for d, row in rows.items():
            expect(row.room != 0, f"decode rank {d}: the metadata row of request {prompts.label(room)} is empty")
        request = self.requests[room]
        if any(row.room != room for row in rows.values()):
            self._fail(room, "a metadata row belongs to another room")
        elif self._switches.token_count_check and any(row.tokens != request.prompt_tokens for row in rows.values()):
            self._fail(room, "the number of tokens that were transferred is not the prompt's")
        else:
            self.queues.move(room, WAITING)
            request.digests = {d: row.digest for d, row in rows.items()}
            for rank in self.ranks:
                rank.leave_room(room)

    def heartbeat_failure(self, room: int) -> None:
        """Prefill has missed its heartbeats."""
        expect(self._links.prefill.dead, "decode: prefill answers its heartbeats")
        self.queues.expect(room, PREALLOC, TRANSFER)
        receivers = [rank.receivers[room] for rank in self.ranks]
        expect(
            any(receiver.status is Status.WAITING for receiver in receivers),
            f"decode: no rank waits for request {prompts.label(room)}",
        )
        for receiver in receivers:
            if receiver.status is not Status.SUCCESS:
                receiver.status = Status.FAILED

    # -------------------------------------------------------------------------------------------- reading

    def attend(self, room: int) -> None:
        """Run attention over all reserved pages; its output is the answer so far."""
        self.queues.expect(room, WAITING, RUNNING)
        first = self.queues.has(room, (WAITING,))
        for rank in self.ranks:
            error = rank.refusal(room, first=first)
            if error is not None:
                self._fail(room, error)
                return
        try:
            read = self._read(room)
        except attention.WrongTag:
            self._fail(room, "a page carries another request's tag")
            return
        if first:
            self._share(room)
        self.queues.move(room, RUNNING)
        passes = self.requests[room].passes
        # A pass that reads the same again adds no text to the answer.
        if not passes or passes[-1] != read:
            passes.append(read)

    def _read(self, room: int) -> dict[tuple[int, int], str]:
        """What attention gives on every rank, for every slice; whoever reads a page looks at its tag, if asked to."""
        read = {}
        for rank in self.ranks:
            table = rank.receivers[room].pages
            expected = [room] * len(table) if self._switches.carried_tags else None
            for p, memory in rank.slices.items():
                read[rank.rank, p] = attention.attend(memory, table, expected=expected)
        return read

    def _share(self, room: int) -> None:
        """The pages become a prefix that later requests may share."""
        if self._switches.decode_tree:
            self.tree += [
                Shared(room, memory.read(page))
                for rank in self.ranks
                for memory in rank.slices.values()
                for page in rank.receivers[room].pages
            ]

    def finish(self, room: int) -> None:
        """All tokens are there: answer the client, free the pages."""
        self.queues.expect(room, RUNNING)
        texts = [text for read in self.requests[room].passes for text in read.values()]
        self._links.router.respond(room, 200, "\n".join(texts))
        self._release(room)

    def retract(self, room: int) -> None:
        """Take the pages of a running request; prefill computes it again, in the same room."""
        expect(self._switches.retraction, "decode: running requests are not retracted")
        self.queues.expect(room, RUNNING)
        request = self.requests[room]
        expect(not request.retracted, f"decode: request {prompts.label(room)} was retracted before")
        prefill = self._links.prefill
        expect(not prefill.dead and prefill.over(room), "decode: prefill does not take the request again now")
        request.retracted = True
        for rank in self.ranks:
            rank.reopen(room)
        self.queues.move(room, PREALLOC)
        prefill.take(room, self._links.router.calls[room].prompt)
        for rank_of_prefill in prefill.ranks:
            rank_of_prefill.worker.through.pop(room, None)
        # Writes of the first life are not followed into the second; that there were any is noted by the cluster.
        self._links.engine.drop(room)

    # ---------------------------------------------------------------------------------- aborts and releases

    def handle_abort(self, room: int) -> None:
        """An abort: what it does depends on the queue that the request is in."""
        expect(room in self.aborts, f"decode: no abort of request {prompts.label(room)} is pending")
        self.queues.expect(room, PREALLOC, TRANSFER, WAITING, RUNNING, DEFERRED, OVER)
        self.aborts.discard(room)
        if self.queues.has(room, (PREALLOC, TRANSFER)):
            for rank in self.ranks:
                rank.receivers[room].status = Status.FAILED
            self._notify_abort(room)
        elif self.queues.has(room, (WAITING, RUNNING)):
            if self.queues.has(room, (WAITING,)):
                self._share(room)
            self._fail(room, "aborted")

    def release_drained(self, d: int, room: int) -> None:
        """Prefill has acknowledged that nothing more is coming: free the held pages."""
        self._expect_held(d, room)
        rank = self.ranks[d]
        if self._switches.rank_agreement:
            # All ranks go together; one that has told nobody waits for nobody.
            for each in self.ranks:
                expect(
                    each.drained(room) or not each.receivers[room].notified,
                    f"decode rank {each.rank}: prefill has not acknowledged request {prompts.label(room)}",
                )
            self._release(room)
        else:
            expect(rank.drained(room), f"decode rank {d}: prefill has not acknowledged request {prompts.label(room)}")
            self._release_rank(rank, room)

    def release_timeout(self, d: int, room: int) -> None:
        """The time limit is over: free the held pages, drained or not."""
        self._expect_held(d, room)
        expect(not self._switches.no_release_timeout, "decode: a hold has no time limit")
        expect(not self.ranks[d].drained(room), f"decode rank {d}: request {prompts.label(room)} has drained")
        if self._switches.bounded_batch:
            self._expect_batches_over(room)
        if self._switches.prompt_abort and any(
            isinstance(message, Abort) for p in self.ranks[d].peers for message in self._links.network.up[p, d].of(room)
        ):
            raise Refused("decode: the abort is on its way, and reaches prefill before the time limit")
        if self._switches.rank_agreement:
            self._release(room)
        else:
            self._release_rank(self.ranks[d], room)

    def _expect_batches_over(self, room: int) -> None:
        if any(write.bounded for write in self._links.engine.of(room)):
            raise Refused("decode: a batch is on its way that does not outlive the time limit")
        for rank in self._links.prefill.ranks:
            job = rank.worker.jobs.get(room)
            if job is not None and job.stage is Stage.CHECKED and rank.worker.outstanding(room):
                raise Refused("decode: a worker is about to post a batch, which does not outlive the time limit")

    def _expect_held(self, d: int, room: int) -> None:
        self.queues.expect(room, DEFERRED)
        held = self.ranks[d].receivers[room].holding
        expect(held, f"decode rank {d}: nothing of request {prompts.label(room)} is held")

    def _release_rank(self, rank: Rank, room: int) -> None:
        rank.release(room)
        if not any(each.receivers[room].holding for each in self.ranks):
            self._release(room)

    def _release(self, room: int) -> None:
        for rank in self.ranks:
            rank.release(room)
        self._conclude(room)

    def _conclude(self, room: int) -> None:
        self.queues.move(room, OVER)
        self.aborts.discard(room)

    def _fail(self, room: int, error: str) -> None:
        self._links.router.respond(room, 500, error)
        self._release(room)

    def _notify_abort(self, room: int) -> None:
        for rank in self.ranks:
            rank.notify_abort(room)

    def _expect_status(self, room: int, status: Status) -> None:
        for rank in self.ranks:
            if rank.receivers[room].status is not status:
                raise Refused(f"decode rank {rank.rank}: request {prompts.label(room)} is not at: {status.value}")

    def _expect_failed(self, room: int) -> None:
        if all(rank.receivers[room].status is not Status.FAILED for rank in self.ranks):
            raise Refused(f"decode: no rank reports a failure for request {prompts.label(room)}")

    def forget(self, room: int) -> None:
        """Both sides are through with the room and nothing is on its way: nobody remembers its numbers."""
        self.aborts.discard(room)
        for rank in self.ranks:
            rank.forget(room)
