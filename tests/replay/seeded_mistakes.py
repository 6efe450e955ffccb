"""Mistakes that one can make in an implementation of the protocol, each with the run that shows it.

`break_it` puts a mistake into `kvproto.reference`; a replay of `trace` has to come apart at step `step`, `action`, in
the variable `path`, where the model has `model` and the broken implementation has `here`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import sglang_walks

from kvproto.reference import array
from kvproto.reference.outline import decode as outline_decode
from kvproto.reference.outline import transport as outline_transport
from kvproto.reference.pages import Image, Memory, Pool
from kvproto.reference.queues import Queues
from kvproto.reference.sglang import decode, memory, prefill, receiver, rooms, transport, worker
from kvproto.reference.sglang.messages import Ack
from kvproto.reference.sglang.rooms import Status
from kvproto.trace import codec
from kvproto.trace.trace import Trace, Value

TRACES = Path(__file__).parents[2] / "traces"

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mistake:
    """A mistake, and where it has to be found; `backends` are those whose code it is in."""

    break_it: Callable[[Patch], None]
    trace: Callable[[], Trace]
    step: int
    action: str
    path: str
    model: Value
    here: Value
    backends: Sequence[str] = ("numpy", "torch")

    @property
    def name(self) -> str:
        """What is done wrong."""
        return self.break_it.__name__


def recorded(name: str) -> Callable[[], Trace]:
    """A trace of `traces/`."""
    return lambda: codec.read(TRACES / f"{name}{codec.SUFFIX}")


# Runs that no recorded trace has: the checks of decode are off in all releases.


@cache
def served(**switches: bool | int) -> Trace:
    """One short request, from the client to its first pass."""
    walk = sglang_walks.Walk("small", **switches)
    walk.follow(*sglang_walks.posted(0), *sglang_walks.landed(0, 1))
    return walk.follow(("inflight_success", 0), ("receive_success", 0, 0, 0), ("commit", 0), ("attend", 0)).trace()


@cache
def incident(**switches: bool | int) -> Trace:
    """The incident up to the read that a check refuses, or up to the answer of the first request."""
    whole = sglang_walks
    walk = whole.Walk("incident", **switches)
    walk.follow(*whole.posted(0), *whole.landed(0, 3), *whole.answered(0))
    walk.follow(*whole.posted(1, long=True), *whole.landed(1, 1))
    return walk.follow(("inflight_success", 1), ("receive_success", 0, 0, 1), ("commit", 1), ("attend", 1)).trace()


@cache
def late_write(**switches: bool | int) -> Trace:
    """A late write, up to the read that a check refuses."""
    walk = sglang_walks.Walk("large", probe=True, larger_pool=True, DPage=1, Pos=1, **switches)
    walk.follow(*sglang_walks.posted(0), ("call_fails", 0, 0, 0), ("receive_failure", 0, 0, 0), ("transfer_failure", 0))
    walk.follow(("probe_session", 0, 0), *sglang_walks.posted(2), *sglang_walks.landed(2, 1))
    walk.follow(*sglang_walks.answered(2)[:3])
    return walk.follow(("land_late", 0, 0, 0, 0), ("attend", 2)).trace()


@cache
def two_senders() -> Trace:
    """Two prefill ranks send to one decode rank; the first of them reports success."""
    walk = sglang_walks.Walk("fan-in")
    walk.follow(("submit", 0, False), ("enter", 0), ("prealloc", 0), ("admit", 0))
    walk.follow(("receive_metadata", 0, 0, 0), ("receive_metadata", 1, 0, 0), ("finalize", 0))
    walk.follow(("forward", 0), ("process_result", 0), ("dequeue", 0, 0), ("check", 0, 0), ("begin", 0, 0))
    walk.follow(("land", 0, 0, 0, 0), ("call_succeeds", 0, 0), ("conclude", 0, 0))
    return walk.follow(("receive_success", 0, 0, 0)).trace()


@cache
def aborted_early() -> Trace:
    """Prefill has given the request up when decode's page numbers arrive, and failures are final."""
    walk = sglang_walks.Walk("small", failed_is_terminal=True)
    walk.follow(("submit", 0, False), ("disconnect", 0), ("admit", 0), ("abort_on_prefill", 0))
    return walk.follow(("enter", 0), ("prealloc", 0), ("receive_metadata", 0, 0, 0)).trace()


# Mistakes.


def writes_next_door(patch: Patch) -> None:
    """A write is posted with the number of the page beside its target."""
    original = transport.Engine.post
    patch.setattr(transport.Engine, "post", lambda self, write: original(self, replace(write, target=write.target ^ 1)))


def release_forgets_a_page(patch: Patch) -> None:
    """The last page of a room stays its own."""

    def release(self: memory.Allocator, room: int) -> tuple[int, ...]:
        owned = tuple(number for number, owner in enumerate(self.owners) if owner == room)
        for number in owned[:-1]:
            self.owners[number] = None
        return owned

    patch.setattr(memory.Allocator, "release", release)


def pages_are_given_twice(patch: Patch) -> None:
    """The allocator does not ask whether a page is free."""

    def allocate(self: memory.Allocator, room: int, count: int) -> tuple[int, ...]:
        for number in range(count):
            self.owners[number] = room
            self.generations[number] += 1
        return tuple(range(count))

    patch.setattr(memory.Allocator, "allocate", allocate)


def acknowledges_before_it_has_drained(patch: Patch) -> None:
    """Whoever asks is told at once that nothing is on its way."""

    def register(self: rooms.Manager, room: int, d: int, generation: int) -> None:
        self.send(d, Ack(room, generation))

    patch.setattr(rooms.Manager, "register", register)


def status_is_overwritten(patch: Patch) -> None:
    """Whatever comes last is the status of a room."""

    def update(self: rooms.Manager, room: int, status: Status) -> None:
        self.request_status[room] = status

    patch.setattr(rooms.Manager, "update_status", update)


def commits_without_waiting(patch: Patch) -> None:
    """Pages that are reserved are taken to be filled."""
    original = decode.Decode.prealloc

    def prealloc(self: decode.Decode, room: int) -> None:
        original(self, room)
        self.queues.move(room, decode.WAITING)

    patch.setattr(decode.Decode, "prealloc", prealloc)


def one_sender_is_enough(patch: Patch) -> None:
    """The first success of several ranks is taken for all of them."""
    original = receiver.Rank.receive_success

    def receive(self: receiver.Rank, p: int, room: int) -> None:
        original(self, p, room)
        self.receivers[room].status = Status.SUCCESS

    patch.setattr(receiver.Rank, "receive_success", receive)


def tag_is_not_written(patch: Patch) -> None:
    """A page's bytes travel without their tag."""

    def write(self: Memory, page: int, image: Image) -> None:
        self.keys[page] = image.keys
        self.values[page] = image.values

    patch.setattr(Memory, "write", write)


def tags_are_not_looked_at(patch: Patch) -> None:
    """Attention reads whatever the table names."""
    original = array.Arrays.attention

    def attention(self: array.Arrays, *tensors: Any, page_bias: float, expected: Sequence[int] | None) -> Any:
        return original(self, *tensors, page_bias=page_bias, expected=None)

    patch.setattr(array.Arrays, "attention", attention)


def kernel_does_not_look_at_tags(patch: Patch) -> None:
    """The paged attention of the device forgets the tags that it was given."""
    from kvproto.reference.paged import plain

    original = plain.attend
    patch.setattr(plain, "attend", lambda pool, batch: original(pool, replace(batch, expected=None)))


def kernel_reads_the_first_page_alone(patch: Patch) -> None:
    """The paged attention of the device takes the first entry of the table for all of them."""
    from kvproto.reference.paged import plain

    original = plain.attend

    def attend(pool: Any, batch: Any) -> Any:
        return original(pool, replace(batch, table=batch.table[:, :1].repeat(1, batch.table.shape[1])))

    patch.setattr(plain, "attend", attend)


def checksum_over_one_page(patch: Patch) -> None:
    """Both sides sum up the first page only."""
    original = array.Arrays.digest
    patch.setattr(array.Arrays, "digest", lambda self, keys, values, pages: original(self, keys, values, pages[:1]))


def device_sums_up_one_page(patch: Patch) -> None:
    """The sum on the device is over the first page only."""
    from kvproto.reference.paged import operations

    original = operations.checksum
    patch.setattr(operations, "checksum", lambda pool, pages: original(pool, pages[:1]))


def nothing_is_cleared(patch: Patch) -> None:
    """Clearing does nothing."""
    patch.setattr(Memory, "clear", lambda self, page: None)


def values_are_not_cleared(patch: Patch) -> None:
    """Clearing forgets the values, which is where the text stands."""

    def clear(self: Memory, page: int) -> None:
        self.keys[page] = 0
        self.tags[page] = 0

    patch.setattr(Memory, "clear", clear)


def reserves_a_page_too_few(patch: Patch) -> None:
    """The number of pages of a prompt is rounded down and off by one."""
    original = receiver.Rank.reserve
    patch.setattr(receiver.Rank, "reserve", lambda self, room, count: original(self, room, count - 1))


def computes_a_page_too_few(patch: Patch) -> None:
    """The last page of a prompt is not filled."""
    original = prefill.Prefill._compute
    patch.setattr(prefill.Prefill, "_compute", lambda self, room, span: original(self, room, span[:-1]))


def source_is_freed_early(patch: Patch) -> None:
    """Prefill frees its pages as it hands them over."""
    original = prefill.Prefill.process_result

    def process(self: prefill.Prefill, room: int) -> None:
        original(self, room)
        self.pages.release(room)

    patch.setattr(prefill.Prefill, "process_result", process)


def row_is_written_twice(patch: Patch) -> None:
    """The metadata row of a room also goes into the next one's."""
    original = worker.TransferWorker.conclude

    def conclude(self: worker.TransferWorker, room: int) -> None:
        infos = dict(self.jobs[room].infos)
        original(self, room)
        for d, info in infos.items():
            rows = self._links.decode.ranks[d].rows
            rows[(info.row + 1) % len(rows)] = rows[info.row]

    patch.setattr(worker.TransferWorker, "conclude", conclude)


def failure_frees_at_once(patch: Patch) -> None:
    """Decode frees the pages of a failed transfer although prefill has not drained."""
    patch.setattr(decode.Decode, "_hold", decode.Decode._release)


def abort_recalls_writes(patch: Patch) -> None:
    """The engine is believed to take posted writes back."""
    original = transport.Engine.abandon

    def abandon(self: transport.Engine, p: int, room: int) -> None:
        original(self, p, room)
        self.drop(room)

    patch.setattr(transport.Engine, "abandon", abandon)


def call_does_not_wait(patch: Patch) -> None:
    """The writes of a call land as they are posted."""
    original = transport.Engine.post

    def post(self: transport.Engine, write: transport.Write) -> None:
        original(self, write)
        self.land(write.p, write.d, write.room, write.position)

    patch.setattr(transport.Engine, "post", post)


def outline_releases_under_a_write(patch: Patch) -> None:
    """Prefill's pages are cleared when they are freed, under writes that will read them."""
    original = Pool.free

    def free(self: Pool, room: int) -> None:
        for page, owner in enumerate(self.owners):
            if owner == room:
                self.clear(page)
        original(self, room)

    patch.setattr(Pool, "free", free)


def outline_loses_a_write(patch: Patch) -> None:
    """A failed transfer takes its writes along."""
    original = outline_decode.Decode.fail_transfer

    def fail(self: outline_decode.Decode, room: int) -> None:
        original(self, room)
        self._links.transport.posted.clear()

    patch.setattr(outline_decode.Decode, "fail_transfer", fail)


def outline_counts_twice(patch: Patch) -> None:
    """A write that has landed is still followed."""
    original = outline_transport.Transport.land

    def land(self: outline_transport.Transport, room: int, position: int) -> None:
        kept = self.posted[room, position]
        original(self, room, position)
        self.posted[room, position] = kept

    patch.setattr(outline_transport.Transport, "land", land)


def queues_are_left_too_late(patch: Patch) -> None:
    """A finished request stays in the running batch."""
    original = Queues.move
    patch.setattr(Queues, "move", lambda self, room, to: None if to == decode.OVER else original(self, room, to))


INCIDENT = recorded("sglang-incident-reads_no_foreign_data")
OUTLINE = recorded("outline-incident-reads_no_foreign_data")
LATE_IN_OUTLINE = recorded("outline-0.5.19-writes_spare_other_requests")
ABORTED = recorded("sglang-0.5.19-no_free_under_write")
TWO_AT_ONCE = recorded("sglang-0.5.19-reads_no_foreign_data")
ASKED = recorded("sglang-0.5.21-acknowledged_is_quiet")
HELD = recorded("sglang-0.5.23-writes_spare_other_requests")
FAILED_CALL = recorded("sglang-0.5.23-sources_are_stable")

TAGGED, TAGGED_LATE = partial(served, carried_tags=True), partial(late_write, carried_tags=True)
CHECKED, CLEARED = partial(incident, checksum=True), partial(incident, zero_on_release=True)

NUMPY, TORCH = ("numpy",), ("torch",)

WAITS, REFUSED = "WAITING", "FAILED_500"

MISTAKES = (
    # The engine.
    Mistake(writes_next_door, INCIDENT, 15, "land(0, 0, A, 0)", "d_content[0][0][0]", "A", None),
    Mistake(call_does_not_wait, INCIDENT, 14, "begin(0, A)", "sender[0][A].flying[0]", [0, 1, 2], []),
    Mistake(abort_recalls_writes, FAILED_CALL, 15, "call_fails(0, A, 0)", "sender[0][A].orphans[0]", [0], []),
    Mistake(outline_loses_a_write, LATE_IN_OUTLINE, 7, "fail_transfer(A)", "req[A].flying", [0, 1], []),
    Mistake(outline_counts_twice, OUTLINE, 8, "land(A, 0)", "req[A].flying", [1, 2], [0, 1, 2]),
    # Pages and rows.
    Mistake(release_forgets_a_page, ABORTED, 14, "transfer_failure(A)", "d_owner[0][0]", None, "A"),
    Mistake(pages_are_given_twice, TWO_AT_ONCE, 18, "prealloc(B)", "receiver[0][B].target[0]", 1, 0),
    Mistake(reserves_a_page_too_few, INCIDENT, 7, "prealloc(A)", "receiver[0][A].target[2]", 2, None),
    Mistake(computes_a_page_too_few, INCIDENT, 10, "forward(A)", "p_content[2]", "A", None),
    Mistake(source_is_freed_early, INCIDENT, 11, "process_result(A)", "p_owner[0]", "A", None),
    Mistake(outline_releases_under_a_write, OUTLINE, 11, "complete(A)", "p_content[0]", "A", None),
    Mistake(nothing_is_cleared, CLEARED, 21, "finish(A)", "d_content[0][0][0]", None, "A"),
    Mistake(values_are_not_cleared, CLEARED, 21, "finish(A)", "d_content[0][0][0]", None, "?"),
    Mistake(row_is_written_twice, INCIDENT, 19, "conclude(0, A)", "d_row_content[0][1]", None, "A"),
    # The protocol.
    Mistake(acknowledges_before_it_has_drained, ASKED, 16, "register_target(0, A)", "sender[0][A].targets", [0], []),
    Mistake(status_is_overwritten, aborted_early, 7, "receive_metadata(0, 0, A)", "sender[0][A].room", "FAILED", WAITS),
    Mistake(commits_without_waiting, INCIDENT, 7, "prealloc(A)", "req[A].decode", "TRANSFER", "READY"),
    Mistake(one_sender_is_enough, two_senders, 16, "receive_success(0, 0, A)", "receiver[0][A].room", WAITS, "SUCCESS"),
    Mistake(failure_frees_at_once, HELD, 16, "transfer_failure(A)", "req[A].decode", "HELD", "OVER"),
    Mistake(queues_are_left_too_late, INCIDENT, 23, "finish(A)", "req[A].decode", "OVER", "RUNNING"),
    # What is checked before pages are read, and the read itself.
    Mistake(tag_is_not_written, TAGGED, 18, "attend(A)", "req[A].client", WAITS, REFUSED),
    Mistake(tags_are_not_looked_at, TAGGED_LATE, 34, "attend(C)", "req[C].client", REFUSED, WAITS, NUMPY),
    Mistake(kernel_does_not_look_at_tags, TAGGED_LATE, 34, "attend(C)", "req[C].client", REFUSED, WAITS, TORCH),
    Mistake(checksum_over_one_page, CHECKED, 39, "attend(B)", "req[B].client", REFUSED, WAITS, NUMPY),
    Mistake(device_sums_up_one_page, CHECKED, 39, "attend(B)", "req[B].client", REFUSED, WAITS, TORCH),
    Mistake(kernel_reads_the_first_page_alone, INCIDENT, 37, "attend(B)", "req[B].saw_blank", True, False, TORCH),
)
"""All of them, in no order that matters."""
