"""What every transport can bring about, whatever moves the bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from transport_pages import BLANK, MOONCAKE, Pages, fill, pages

from kvproto.transports import Told, UnknownWrite, verdict

HALF = 2048 + 1024  # all keys, and the values of eight tokens


@pytest.fixture(params=["scripted", "streams", *MOONCAKE])
def moved(request: pytest.FixtureRequest) -> Iterator[Pages]:
    """Each transport in turn."""
    with pages(request.param) as made:
        yield made


@pytest.fixture(params=["scripted", "streams", *MOONCAKE])
def hasty(request: pytest.FixtureRequest) -> Iterator[Pages]:
    """Each transport in turn, where a sender hears of success before its bytes have arrived."""
    with pages(request.param, early_success=True) as made:
        yield made


def test_a_posted_write_moves_nothing(moved: Pages) -> None:
    """It is held, and nobody has been told."""
    (write,) = moved.post(1)

    assert BLANK == moved.read(1)
    assert (write,) == moved.transport.flying()
    assert 0 == moved.transport.arrived(write)
    assert Told.NOTHING is moved.transport.told(write)
    assert moved.transport.awaited(write) is True


def test_writes_land_in_any_order_with_their_tags(moved: Pages) -> None:
    """There is no order between them; a write lands once."""
    first, second = moved.post(0, 1)
    moved.transport.land(second)
    moved.transport.acknowledge(second)

    assert [BLANK, "b" * 16] == [moved.read(0), moved.read(1)]
    assert [0, 2] == [int(moved.target.tags[page]) for page in (0, 1)]
    assert (first,) == moved.transport.flying()
    assert Told.NOTHING is verdict(moved.transport, moved.transport.call(first))
    with pytest.raises(UnknownWrite, match=r"write 1 \(page 1\) is not in flight"):
        moved.transport.land(second)

    moved.transport.land(first)
    moved.transport.acknowledge(first)
    assert Told.SUCCESS is verdict(moved.transport, moved.transport.call(first))


def test_success_before_the_bytes_are_there(hasty: Pages) -> None:
    """Whoever reads on success reads what was there before."""
    (write,) = hasty.post(0)

    assert Told.SUCCESS is hasty.transport.told(write)
    assert BLANK == hasty.read(0)
    assert not hasty.transport.awaited(write)
    hasty.transport.land(write)
    assert "a" * 16 == hasty.read(0)


def test_success_by_an_answer_that_comes_too_early(moved: Pages) -> None:
    """The same by hand: the answer is given before the bytes are let through."""
    (write,) = moved.post(0)
    moved.transport.acknowledge(write)

    assert Told.SUCCESS is moved.transport.told(write)
    assert BLANK == moved.read(0)
    moved.transport.land(write)
    assert ["page 0: posted", "page 0: sender told: success", "page 0: landed"] == moved.events


def test_a_failed_write_of_a_batch_leaves_its_siblings_on_their_way(moved: Pages) -> None:
    """The call has failed; the pages that it was for are given to others, and the siblings land in them."""
    failed, *siblings = moved.post(0, 1, 2)
    moved.transport.fail(failed)

    assert Told.FAILED is verdict(moved.transport, moved.transport.call(failed))
    fill(moved.target, 2, "z", tag=9)
    for write in siblings:
        moved.transport.land(write)
    assert [BLANK, "b" * 16, "c" * 16] == [moved.read(page) for page in range(3)]


def test_a_time_out_leaves_everything_on_its_way(moved: Pages) -> None:
    """The caller stops waiting, the page is given away, and all lands."""
    writes = moved.post(0, 1)
    for write in writes:
        moved.transport.fail(write, Told.TIMED_OUT)
        moved.transport.orphan(write)
    fill(moved.target, 0, "z", tag=9)

    assert Told.TIMED_OUT is verdict(moved.transport, writes)
    assert writes == moved.transport.flying()
    for write in writes:
        moved.transport.land(write)
    assert ["a" * 16, "b" * 16] == [moved.read(0), moved.read(1)]


def test_a_status_that_is_final_and_then_the_bytes(moved: Pages) -> None:
    """FAILED is never taken back, and says nothing of the bytes."""
    (write,) = moved.post(0)
    moved.transport.fail(write)
    moved.transport.land(write)
    moved.transport.acknowledge(write)

    assert "a" * 16 == moved.read(0)
    assert Told.FAILED is moved.transport.told(write)
    assert ["page 0: posted", "page 0: sender told: failed", "page 0: landed"] == moved.events


def test_a_retry_writes_twice(moved: Pages) -> None:
    """The second attempt lands and is reported; the first one lands later, in a page that was given away."""
    (first,) = moved.post(0)
    second = moved.transport.duplicate(first)
    moved.transport.land(second)
    moved.transport.acknowledge(second)
    fill(moved.target, 0, "z", tag=9)

    assert (first,) == moved.transport.flying()
    moved.transport.land(first)
    assert "a" * 16 == moved.read(0)
    assert (second,) == moved.transport.call(second)


def test_a_torn_page(moved: Pages) -> None:
    """A prefix arrives, the page is given away, and the rest lands in it."""
    (write,) = moved.post(0)
    moved.transport.land(write, HALF)

    assert "aaaaaaaa········" == moved.read(0)
    assert HALF == moved.transport.arrived(write)
    assert 0 == int(moved.target.tags[0])
    fill(moved.target, 0, "z", tag=9)
    moved.transport.land(write)
    assert "zzzzzzzzaaaaaaaa" == moved.read(0)
    assert 1 == int(moved.target.tags[0])
    assert f"page 0: landed up to byte {HALF} of 4100" in moved.events


def test_bytes_do_not_go_back(moved: Pages) -> None:
    """What has arrived has arrived."""
    (write,) = moved.post(0)
    moved.transport.land(write, HALF)

    with pytest.raises(ValueError, match=f"{HALF} bytes have arrived, more than 8"):
        moved.transport.land(write, 8)


def test_a_cancelled_write_lands(moved: Pages) -> None:
    """No engine takes a write back, whatever it answers."""
    (write,) = moved.post(0)
    answer = moved.transport.cancel(write)
    fill(moved.target, 0, "z", tag=9)
    moved.transport.land(write)

    assert "a" * 16 == moved.read(0)
    assert f"page 0: cancel asked: {answer}" in moved.events


def test_data_without_a_notification(moved: Pages) -> None:
    """The receiver is told by a step of its own, which may never come."""
    quiet, told = moved.post(0, 1)
    moved.transport.land(quiet)
    moved.transport.land(told)
    moved.transport.notify(told)

    assert [False, True] == [moved.transport.notified(write) for write in (quiet, told)]
    assert "a" * 16 == moved.read(0)


def test_a_write_that_vanishes(moved: Pages) -> None:
    """What has not arrived never does."""
    (write,) = moved.post(0)
    moved.transport.land(write, HALF)
    moved.transport.vanish(write)

    assert () == moved.transport.flying()
    assert "aaaaaaaa········" == moved.read(0)
    with pytest.raises(UnknownWrite):
        moved.transport.land(write)


def test_writes_have_numbers(moved: Pages) -> None:
    """Others are refused."""
    with pytest.raises(UnknownWrite, match="no write 0 was posted"):
        moved.transport.told(0)


@pytest.mark.parametrize("name", ["scripted", "streams", "mooncake-wire"])
def test_a_one_sided_engine_reads_the_source_as_it_lands(name: str) -> None:
    """Whatever the page holds by then is sent."""
    with pages(name) as moved:
        (write,) = moved.post(0)
        fill(moved.source, 0, "y", tag=7)
        moved.transport.land(write)

        assert "y" * 16 == moved.read(0)


def test_an_engine_over_tcp_has_read_the_source_by_then() -> None:
    """A page that fits the socket's buffers has left when the write is posted."""
    with pages("mooncake") as moved:
        (write,) = moved.post(0)
        fill(moved.source, 0, "y", tag=7)
        moved.transport.land(write)

        assert "a" * 16 == moved.read(0)
