"""The paged pool: allocation order, owners, and bytes that outlive ownership."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.reference.array import namespace
from kvproto.reference.attention import BLANK, attend, encode
from kvproto.reference.pages import Image, Pool
from kvproto.reference.refusal import Refused

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")


def image(text: str, tag: int = 0) -> Image:
    """A page that holds a text."""
    return Image(*encode(ARRAYS, text.ljust(16), 0), tag)


def text_of(pool: Pool, page: int) -> str:
    """What attention reads in one page."""
    return attend(pool, [page])


def test_the_lowest_free_pages_are_given_first() -> None:
    """Also after others were given back in between."""
    pool = Pool("test", 6, ARRAYS)
    pool.allocate(1, 2)
    pool.allocate(2, 2)
    pool.free(1)

    assert (0, 1, 4) == pool.allocate(3, 3)
    assert [3, 3, 2, 2, 3, None] == pool.owners
    assert [5] == pool.free_pages()


def test_a_freed_page_keeps_its_bytes_and_tag() -> None:
    """The next owner finds them; this is half of the incident."""
    pool = Pool("test", 1, ARRAYS)
    pool.allocate(1, 1)
    pool.write(0, image("secret", tag=1))
    pool.free(1)
    pool.allocate(2, 1)

    assert "secret".ljust(16) == text_of(pool, 0)
    assert 1 == int(pool.tags[0])


def test_zero_on_release_clears_bytes_and_tag() -> None:
    """Only of the pages that are released."""
    pool = Pool("test", 2, ARRAYS, zero_on_release=True)
    for room in (1, 2):
        pool.allocate(room, 1)
        pool.write(room - 1, image(f"text {room}", tag=room))
    pool.free(1)

    assert BLANK * 16 == text_of(pool, 0)
    assert "text 2".ljust(16) == text_of(pool, 1)
    assert [0, 2] == [int(tag) for tag in pool.tags]


def test_a_page_that_is_read_is_a_copy() -> None:
    """Later writes do not change it."""
    pool = Pool("test", 1, ARRAYS)
    pool.write(0, image("before"))
    copied = pool.read(0)
    pool.write(0, image("after"))
    pool.write(0, copied)

    assert "before".ljust(16) == text_of(pool, 0)


def test_too_large_an_allocation_changes_nothing() -> None:
    """It is refused as a whole."""
    pool = Pool("test", 2, ARRAYS)
    pool.allocate(1, 1)

    with pytest.raises(Refused, match="2 pages wanted, 1 free"):
        pool.allocate(2, 2)
    assert [1, None] == pool.owners
    assert [1, 0] == pool.generations


def test_the_generation_changes_with_each_allocation() -> None:
    """Not with writes, and not with release."""
    pool = Pool("test", 1, ARRAYS)
    pool.allocate(1, 1)
    pool.write(0, image("x"))
    pool.free(1)

    assert [1] == pool.generations
    pool.allocate(1, 1)
    assert [2] == pool.generations


def test_the_digest_is_over_bytes_in_order() -> None:
    """Content, position and order count; tags do not."""
    pool = Pool("test", 3, ARRAYS)
    pool.write(0, image("a", tag=1))
    pool.write(1, image("b", tag=1))
    pool.write(2, image("a", tag=2))

    assert pool.digest([0, 1]) == pool.digest([2, 1])
    assert len({pool.digest(pages) for pages in ([0, 1], [1, 0], [0], [1], [])}) == 5
    pool.keys[2][3, 1, 15] = 0.5
    assert pool.digest([0]) != pool.digest([2])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=30))
def test_pages_are_conserved(events: list[tuple[int, int]]) -> None:
    """Every page is free or has one owner, whatever is allocated and freed (a count of 0 frees)."""
    pool = Pool("test", 6, ARRAYS)
    held: dict[int, set[int]] = {}
    for room, count in events:
        if count == 0:
            pool.free(room)
            held.pop(room, None)
        elif len(pool.free_pages()) >= count:
            held.setdefault(room, set()).update(pool.allocate(room, count))

    owned = [page for pages in held.values() for page in pages]
    assert len(owned) == len(set(owned))
    assert sorted(owned + pool.free_pages()) == list(range(6))
    assert all(pool.owners[page] == room for room, pages in held.items() for page in pages)
