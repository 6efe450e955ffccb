"""A prefill rank's tables: status entries, and acknowledgements."""

from __future__ import annotations

from itertools import product

import pytest

from kvproto.reference.sglang.messages import Ack, Network
from kvproto.reference.sglang.rooms import Info, Manager, Status
from kvproto.reference.sglang.settings import Switches

WAITING, FAILED, SUCCESS = Status.WAITING, Status.FAILED, Status.SUCCESS
BOOTSTRAPPING = Status.BOOTSTRAPPING


def manager(*, ranks: int = 1, **switches: bool) -> tuple[Manager, Network]:
    """A rank that serves so many decode ranks, and its sockets."""
    network = Network(1, ranks)
    return Manager(0, network, Switches(**switches)), network


AFTER = {
    # From: what becomes of it on bootstrapping, waiting, failed, success.
    None: (BOOTSTRAPPING, WAITING, None, SUCCESS),
    BOOTSTRAPPING: (BOOTSTRAPPING, WAITING, FAILED, SUCCESS),
    WAITING: (WAITING, WAITING, FAILED, SUCCESS),
    SUCCESS: (SUCCESS, SUCCESS, FAILED, SUCCESS),
}


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(("start", "number"), [*product([*AFTER, FAILED], range(4))])
def test_status_entries(start: Status | None, number: int, terminal: bool) -> None:
    """An entry goes forward, failure beats all; only the older releases undo it, or make an entry by success."""
    made, _ = manager(failed_is_terminal=terminal)
    if start is not None:
        made.request_status[1] = start
    status = (BOOTSTRAPPING, WAITING, FAILED, SUCCESS)[number]
    made.update_status(1, status)

    if start is FAILED:
        assert (FAILED if terminal else status) is made.status(1)
        assert bool(made.revivals) == (not terminal and status is not FAILED)
    elif start is None and status is SUCCESS and terminal:
        assert made.status(1) is None
    else:
        assert AFTER[start][number] is made.status(1)


def test_an_acknowledgement_waits_for_the_worker() -> None:
    """It goes out once, to everybody who is registered."""
    made, network = manager(ranks=2, generations=True)
    busy = {1}
    made.outstanding = busy.__contains__
    made.register(1, 0, 7)
    made.register(1, 1, 8)
    made.acknowledge(1)
    assert [] == network.about(1)

    busy.clear()
    made.acknowledge(1)
    made.acknowledge(1)
    assert [Ack(1, 7)] == network.down[0, 0].unread
    assert [Ack(1, 8)] == network.down[0, 1].unread


def test_without_generations_everybody_is_answered() -> None:
    """There is one place for who waits, and the answer goes to all decode ranks of the room, once."""
    made, network = manager(ranks=2)
    made.acknowledge(1)
    assert [] == network.about(1)

    made.register(1, 0, 0)
    made.register(1, 1, 0)
    assert {1: {1: 0}} == made.ack_targets
    made.acknowledge(1)
    assert [Ack(1, 0)] == network.down[0, 0].unread == network.down[0, 1].unread


@pytest.mark.parametrize("keep", [False, True])
def test_clearing_a_room(keep: bool) -> None:
    """The entry and the page numbers go; who waits is kept only by the newer releases."""
    made, network = manager(deferred_release=True, keep_ack_target=keep)
    made.update_status(1, WAITING)
    made.transfer_infos[1] = {0: Info((0,), 0)}
    made.register(1, 0, 0)
    made.clear(1)

    assert (None, {}) == (made.status(1), made.infos(1))
    assert ([Ack(1, 0)] if keep else []) == network.about(1)


def test_a_poisoned_room_acknowledges_nothing() -> None:
    """Neither to those who waited before nor to those who come later, until the room has a new entry."""
    made, network = manager(poison=True, generations=True)
    made.register(1, 0, 1)
    made.poison(1)
    made.register(1, 0, 2)
    made.acknowledge(1)
    assert [] == network.about(1)

    made.update_status(1, BOOTSTRAPPING)
    made.register(1, 0, 3)
    made.acknowledge(1)
    assert [Ack(1, 3)] == network.about(1)


def test_poison_is_a_switch() -> None:
    """Without it a room with a failed call acknowledges as others do."""
    made, network = manager()
    made.register(1, 0, 0)
    made.poison(1)
    made.acknowledge(1)

    assert [Ack(1, 0)] == network.about(1)
