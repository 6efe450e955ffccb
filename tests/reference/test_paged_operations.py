"""What mitigations do to pages: clearing, sums, canaries, tags."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvproto.reference.paged import operations
from kvproto.reference.paged.pool import PagedPool

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
        ],
    ),
]


def filled(dtype: str = "float32", device: str = "cpu") -> PagedPool:
    """Six pages of random numbers with tags 1 to 6."""
    draw = torch.Generator().manual_seed(3)
    pool = PagedPool.empty(6, 4, 2, 8, dtype=dtype, device=device)
    pool.keys.copy_(torch.randn(pool.keys.shape, generator=draw))
    pool.values.copy_(torch.randn(pool.values.shape, generator=draw))
    pool.tags.copy_(torch.arange(1, 7))
    return pool


@pytest.mark.parametrize("device", DEVICES)
def test_clearing_clears_these_pages_and_no_others(device: str) -> None:
    pool, before = filled(device=device), filled(device=device)
    operations.zero(pool, [1, 4])

    for page in range(6):
        cleared = page in (1, 4)
        assert cleared == (not pool.keys[page].any())
        assert cleared == (not pool.values[page].any())
        assert cleared or torch.equal(before.keys[page], pool.keys[page])
    assert [1, 0, 3, 4, 0, 6] == pool.tags.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_tags_are_one_for_all_or_one_for_each(device: str) -> None:
    pool = filled(device=device)
    operations.write_tags(pool, [0, 2], 9)
    operations.write_tags(pool, torch.tensor([3, 4], device=device), [7, 8])

    assert [9, 2, 9, 7, 8, 6] == pool.tags.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_a_canary_is_left_where_nothing_was_written(device: str) -> None:
    """A write of a whole page, or of its end, takes it away; one of the beginning does not."""
    pool = filled(device=device)
    operations.plant_canary(pool, range(6), 1e4)
    pool.keys[1] = filled(device=device).keys[1]
    pool.keys[2, :3] = 0.5
    pool.keys[3, 3, 1, 7] = 0.5

    assert [True, False, True, False] == operations.canaries_left(pool, range(4), 1e4).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_sum_is_over_bits_in_order(dtype: str) -> None:
    """Content, place in the page, place of the page and which half it is count; tags do not."""
    pool = filled(dtype)

    def sums(pages: list[int]) -> int:
        return int(operations.checksum(pool, pages))

    first = sums([1, 2])
    assert first == int(operations.checksum(filled(dtype), [1, 2]))
    assert len({sums(pages) for pages in ([1, 2], [2, 1], [1], [2], [1, 1], [])}) == 6
    pool.tags[1] = 99
    assert first == sums([1, 2])
    pool.keys[1], pool.values[1] = pool.values[1].clone(), pool.keys[1].clone()
    assert first != sums([1, 2])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 7), st.booleans())
def test_every_element_counts(token: int, head: int, at: int, page: int, sign: bool) -> None:
    """Also where only the sign of a zero changes."""
    pool = PagedPool.empty(4, 4, 2, 8)
    before = int(operations.checksum(pool, range(4)))
    pool.values[page % 4, token, head, at] = -0.0 if sign else 1e-30

    assert before != int(operations.checksum(pool, range(4)))


def test_a_sum_does_not_depend_on_where_the_pages_lie() -> None:
    """Prefill and decode hold the same pages under other numbers."""
    pool = filled()
    pool.keys[5], pool.values[5] = pool.keys[0].clone(), pool.values[0].clone()

    assert int(operations.checksum(pool, [0, 3])) == int(operations.checksum(pool, [5, 3]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_card_sums_up_as_the_cpu_does() -> None:
    assert int(operations.checksum(filled(), [3, 1])) == int(operations.checksum(filled(device="cuda"), [3, 1]))
