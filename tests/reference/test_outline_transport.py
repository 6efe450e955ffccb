"""The transport: one-sided, late, never recalled."""

from __future__ import annotations

import pytest

from kvproto.reference.array import namespace
from kvproto.reference.attention import attend, encode
from kvproto.reference.outline.transport import Landing, Transport, Write
from kvproto.reference.pages import Image, Pool
from kvproto.reference.refusal import Refused

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")


@pytest.fixture
def transport() -> Transport:
    """Two pools of two pages; room 1 owns a page on both sides, and its write is posted."""
    source, target = Pool("prefill", 2, ARRAYS), Pool("decode", 2, ARRAYS)
    source.allocate(1, 1)
    target.allocate(1, 1)
    put(source, 0, "first", tag=1)
    made = Transport(source, target)
    made.post(1, 0, source=0, target=0)
    return made


def put(pool: Pool, page: int, text: str, tag: int) -> None:
    """Write a text into a page."""
    pool.write(page, Image(*encode(ARRAYS, text.ljust(16), 0), tag))


def text_of(pool: Pool, page: int) -> str:
    """What attention reads in one page."""
    return attend(pool, [page]).rstrip()


def test_posting_moves_nothing(transport: Transport) -> None:
    """The target is untouched until the write lands."""
    assert "·" * 16 == text_of(transport.target, 0)
    assert [0] == transport.in_flight(1)
    assert [] == transport.in_flight(2)


def test_landing_copies_bytes_and_tag(transport: Transport) -> None:
    """Keys, values and the tag beside them."""
    transport.land(1, 0)

    assert "first" == text_of(transport.target, 0)
    assert 1 == int(transport.target.tags[0])
    assert [] == transport.in_flight(1)
    assert [Landing(Write(1, 0, 0, 0), owner=1)] == transport.landed


def test_a_late_landing_reads_the_source_as_it_is_then(transport: Transport) -> None:
    """Whatever occupies the source page by then is sent."""
    transport.source.free(1)
    transport.source.allocate(2, 1)
    put(transport.source, 0, "second", tag=2)
    transport.land(1, 0)

    assert "second" == text_of(transport.target, 0)
    assert 2 == int(transport.target.tags[0])


def test_a_landing_does_not_follow_the_source_afterwards(transport: Transport) -> None:
    """It is a copy."""
    transport.land(1, 0)
    put(transport.source, 0, "second", tag=2)

    assert "first" == text_of(transport.target, 0)


@pytest.mark.parametrize("next_owner", [None, 2])
def test_a_landing_asks_no_owner_and_observes_who_it_was(transport: Transport, next_owner: int | None) -> None:
    """Memory is memory; a free page accepts writes too."""
    transport.target.free(1)
    if next_owner is not None:
        transport.target.allocate(next_owner, 1)
    transport.land(1, 0)

    assert "first" == text_of(transport.target, 0)
    assert next_owner == transport.landed[-1].owner


def test_a_write_lands_once(transport: Transport) -> None:
    """What is not in flight cannot land."""
    transport.land(1, 0)

    with pytest.raises(Refused, match="no write of page 0 of request A is in flight"):
        transport.land(1, 0)


def test_writes_land_in_any_order(transport: Transport) -> None:
    """There is no order between the pages of a request."""
    put(transport.source, 1, "other", tag=1)
    transport.post(1, 1, source=1, target=1)
    transport.land(1, 1)

    assert [0] == transport.in_flight(1)
    assert "other" == text_of(transport.target, 1)
