"""The cluster: requests that are served, the incident, and what each measure does."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from kvproto.reference.array import namespace
from kvproto.reference.outline import Answer, Cluster, Sizes, Switches
from kvproto.reference.prompts import CANARIES, LABELS, STUBS, page_count, page_text, prompt
from kvproto.reference.refusal import Refused

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")
INCIDENT = Sizes(requests=2, context=8, short_prompt=3, prefill_pages=8, prefill_pool=5, decode_pages=8)
ROOMY = Sizes(requests=3, context=2, short_prompt=1, prefill_pages=4, prefill_pool=4, decode_pages=2)


def cluster(sizes: Sizes = INCIDENT, **switches: bool) -> Cluster:
    """A cluster with some measures on."""
    return Cluster(sizes, Switches(**switches), xp=ARRAYS)


def start(made: Cluster, room: int, *, long: bool = False) -> None:
    """From the client to posted writes."""
    made.router.submit(room, long)
    made.decode.prealloc(room)
    made.prefill.admit(room)
    made.prefill.forward(room)
    made.prefill.send(room)


def land_all(made: Cluster, room: int) -> None:
    """Everything in flight arrives."""
    for position in made.transport.in_flight(room):
        made.transport.land(room, position)


def serve(made: Cluster, room: int, *, long: bool = False) -> Answer | None:
    """From the client to the answer, as far as the cluster goes."""
    start(made, room, long=long)
    land_all(made, room)
    made.prefill.conclude(room)
    made.decode.commit(room)
    if not made.decode.concluded(room) and made.decode.in_transfer(room):
        made.decode.attend(room)
    if made.router.calls[room].answer is None:
        made.decode.finish(room)
    made.collect()
    return made.router.calls[room].answer


def test_a_request_is_answered_with_its_own_text() -> None:
    """The toy model echoes what its pages hold."""
    made = cluster()

    assert Answer(200, 48, prompt(1, 3)) == serve(made, 1)
    assert [None] * 8 == made.decode.pool.owners
    assert [None] * 5 == made.prefill.pool.owners


def test_the_incident() -> None:
    """The prompt is swapped for one token, and the answer is made of what the pages held before."""
    made = cluster()
    serve(made, 1)
    answer = serve(made, 2, long=True)

    assert answer is not None
    assert (200, 128) == (answer.status, answer.prompt_tokens)
    assert "Ⓑ_______________" + page_text(1, 1) + page_text(1, 2) + "·" * 80 == answer.text


def test_larger_pool() -> None:
    """The long prompt fits, and the answer is its own."""
    made = cluster(larger_pool=True)
    serve(made, 1)

    assert Answer(200, 128, prompt(2, 8)) == serve(made, 2, long=True)
    assert 8 == made.prefill.pool.pages


def test_reject_at_admission() -> None:
    """Refused before it gets a page on prefill; decode is told to stop."""
    made = cluster(reject_at_admission=True)
    made.router.submit(1, True)
    made.prefill.admit(1)

    assert 400 == made.router.calls[1].answer.status  # type: ignore[union-attr]
    assert {1} == made.decode.aborts
    with pytest.raises(Refused, match="is in rejected"):
        made.prefill.forward(1)


def test_retire_after_forward() -> None:
    """Refused after the forward pass: nothing is sent, the source page is free again."""
    made = cluster(retire_after_forward=True)
    made.router.submit(1, True)
    made.decode.prealloc(1)
    made.prefill.admit(1)
    made.prefill.forward(1)

    assert 400 == made.router.calls[1].answer.status  # type: ignore[union-attr]
    assert [None] * 5 == made.prefill.pool.owners
    with pytest.raises(Refused, match="is in rejected"):
        made.prefill.send(1)


@pytest.mark.parametrize(
    ("switch", "says"),
    [
        ("token_count_check", "1 of 128 tokens were transferred"),
        ("checksum", "the checksum of the transferred KV is wrong"),
        ("carried_tags", "a page carries another request's tag"),
    ],
)
def test_checks_on_decode_fail_the_long_request(switch: str, says: str) -> None:
    """Each on its own; a request whose pages are right passes them."""
    made = cluster(**{switch: True})

    assert Answer(200, 48, prompt(1, 3)) == serve(made, 1)
    assert Answer(500, 128, says) == serve(made, 2, long=True)


def test_page_tags_do_not_see_it() -> None:
    """The pages were given to this request and to nobody since: their generation is the expected one."""
    made = cluster(page_tags=True)
    serve(made, 1)

    assert 200 == serve(made, 2, long=True).status  # type: ignore[union-attr]


def test_page_tags_see_a_reallocation() -> None:
    """If a reserved page were given away, the next read would be refused."""
    made = cluster(page_tags=True)
    start(made, 1)
    land_all(made, 1)
    made.prefill.conclude(1)
    made.decode.commit(1)
    made.decode.pool.free(1)
    made.decode.pool.allocate(2, 1)
    made.decode.attend(1)

    assert Answer(500, 48, "a page was given away after it was reserved") == made.router.calls[1].answer


def test_the_checksum_is_taken_once() -> None:
    """What changes after the first read is not seen by it; tags are compared before each read."""
    for switch, status in (("checksum", None), ("carried_tags", 500)):
        made = cluster(ROOMY, **{switch: True})
        start(made, 1)
        land_all(made, 1)
        made.prefill.conclude(1)
        made.decode.commit(1)
        made.decode.attend(1)
        made.decode.pool.clear(0)
        made.decode.attend(1)
        answer = made.router.calls[1].answer

        assert status == (answer and answer.status)


def abandoned(**switches: bool) -> Cluster:
    """A request whose client went away while its writes are in flight; decode has heard of it, prefill not yet."""
    made = cluster(ROOMY, **switches)
    start(made, 1)
    made.router.disconnect(1)
    if made.decode.aborts:
        made.decode.handle_abort(1)
    return made


def test_pages_of_an_aborted_transfer_are_given_away_under_the_write() -> None:
    """Without deferred release the late write lands in the next request's page."""
    made = abandoned()
    made.router.submit(2, False)
    made.decode.prealloc(2)
    land_all(made, 1)

    assert 2 == made.transport.landed[-1].owner


def test_deferred_release_keeps_them_until_prefill_is_through() -> None:
    """Prefill acknowledges once the writes have drained."""
    made = abandoned(deferred_release=True)

    assert 1 == made.decode.pool.owners[0]
    with pytest.raises(Refused, match="has not acknowledged"):
        made.decode.release_acknowledged(1)
    made.prefill.handle_abort(1)
    with pytest.raises(Refused, match=r"in flight \(pages 0\)"):
        made.prefill.drained(1)
    land_all(made, 1)
    made.prefill.drained(1)
    made.decode.release_acknowledged(1)
    made.collect()

    assert None is made.decode.pool.owners[0]
    assert 1 == made.transport.landed[-1].owner
    assert () == made.decode.requests[1].pages == made.prefill.requests[1].pages


def test_the_time_limit_ends_a_deferred_release_early() -> None:
    """That is the hole in it."""
    made = abandoned(deferred_release=True)
    made.decode.release_expired(1)

    assert None is made.decode.pool.owners[0]
    assert [0] == made.transport.in_flight(1)


def test_no_time_limit() -> None:
    """With the limit off only the acknowledgement counts."""
    made = abandoned(deferred_release=True, release_timeout=False)

    with pytest.raises(Refused, match="no time limit"):
        made.decode.release_expired(1)


def test_bounded_batch() -> None:
    """No write outlives the time limit."""
    made = abandoned(deferred_release=True, bounded_batch=True)

    with pytest.raises(Refused, match="none outlives"):
        made.decode.release_expired(1)
    land_all(made, 1)
    made.decode.release_expired(1)
    assert None is made.decode.pool.owners[0]


@pytest.mark.parametrize("events", [(), ("admit",), ("admit", "forward"), ("admit", "forward", "send")])
def test_prompt_abort(events: tuple[str, ...]) -> None:
    """However far prefill has come, the abort reaches it before the pages are given back."""
    made = cluster(ROOMY, deferred_release=True, prompt_abort=True)
    made.router.submit(1, False)
    made.decode.prealloc(1)
    for event in events:
        getattr(made.prefill, event)(1)
    made.decode.fail_transfer(1)

    with pytest.raises(Refused, match="reaches prefill before"):
        made.decode.release_expired(1)
    made.prefill.handle_abort(1)
    made.decode.release_expired(1)


@pytest.mark.parametrize("kept", [False, True])
def test_deferred_source_release(kept: bool) -> None:
    """Without it the source page is reused under the write, and somebody else's KV is sent."""
    made = abandoned(deferred_source_release=kept)
    made.prefill.handle_abort(1)
    made.router.submit(2, False)
    made.decode.prealloc(2)
    made.prefill.admit(2)
    made.prefill.forward(2)
    land_all(made, 1)

    assert (1 if kept else 2) == int(made.decode.pool.tags[0])


@pytest.mark.parametrize("terminal", [False, True])
def test_failed_is_terminal(terminal: bool) -> None:
    """Without it a room that was aborted on prefill reports success, and decode commits to it."""
    made = cluster(ROOMY, failed_is_terminal=terminal)
    start(made, 1)
    made.prefill.notify_abort(1)
    made.prefill.handle_abort(1)
    land_all(made, 1)
    made.prefill.drained(1)

    if terminal:
        with pytest.raises(Refused, match="has not reported success"):
            made.decode.commit(1)
    else:
        made.decode.commit(1)
        assert made.decode.in_transfer(1)


def test_patient_balancer() -> None:
    """A disconnect during the transfer aborts nothing."""
    made = cluster(ROOMY, patient_balancer=True)
    start(made, 1)
    made.router.disconnect(1)

    assert set() == made.prefill.aborts == made.decode.aborts
    assert None is made.router.calls[1].answer


def test_zero_on_release() -> None:
    """Others' text is gone, the answer is still not the prompt's."""
    made = cluster(zero_on_release=True)
    serve(made, 1)

    assert Answer(200, 128, "Ⓑ_______________" + "·" * 112) == serve(made, 2, long=True)


def test_a_prompt_beyond_the_decode_pool_is_refused_there() -> None:
    """Decode has no placeholder: the client gets 400."""
    made = cluster(Sizes(1, 3, 1, 3, 3, 2))
    made.router.submit(1, True)
    made.decode.prealloc(1)

    assert Answer(400, 48, "the prompt has 3 pages, the decode pool 2") == made.router.calls[1].answer
    assert {1} == made.prefill.aborts


def test_the_first_answer_counts() -> None:
    """A client that has an answer, or is gone, gets none."""
    made = cluster()
    serve(made, 1)
    made.router.respond(1, 500, "late")
    made.router.submit(2, False)
    made.router.disconnect(2)
    made.router.respond(2, 200, "late")

    assert 200 == made.router.calls[1].answer.status  # type: ignore[union-attr]
    assert None is made.router.calls[2].answer
    for room in (1, 2):
        with pytest.raises(Refused, match="does not wait"):
            made.router.disconnect(room)
    with pytest.raises(Refused, match="was sent before"):
        made.router.submit(1, False)


@pytest.mark.parametrize("part", ["prefill", "decode"])
def test_an_abort_that_nobody_sent_cannot_be_handled(part: str) -> None:
    """Messages are handled once."""
    made = cluster()
    made.router.submit(1, False)
    scheduler: Any = getattr(made, part)

    with pytest.raises(Refused, match="no abort of request A is pending"):
        scheduler.handle_abort(1)


def test_events_of_a_request_that_was_not_sent_are_refused() -> None:
    """The parts say that they do not know it."""
    made = cluster()

    with pytest.raises(Refused, match="request A is not known there"):
        made.prefill.admit(1)
    with pytest.raises(Refused, match="request A is not known there"):
        made.decode.prealloc(1)


def test_forward_waits_for_metadata_and_pages() -> None:
    """Prefill needs to know where the KV goes, and room to compute it."""
    made = cluster()
    made.router.submit(1, False)
    made.router.submit(2, False)
    made.prefill.admit(1)
    with pytest.raises(Refused, match="decode has not told"):
        made.prefill.forward(1)
    made.decode.prealloc(1)
    made.decode.prealloc(2)
    made.prefill.forward(1)
    made.prefill.admit(2)
    with pytest.raises(Refused, match="3 pages wanted, 2 free"):
        made.prefill.forward(2)


def test_every_client_is_recognisable() -> None:
    """Canaries and placeholders are unique, and the text of a page fits."""
    assert len(LABELS) == len(set(CANARIES)) == len(set(STUBS))
    assert all(len(page_text(room, 98)) == 16 for room in range(1, 9))
    assert [0, 1, 1, 2] == [page_count(tokens) for tokens in (0, 1, 16, 17)]


def test_switches_are_off_but_for_the_time_limit() -> None:
    """The default is the engine of the incident."""
    assert {"release_timeout"} == {field.name for field in fields(Switches) if field.default is True}
