"""Sockets: order, repetition, loss, and who is connected to whom."""

from __future__ import annotations

import pytest

from kvproto.reference.refusal import Refused
from kvproto.reference.sglang import Cluster, Sizes, Switches
from kvproto.reference.sglang.messages import Abort, Ack, Failure, Metadata, Network, Socket, Success

METADATA = Metadata(1, (0, 1), 0)


def test_messages_about_a_room_are_read_in_order_where_order_is_kept() -> None:
    """Towards prefill an abort never overtakes the page numbers; rooms do not wait for each other."""
    socket = Socket("up", ordered=True)
    for message in (METADATA, Abort(1, 1), Abort(2, 1)):
        socket.send(message)

    with pytest.raises(Refused, match="no Abort about request A"):
        socket.next(1, Abort)
    assert Abort(2, 1) == socket.next(2, Abort)
    socket.take(socket.next(1, Metadata))
    assert Abort(1, 1) == socket.next(1, Abort)


def test_messages_to_decode_are_read_in_any_order() -> None:
    """Three threads send them."""
    socket = Socket("down", ordered=False)
    for message in (Success(1), Failure(1), Ack(1, 1)):
        socket.send(message)

    assert Ack(1, 1) == socket.next(1, Ack)
    assert Failure(1) == socket.next(1, Failure)


def test_a_repeated_message_is_left_out_and_a_different_one_is_not() -> None:
    """Equality is of the whole message."""
    socket = Socket("down", ordered=False)
    for message in (Ack(1, 1), Ack(1, 1), Ack(1, 2)):
        socket.send(message)

    assert [Ack(1, 1), Ack(1, 2)] == socket.unread


@pytest.mark.parametrize(
    ("ranks", "pairs"),
    [
        ((1, 1), [(0, 0)]),
        ((2, 2), [(0, 0), (1, 1)]),
        ((1, 2), [(0, 0), (0, 1)]),
        ((2, 1), [(0, 0), (1, 0)]),
    ],
)
def test_ranks_are_paired_where_both_sides_have_as_many(ranks: tuple[int, int], pairs: list[tuple[int, int]]) -> None:
    """All with all otherwise."""
    network = Network(*ranks)

    assert pairs == network.pairs
    assert {d: [p for p, e in pairs if e == d] for _, d in pairs} == {d: network.prefill_peers(d) for _, d in pairs}
    assert {p: [d for q, d in pairs if q == p] for p, _ in pairs} == {p: network.decode_peers(p) for p, _ in pairs}


def test_there_is_no_socket_between_other_ranks() -> None:
    """Asking for it is refused as an event that cannot happen."""
    with pytest.raises(Refused, match="prefill rank 0 and decode rank 1 exchange nothing"):
        Network(2, 2).upward(0, 1)


def test_losing_a_message_needs_the_switch_and_counts_as_a_fault() -> None:
    """One fault in this run: the second loss is refused, and the message stays."""
    made = Cluster(Sizes(faults=1), Switches(message_loss=True))
    for room in (1, 2):
        made.router.submit(room, False)
        made.decode.enter(room)
        made.decode.prealloc(room)
    made.lose("up", 0, 0, 1, "METADATA")

    assert [] == made.network.about(1)
    with pytest.raises(Refused, match="all its faults"):
        made.lose("up", 0, 0, 2, "METADATA")
    assert 1 == len(made.network.about(2))
    with pytest.raises(Refused, match="no messages are lost"):
        Cluster(Sizes()).lose("up", 0, 0, 1, "METADATA")
