"""The transfer worker of one prefill rank."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from kvproto.reference.prompts import label
from kvproto.reference.refusal import Refused, expect
from kvproto.reference.sglang.rooms import Info, Manager, Status
from kvproto.reference.sglang.transport import Write

if TYPE_CHECKING:
    from kvproto.reference.sglang.links import Links


class Pass:
    """A forward pass; `done` once it has filled its pages."""

    def __init__(self) -> None:
        self.done = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a prompt to be sent: source pages by position.  The last one brings the metadata row too."""

    room: int
    pages: dict[int, int]
    last: bool
    row: int
    filled_by: Pass


class Stage(Enum):
    """How far the worker is with a chunk."""

    DEQUEUED = "dequeued"
    CHECKED = "checked"
    CALLING = "calling"
    AUX = "writing the metadata row"


@dataclass(slots=True)
class Job:
    """A chunk in work: what is left to post of it, and in how many batches the rest was posted.

    `infos` are decode's page numbers as they were when the room was looked at; a room that is cleared keeps them here.
    """

    chunk: Chunk
    stage: Stage = Stage.DEQUEUED
    infos: dict[int, Info] = field(default_factory=dict)
    unposted: list[int] = field(default_factory=list)
    batches: int = 0


class TransferWorker:
    """Takes chunks from the queues of its rank.  Each room has a queue and a thread of its own here.

    The engine spreads rooms over a few threads; which rooms meet in one is chance, so none do here.
    """

    def __init__(self, manager: Manager, links: Links) -> None:
        self._manager = manager
        self._links = links
        self._switches = links.switches
        self.queues: dict[int, deque[Chunk]] = {}
        self.jobs: dict[int, Job] = {}
        self.dead: set[int] = set()  # rooms whose thread has died
        self.through: dict[int, int] = {}  # room -> chunks that were sent or skipped
        manager.outstanding = self.counted

    def outstanding(self, room: int) -> bool:
        """Whether a chunk of the room is dequeued and not finished; nobody counts for a dead thread."""
        return room in self.jobs and room not in self.dead

    def counted(self, room: int) -> bool:
        """Whether a chunk of the room counts as outstanding; one whose thread has died is never taken off."""
        return room in self.jobs or room in self.dead

    def queued(self, room: int) -> int:
        """Chunks of the room in the queue."""
        return len(self.queues.get(room, ()))

    def busy(self, room: int) -> bool:
        """Whether a chunk of the room is queued or in work."""
        return self.queued(room) > 0 or self.outstanding(room)

    def needs_source(self, room: int) -> bool:
        """Whether the thread will still read, or is reading, source pages of the room."""
        return self.busy(room) and room not in self.dead

    def enqueue(self, chunk: Chunk) -> None:
        """Take a chunk over, if the room is alive and decode's page numbers are known."""
        if self._manager.alive(chunk.room) and self._manager.infos(chunk.room):
            self.queues.setdefault(chunk.room, deque()).append(chunk)

    def dequeue(self, room: int) -> None:
        """Take the next chunk of the room; from now on it is outstanding."""
        expect(self.queued(room) > 0, f"{self._name(room)} has no chunk in its queue")
        expect(room not in self.jobs and room not in self.dead, f"{self._name(room)} is not free")
        self.jobs[room] = Job(self.queues[room].popleft())

    def check(self, room: int) -> None:
        """Look at the room: chunks of a failed or cleared one are skipped, failed sessions are not tried."""
        job = self._job(room, Stage.DEQUEUED)
        manager = self._manager
        if not manager.alive(room):
            self._through(room)
            self._drained(room)
            return
        if self._switches.early_send_wait and not job.chunk.filled_by.done:
            raise Refused(f"{self._name(room)} waits for the forward pass")
        if manager.failed_sessions.intersection(manager.infos(room)):
            manager.update_status(room, Status.FAILED)
            infos = manager.infos(room)
            told = infos if self._switches.failure_to_all else manager.failed_sessions.intersection(infos)
            manager.report(room, told, success=False)
            self._finish(room)
        else:
            job.stage = Stage.CHECKED
            job.infos = dict(manager.infos(room))

    def begin(self, room: int) -> None:
        """Call the transfer engine with the chunk, or with the first batch of it."""
        job = self._job(room, Stage.CHECKED)
        job.stage = Stage.CALLING
        job.unposted = sorted(job.chunk.pages)
        # The room was alive a moment ago: if decode holds it by now, this batch is as old as the hold.
        self._post(job, bounded=self._switches.bounded_batch and self._links.decode.holds(room))

    def next_batch(self, room: int) -> None:
        """The batch has landed and there is another one."""
        job = self._job(room, Stage.CALLING)
        expect(self._switches.bounded_batch, f"{self._name(room)} posts all pages at once")
        self._expect_landed(room)
        expect(bool(job.unposted), f"{self._name(room)} has posted all pages of the chunk")
        if self._switches.batch_recheck and not self._manager.alive(room):
            self._finish(room)
        else:
            # With a look at the room before each batch the last one began before the abort; without, many follow.
            self._post(job, bounded=self._switches.batch_recheck and self._links.decode.holds(room))

    def _post(self, job: Job, *, bounded: bool) -> None:
        batch = job.unposted[:1] if self._switches.bounded_batch else job.unposted
        job.unposted = job.unposted[len(batch) :]
        job.batches += 1
        room = job.chunk.room
        for d, info in job.infos.items():
            for position in batch:
                # Decode may have reserved fewer pages than prefill has; there is nothing to write the others to.
                if position < len(info.pages):
                    source, target = job.chunk.pages[position], info.pages[position]
                    rank = self._manager.rank
                    self._links.engine.post(Write(rank, d, room, position, source, target, bounded=bounded))

    def call_succeeds(self, room: int) -> None:
        """The call returns 0: all its writes have landed.  After the last chunk comes the metadata row."""
        job = self._job(room, Stage.CALLING)
        self._expect_landed(room)
        expect(not job.unposted, f"{self._name(room)} has not posted all pages of the chunk")
        if job.chunk.last and job.infos:
            job.stage = Stage.AUX
        else:
            self._finish(room)

    def call_fails(self, room: int, d: int) -> None:
        """The call returns an error for one decode rank; its writes stay on their way."""
        job = self._job(room, Stage.CALLING)
        manager = self._manager
        expect(self._switches.transfer_failures, "environment: calls do not fail")
        expect(d in job.infos, f"{self._name(room)} sends nothing to decode rank {d}")
        self._links.faults.spend()
        self._links.engine.fail(manager.rank, d, room)
        manager.failed_sessions.add(d)
        manager.poison(room)
        if manager.status(room) is not None or not self._switches.conclude_rechecks:
            manager.update_status(room, Status.FAILED)
            manager.report(room, job.infos if self._switches.failure_to_all else (d,), success=False)
        self._finish(room)

    def resubmit(self, room: int) -> None:
        """The engine posts the batch of the running call again, while the first attempt is still on its way."""
        self._job(room, Stage.CALLING)
        engine, rank = self._links.engine, self._manager.rank
        expect(self._switches.resubmission, "environment: batches are not posted again")
        expect(bool(engine.awaited(rank, room)), f"{self._name(room)} has no write to post again")
        expect(engine.awaited(rank, room) == engine.of(room, rank), f"{self._name(room)} has older writes on their way")
        self._links.faults.spend()
        engine.resubmit(rank, room)

    def conclude(self, room: int) -> None:
        """All is sent: write the metadata row, as it is now, to decode's rows, and report."""
        job = self._job(room, Stage.AUX)
        manager = self._manager
        row = self._links.prefill.rows[job.chunk.row]
        for d, info in job.infos.items():
            if not self._switches.aux_loss:
                self._links.decode.ranks[d].rows[info.row] = row
        if manager.status(room) is not None or not self._switches.conclude_rechecks:
            success = manager.status(room) is not Status.FAILED or not self._switches.conclude_rechecks
            if success:
                manager.update_status(room, Status.SUCCESS)
            manager.report(room, job.infos, success=success)
        self._finish(room)

    def crash(self, room: int) -> None:
        """The room's thread dies of an exception in the middle of a chunk."""
        self._job(room, Stage.CHECKED, Stage.CALLING, Stage.AUX)
        expect(self._switches.worker_crash, "environment: workers do not crash")
        self._links.faults.spend()
        self._links.engine.abandon(self._manager.rank, room)
        self.dead.add(room)
        self._manager.poison(room)

    def die(self, rooms: range) -> None:
        """The process ends."""
        self.queues.clear()
        for job in self.jobs.values():
            job.infos = {}
        self.dead.update(rooms)

    def forget(self, room: int) -> None:
        """Nobody remembers how many chunks the room had, and how far its thread was if it died."""
        self.through.pop(room, None)
        self.jobs.pop(room, None)

    def _name(self, room: int) -> str:
        return f"prefill rank {self._manager.rank}: the worker of request {label(room)}"

    def _job(self, room: int, *stages: Stage) -> Job:
        job = self.jobs.get(room)
        if job is None or room in self.dead:
            raise Refused(f"{self._name(room)} has no chunk in work")
        expect(job.stage in stages, f"{self._name(room)} is at: {job.stage.value}")
        return job

    def _expect_landed(self, room: int) -> None:
        flying = self._links.engine.unconfirmed(self._manager.rank, room)
        expect(not flying, f"{self._name(room)} waits for {len(flying)} writes")

    def _through(self, room: int) -> None:
        del self.jobs[room]
        self.through[room] = self.through.get(room, 0) + 1

    def _drained(self, room: int) -> None:
        if self._switches.deferred_release:
            self._manager.acknowledge(room)

    def _finish(self, room: int) -> None:
        """The worker is through with a chunk; decode's page numbers go with the last one."""
        last = self.jobs[room].chunk.last
        self._through(room)
        self._drained(room)
        status = self._manager.status(room)
        if status in (None, Status.SUCCESS) or (last and status is Status.FAILED):
            self._manager.transfer_infos.pop(room, None)
