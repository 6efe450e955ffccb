"""The cluster of SGLang + Mooncake: requests that are served, and what becomes of those that are not."""

from __future__ import annotations

import pytest

from kvproto.reference.array import namespace
from kvproto.reference.prompts import STUBS, page_text, prompt
from kvproto.reference.refusal import Refused
from kvproto.reference.sglang import Cluster, Sizes, Switches
from kvproto.reference.sglang.prefill import FORWARDED, OVER
from kvproto.reference.sglang.rooms import Status

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")
ROOMY = Sizes(requests=3, context=3, prefill_pages=6, prefill_pool=6, decode_pages=6, prefill_rows=3, decode_rows=3)


def cluster(sizes: Sizes = ROOMY, **switches: bool) -> Cluster:
    """A cluster with some switches on."""
    return Cluster(sizes, Switches(**switches), xp=ARRAYS)


def bootstrap(made: Cluster, room: int, *, long: bool = False) -> None:
    """From the client to prefill's waiting queue."""
    made.router.submit(room, long)
    made.prefill.admit(room)
    made.decode.enter(room)
    made.decode.prealloc(room)
    for p, d in made.network.pairs:
        made.prefill.ranks[p].thread.receive_metadata(d, room)
    made.prefill.finalize(room)


def call(made: Cluster, room: int) -> None:
    """Every rank takes a chunk and posts its writes."""
    for rank in made.prefill.ranks:
        rank.worker.dequeue(room)
        rank.worker.check(room)
        rank.worker.begin(room)


def land(made: Cluster, room: int) -> None:
    """Everything that a call waits for lands, batch after batch, and the calls return."""
    for p, rank in enumerate(made.prefill.ranks):
        while True:
            for write in made.engine.awaited(p, room):
                made.engine.land(p, write.d, room, write.position)
            if not rank.worker.jobs[room].unposted:
                break
            rank.worker.next_batch(room)
        rank.worker.call_succeeds(room)


def send(made: Cluster, room: int) -> None:
    """From prefill's waiting queue to its reports."""
    if made.switches.two_chunks and len(made.prefill.requests[room].input_text) > 16:
        made.prefill.forward_chunk(room)
        call(made, room)
        land(made, room)
    made.prefill.forward(room)
    made.prefill.process_result(room)
    call(made, room)
    land(made, room)
    for rank in made.prefill.ranks:
        rank.worker.conclude(room)


def receive(made: Cluster, room: int) -> None:
    """From prefill's reports to the answer."""
    made.prefill.inflight_success(room)
    for p, d in made.network.pairs:
        made.decode.ranks[d].receive_success(p, room)
    made.decode.commit(room)
    made.decode.attend(room)
    made.decode.finish(room)
    made.collect()


def serve(made: Cluster, room: int, *, long: bool = False) -> str:
    """From the client to its answer."""
    bootstrap(made, room, long=long)
    send(made, room)
    receive(made, room)
    answer = made.router.calls[room].answer
    assert answer is not None
    assert 200 == answer.status
    return answer.text


@pytest.mark.parametrize("ranks", [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("switches", [(), ("two_chunks",), ("bounded_batch", "checksum", "two_chunks")], ids=" ".join)
def test_requests_are_served(ranks: tuple[int, int], switches: tuple[str, ...]) -> None:
    """Every slice of every rank holds the prompt, and everything is given back."""
    sizes = Sizes(2, 3, *ranks, 3, 3, 1, 1, short_prompt=1, prefill_pool=3)
    made = cluster(sizes, **dict.fromkeys(switches, True))

    assert [prompt(1, 3)] * len(made.network.pairs) == serve(made, 1, long=True).split("\n")
    assert [prompt(2, 1)] * len(made.network.pairs) == serve(made, 2).split("\n")
    assert 3 == len(made.prefill.pages.free())
    assert all(3 == len(rank.pages.free()) and 1 == len(rank.row_owners.free()) for rank in made.decode.ranks)
    assert {1, 2} == made.forgotten


def test_a_placeholder_is_sent_for_a_prompt_that_does_not_fit() -> None:
    """The incident: one page is written, three are read."""
    made = cluster(Sizes(context=3, prefill_pages=3, prefill_pool=2, decode_pages=3))
    serve(made, 1)

    assert STUBS[1] + "_" * 15 + "·" * 32 == serve(made, 2, long=True)


def test_unequal_lengths_leave_the_rest_unwritten() -> None:
    """Prefill cuts the prompt, decode has reserved for all of it, and only a comparison of the counts sees that."""
    sizes = Sizes(context=3, prefill_pages=3, prefill_pool=2, decode_pages=3)

    assert prompt(1, 2) + "·" * 16 == serve(cluster(sizes, unequal_lengths=True), 1, long=True)
    made = cluster(sizes, unequal_lengths=True, token_count_check=True)
    bootstrap(made, 1, long=True)
    send(made, 1)
    made.decode.ranks[0].receive_success(0, 1)
    made.decode.commit(1)
    answer = made.router.calls[1].answer
    assert answer is not None
    assert 500 == answer.status


def test_one_request_at_a_time_is_between_its_chunks() -> None:
    """The scheduler has one such place."""
    made = cluster(two_chunks=True)
    for room in (1, 2):
        bootstrap(made, room, long=True)
    made.prefill.forward_chunk(1)

    with pytest.raises(Refused, match="request A is between its chunks"):
        made.prefill.forward_chunk(2)
    made.prefill.forward(1)
    made.prefill.forward_chunk(2)


def test_a_chunk_may_be_sent_before_it_is_computed_unless_the_worker_waits() -> None:
    """The write then reads whatever the source page held."""
    for wait in (False, True):
        made = cluster(two_chunks=True, early_send=True, early_send_wait=wait)
        bootstrap(made, 1, long=True)
        made.prefill.launch_chunk(1)
        worker = made.prefill.ranks[0].worker
        worker.dequeue(1)
        if wait:
            with pytest.raises(Refused, match="waits for the forward pass"):
                worker.check(1)
            continue
        worker.check(1)
        worker.begin(1)
        made.engine.land(0, 0, 1, 0)
        assert 0 == made.decode.ranks[0].slices[0].tags[0]


def test_a_failed_call_fails_its_room_and_its_session() -> None:
    """Decode is told, later rooms fail at once, and a probe takes the session back."""
    made = cluster(transfer_failures=True, probe=True)
    for room in (1, 2):
        bootstrap(made, room)
        made.prefill.forward(room)
        made.prefill.process_result(room)
    call(made, 1)
    worker, manager = made.prefill.ranks[0].worker, made.prefill.ranks[0].manager
    worker.call_fails(1, 0)
    worker.dequeue(2)
    worker.check(2)

    assert (Status.FAILED, Status.FAILED) == (manager.status(1), manager.status(2))
    for room in (1, 2):
        made.decode.ranks[0].receive_failure(0, room)
        made.decode.transfer_failure(room)
        made.prefill.inflight_failure(room)
    assert 1 == len(made.engine.of(1))
    made.probe(0, 0)
    assert prompt(3, 1) == serve(made, 3)


def test_an_abort_takes_three_steps_and_is_acknowledged_once_all_is_quiet() -> None:
    """Decode holds the pages until prefill's worker is through; the bootstrap thread does one thing at a time."""
    made = cluster(client_disconnects=True, deferred_release=True)
    for room in (1, 2):
        bootstrap(made, room)
    made.prefill.forward(1)
    made.prefill.process_result(1)
    call(made, 1)
    made.router.disconnect(1)
    made.decode.handle_abort(1)
    made.decode.transfer_failure(1)
    rank, thread = made.decode.ranks[0], made.prefill.ranks[0].thread
    thread.receive_abort(0, 1)
    with pytest.raises(Refused, match="in the middle of the abort of request A"):
        thread.receive_abort(0, 2)
    thread.register(1)
    thread.acknowledge(1)

    with pytest.raises(Refused, match="has not acknowledged request A"):
        made.decode.release_drained(0, 1)
    land(made, 1)
    made.prefill.ranks[0].worker.conclude(1)
    rank.receive_ack(0, 1)
    made.decode.release_drained(0, 1)
    assert made.decode.over(1)


def test_a_hold_has_a_time_limit_that_bounded_batches_respect() -> None:
    """Without them the pages are freed under a write."""
    for bounded in (False, True):
        made = cluster(timeouts=True, hasty_timeouts=True, deferred_release=True, bounded_batch=bounded)
        bootstrap(made, 1)
        made.prefill.forward(1)
        made.prefill.process_result(1)
        call(made, 1)
        made.decode.waiting_timeout(0, 1)
        made.decode.transfer_failure(1)
        if bounded:
            with pytest.raises(Refused, match="does not outlive the time limit"):
                made.decode.release_timeout(0, 1)
            made.engine.land(0, 0, 1, 0)
        made.decode.release_timeout(0, 1)
        assert bounded != bool(made.engine.of(1))


def test_an_aborted_result_is_retired_only_with_the_switch() -> None:
    """Without it the abort is forgotten and everything is sent."""
    for retired in (False, True):
        made = cluster(client_disconnects=True, retire_after_forward=retired)
        bootstrap(made, 1)
        made.prefill.forward(1)
        made.router.disconnect(1)
        made.prefill.handle_abort(1)
        assert FORWARDED == made.prefill.queues.of(1)
        made.prefill.process_result(1)
        assert retired == (made.prefill.queues.of(1) == OVER)
        assert retired == (made.prefill.ranks[0].worker.queued(1) == 0)


def test_a_dead_node_still_writes() -> None:
    """Its tables and threads are gone; its network card is not asked."""
    made = cluster(node_failure=True)
    bootstrap(made, 1)
    made.prefill.forward(1)
    made.prefill.process_result(1)
    call(made, 1)
    made.prefill.die()
    made.engine.land_late(0, 0, 1, 0)

    assert 1 == made.decode.ranks[0].slices[0].tags[0]
    with pytest.raises(Refused, match="the node is dead"):
        made.prefill.inflight_failure(1)
    made.decode.heartbeat_failure(1)
    made.decode.transfer_failure(1)
    made.collect()
    assert {1} == made.forgotten


def test_a_dead_thread_never_finishes_its_chunk() -> None:
    """Nobody counts for it any more, and its writes are not awaited."""
    made = cluster(worker_crash=True)
    bootstrap(made, 1)
    made.prefill.forward(1)
    made.prefill.process_result(1)
    call(made, 1)
    worker = made.prefill.ranks[0].worker
    worker.crash(1)

    assert not worker.outstanding(1)
    assert [False] == [write.awaited for write in made.engine.of(1)]
    with pytest.raises(Refused, match="no chunk in work"):
        worker.call_succeeds(1)


def test_a_retracted_request_is_computed_again() -> None:
    """In the same room, with new pages, and with the same answer."""
    made = cluster(retraction=True)
    bootstrap(made, 1)
    send(made, 1)
    made.prefill.inflight_success(1)
    made.decode.ranks[0].receive_success(0, 1)
    made.decode.commit(1)
    made.decode.attend(1)
    made.retract(1)
    assert not made.mixed_lives

    made.prefill.admit(1)
    made.decode.prealloc(1)
    made.prefill.ranks[0].thread.receive_metadata(0, 1)
    made.prefill.finalize(1)
    send(made, 1)
    receive(made, 1)
    answer = made.router.calls[1].answer
    assert answer is not None
    assert prompt(1, 1) == answer.text


def test_the_prefix_tree_keeps_what_the_pages_held() -> None:
    """Pages go in at the first read, with the bytes of that moment."""
    made = cluster(decode_tree=True)
    serve(made, 1)

    assert [(1, 1)] == [(shared.room, shared.image.tag) for shared in made.decode.tree]


def test_a_late_row_turns_up_in_another_rooms_row() -> None:
    """The row's number was published; whoever has it by then finds a room that is not its own, and fails."""
    sizes = Sizes(requests=2, context=1, prefill_pages=2, prefill_pool=2, decode_pages=2, decode_rows=1)
    made = cluster(sizes, timeouts=True, hasty_timeouts=True)
    bootstrap(made, 1)
    made.prefill.forward(1)
    made.prefill.process_result(1)
    call(made, 1)
    made.decode.waiting_timeout(0, 1)
    made.decode.transfer_failure(1)
    bootstrap(made, 2)
    send(made, 2)
    land(made, 1)
    made.prefill.ranks[0].worker.conclude(1)
    made.decode.ranks[0].receive_success(0, 2)
    made.decode.commit(2)

    answer = made.router.calls[2].answer
    assert answer is not None
    assert (500, "a metadata row belongs to another room") == (answer.status, answer.text)


def test_pages_say_who_wrote_them() -> None:
    """Both sides hold the client's text, page by page."""
    made = cluster()
    bootstrap(made, 2, long=True)
    send(made, 2)
    made.decode.ranks[0].receive_success(0, 2)
    made.decode.commit(2)
    made.decode.attend(2)

    assert [{(0, 0): "".join(page_text(2, k) for k in range(3))}] == made.decode.requests[2].passes
