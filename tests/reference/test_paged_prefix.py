"""Shared pages: counted, freed at the last reference, found only once they are written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.reference.paged.prefix import SharedPages
from kvproto.reference.prompts import PAGE_SIZE
from kvproto.reference.refusal import Refused

SYSTEM = "You are helpful.Answer briefly. "
"""Two full pages that many prompts begin with."""


def filled(pages: SharedPages, room: int, text: str) -> list[int]:
    """A request whose pages are all written and published as far as they can be."""
    shared = pages.begin(room, text)
    count = -(-len(text) // PAGE_SIZE)
    pages.extend(room, count - shared)
    for position in range(shared, count):
        pages.to_write(room, position)
        pages.publish(room, position)
    return pages.tables[room]


def test_requests_with_a_common_beginning_share_its_pages() -> None:
    pages = SharedPages("pool", 6)

    assert [0, 1, 2] == filled(pages, 1, SYSTEM + "Who was first?  ")
    assert [0, 1, 3] == filled(pages, 2, SYSTEM + "Who was second? ")
    assert [2, 2, 1, 1, 0, 0] == pages.references


def test_a_shared_page_is_freed_by_the_last_request_that_reads_it() -> None:
    pages = SharedPages("pool", 6)
    filled(pages, 1, SYSTEM + "Who was first?  ")
    filled(pages, 2, SYSTEM + "Who was second? ")

    assert (2,) == pages.release(1)
    assert [2, 4, 5] == pages.free()
    assert (0, 1, 3) == pages.release(2)
    assert [0] * 6 == pages.references


def test_a_page_that_is_free_is_found_no_more() -> None:
    """It is given to others, and its bytes are replaced."""
    pages = SharedPages("pool", 3)
    filled(pages, 1, SYSTEM)
    pages.release(1)

    assert 0 == pages.begin(2, SYSTEM)
    assert (0, 1) == pages.extend(2, 2)


def test_a_page_is_not_shared_before_it_is_written() -> None:
    """Whoever asks in between computes a page of its own."""
    pages = SharedPages("pool", 6)
    pages.begin(1, SYSTEM)
    pages.extend(1, 2)
    with pytest.raises(Refused, match="page 0 is not written yet"):
        pages.publish(1, 0)

    assert 0 == pages.begin(2, SYSTEM)
    pages.to_write(1, 0)
    assert 0 == pages.begin(3, SYSTEM)
    assert pages.publish(1, 0)
    assert 1 == pages.begin(4, SYSTEM)
    assert [0] == pages.tables[4]


def test_what_others_may_read_is_not_written() -> None:
    """Also by the request that wrote it first, and also if it is the only one left."""
    pages = SharedPages("pool", 6)
    filled(pages, 1, SYSTEM)
    pages.begin(2, SYSTEM)

    for room in (1, 2):
        with pytest.raises(Refused, match="page 0 is shared"):
            pages.to_write(room, 0)
    pages.release(2)
    with pytest.raises(Refused, match="page 0 is shared"):
        pages.to_write(1, 0)


def test_a_prefix_ends_at_a_page_and_must_be_equal_from_the_beginning() -> None:
    """The same page behind another beginning holds other keys and values; a half page is nobody else's."""
    pages = SharedPages("pool", 9)
    filled(pages, 1, SYSTEM + "half a p")

    assert 1 == pages.begin(2, SYSTEM[:PAGE_SIZE] + "Another question")
    assert 0 == pages.begin(3, SYSTEM[PAGE_SIZE:])
    assert 2 == pages.begin(4, SYSTEM + "half a p")


def test_two_that_computed_the_same_keep_their_own() -> None:
    """The first one that publishes is found; the other page stays private, and is freed with its request."""
    pages = SharedPages("pool", 6)
    for room in (1, 2):
        pages.begin(room, SYSTEM)
        pages.extend(room, 2)
        pages.to_write(room, 0)

    assert [True, False] == [pages.publish(room, 0) for room in (1, 2)]
    assert (2, 3) == pages.release(2)
    assert 1 == pages.begin(3, SYSTEM)


def test_what_is_not_there_is_refused() -> None:
    pages = SharedPages("pool", 1)
    with pytest.raises(Refused, match="request A has no pages"):
        pages.release(1)
    pages.begin(1, SYSTEM)
    with pytest.raises(Refused, match="request A has pages"):
        pages.begin(1, SYSTEM)
    with pytest.raises(Refused, match="2 pages wanted, 1 free"):
        pages.extend(1, 2)
    assert [] == pages.tables[1]


TEXTS = ["a" * 16 + "b" * 16, "a" * 16 + "c" * 16, "a" * 40, "b" * 16, "a" * 16]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(TEXTS)), max_size=24))
def test_references_are_conserved(events: list[tuple[int, str]]) -> None:
    """Every event begins a request that is not there, or ends one that is; at the end nothing is left."""
    pages, bytes_of = SharedPages("pool", 9), dict.fromkeys(range(9), "")
    for room, text in events:
        if room in pages.tables:
            freed = pages.release(room)
            assert all(pages.references[page] == 0 for page in freed)
        else:
            count, before = -(-len(text) // PAGE_SIZE), pages.begin(room, text)
            if len(pages.free()) < count - before:
                pages.release(room)
                continue
            pages.extend(room, count - before)
            for position in range(before, count):
                bytes_of[pages.to_write(room, position)] = text[: (position + 1) * PAGE_SIZE]
                pages.publish(room, position)
            # What is read is the prompt from its beginning, whoever computed it.
            held = [bytes_of[page] for page in pages.tables[room]]
            assert [text[: (k + 1) * PAGE_SIZE] for k in range(count)] == held
        counted = [sum(page in table for table in pages.tables.values()) for page in range(9)]
        assert counted == pages.references
    for room in list(pages.tables):
        pages.release(room)
    assert list(range(9)) == pages.free()
