"""Attention over pages spells the text that the pages hold, exactly."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.reference.array import namespace
from kvproto.reference.attention import BLANK, DIM, HEADS, ILLEGIBLE, attend, bits, characters, encode
from kvproto.reference.pages import Image, Pool
from kvproto.reference.prompts import PAGE_SIZE, split

pytestmark = pytest.mark.usefixtures("on_each_backend")

ARRAYS = namespace("numpy")

characters_of_a_page = st.characters(min_codepoint=0, max_codepoint=0xFFFF, exclude_categories=("Cs",))
page = st.text(characters_of_a_page, min_size=PAGE_SIZE, max_size=PAGE_SIZE)


def filled(texts: list[str], table: list[int], size: int) -> Pool:
    """A pool of `size` pages that holds the texts in the pages of `table`."""
    pool = Pool("test", size, ARRAYS)
    for position, (text, at) in enumerate(zip(texts, table, strict=True)):
        keys, values = encode(ARRAYS, text, position)
        pool.write(at, Image(keys, values, 0))
    return pool


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(page, min_size=1, max_size=6), st.integers(0, 2**32))
def test_any_text_comes_back_through_any_page_table(texts: list[str], seed: int) -> None:
    """The round trip: encode, scatter over the pool, attend."""
    size = 9
    table = random.Random(seed).sample(range(size), len(texts))
    pool = filled(texts, table, size)

    assert "".join(texts) == attend(pool, table)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.none() | page, min_size=1, max_size=6))
def test_pages_never_written_read_as_blanks(texts: list[str | None]) -> None:
    """A page of zeros answers nothing, whatever its neighbours hold."""
    table = list(range(len(texts)))
    pool = Pool("test", len(texts), ARRAYS)
    for position, text in enumerate(texts):
        if text is not None:
            keys, values = encode(ARRAYS, text, position)
            pool.write(position, Image(keys, values, 0))
    read = split(attend(pool, table))

    assert [BLANK * PAGE_SIZE if text is None else text for text in texts] == read


def test_a_foreign_page_is_read_wherever_its_own_prompt_had_it() -> None:
    """The page table decides which page is read, not the position in the key; this is what leaks."""
    pool = Pool("test", 2, ARRAYS)
    for at, (text, position) in enumerate([("mine".ljust(16), 0), ("somebody else's ", 7)]):
        keys, values = encode(ARRAYS, text, position)
        pool.write(at, Image(keys, values, 0))

    assert "somebody else's mine            " == attend(pool, [1, 0])
    assert "mine            " * 2 == attend(pool, [0, 0])


def test_a_long_table_is_read_exactly() -> None:
    """Sharpness does not fade with length."""
    texts = [f"page {number}".ljust(PAGE_SIZE, ".") for number in range(64)]
    table = list(reversed(range(64)))
    pool = filled(texts, table, 64)

    assert "".join(texts) == attend(pool, table)


def test_a_key_tells_the_position_and_a_value_the_character() -> None:
    """Same character at other places: other keys, same value."""
    one, two = encode(ARRAYS, "aa".ljust(16), 0), encode(ARRAYS, "aa".ljust(16), 1)

    assert (PAGE_SIZE, HEADS, DIM) == one[0].shape == one[1].shape
    assert ARRAYS.to_bytes(one[0]) != ARRAYS.to_bytes(two[0])
    assert ARRAYS.to_bytes(one[1]) == ARRAYS.to_bytes(two[1])
    assert ARRAYS.to_bytes(one[0][0]) != ARRAYS.to_bytes(one[0][1])
    assert [1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0] == bits(5)


def test_a_mixture_of_characters_is_illegible_and_never_a_third_one() -> None:
    """Halfway between two characters there is none."""
    _, values = encode(ARRAYS, "az".ljust(16), 0)
    mixed = (values[:1] + values[1:2]) / 2

    assert ILLEGIBLE == characters(ARRAYS, mixed)
    assert "a" == characters(ARRAYS, values[:1])


def test_a_namespace_may_be_named_or_given() -> None:
    """Names are checked, so that no module is imported on a file's word."""
    assert namespace(ARRAYS) is ARRAYS
    assert namespace(ARRAYS.xp).xp is ARRAYS.xp
    assert namespace(ARRAYS.xp).backend == ARRAYS.backend
    with pytest.raises(ValueError, match="'os' is none of"):
        namespace("os")
    with pytest.raises(ValueError, match="main memory, not on 'cuda'"):
        namespace("numpy", device="cuda")
