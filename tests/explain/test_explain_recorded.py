"""Explanations of traces with ranks, slices and several sets of writes: golden texts, and what they must mention."""

from __future__ import annotations

import re

import pytest
from recorded_samples import RECORDED
from trace_samples import expected_texts, golden, stored

from kvproto.explain import Flight, domain_edges, why

WORDS = {
    "ranks_blank": (
        "pages 1-7 had never been written",
        "for req[A].need = 8",
        "had posted 1 write for 8 pages",
        "went by req[A].sent = 1, set by step 2, admit(r=A)",
        "conclude(p=0, r=A)",
    ),
    "ranks_stale": ("A had written pages 1-2", "given them back at step", "went by req[B].sent = 1"),
    "ranks_rejected": ("req[A].client = OK_200", "req[A].stub = true", "conclude(p=0, r=A)"),
    "ranks_bystander": ("was B's by then", "while A owned the page", "transfer_failure(r=A)", "ABORT, which step 15"),
    "ranks_copied": ("own write brought it into page 1", "had lost this source page", "disconnect(r=A)"),
    "ranks_posted_late": (
        "A had lost the page at step 13, release_timeout(d=0, r=A), and B had got it at step 14",
        "replaced what B itself had written",
        "ABORT, which step 11, abort_on_decode(r=A), had put into sender[0][A].up[0], was still there at step 31",
    ),
    "ranks_source": (
        "brought B's content, which its source, prefill page 0, held by then",
        "call_fails(p=0, r=A, d=0), left it under way",
        "inflight_failure(r=A)",
        "forward(r=B), gave it to B and filled it",
    ),
    "ranks_committed": ("had got pages 0-1", "had posted 1 write for 2 pages", "went by req[A].sent = 1"),
    "ranks_revived": ("changed sender[0][A].room to WAITING from FAILED, set by step 4, abort_on_prefill(r=A)",),
    "ranks_quiet": ("a write of A toward decode page 0 is still under way", "left it under way", "{ACK}"),
    "ranks_session": ("blacklist[0] = {0}", "call_fails", "nothing happens any more"),
    "ranks_in_vain": (
        "req[A].prefill = OVER, set by step 2, admit(r=A)",
        "Nothing was ever put into sender[0][A].down[0] (no Down.SUCCESS, no Down.FAILED)",
    ),
    "ranks_freed": ("belongs to nobody while 1 write of A", "release_timeout(d=0, r=A)"),
    "ranks_two": ("landed in decode[1] page 0", "waiting_timeout("),
    "ranks_differ": ("receiver[1][A].holding = false", "receiver[0][A].holding = true", "waiting_timeout"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_golden(name: str) -> None:
    assert expected_texts(stored(name))["why"] == golden(name, "why").read_text("utf-8")


@pytest.mark.parametrize("name", RECORDED)
def test_what_an_engineer_asks_is_answered(name: str) -> None:
    trace = stored(name)
    sentences = why(trace)

    assert 3 <= len(sentences) <= 6
    assert [words for words in WORDS[name] if words not in "\n".join(sentences)] == []
    for number in re.findall(r"[Ss]teps? (\d+)", " ".join(sentences)):
        assert 1 <= int(number) <= len(trace.steps)


def flights(name: str) -> list[Flight]:
    return list(domain_edges(stored(name)).flights)


def test_a_write_that_changes_its_set_stays_the_same_write() -> None:
    (first, *_) = flights("ranks_source")

    assert (first.request, first.posted, first.left, first.landed) == ("A", 14, (15,), 21)
    assert first.way_path == "sender[0][A].orphans[0]"


def test_each_rank_has_its_own_write_and_page() -> None:
    found = {(f.target.pool, f.target.label): f.landed for f in flights("ranks_two") if f.target is not None}

    assert found == {("decode[0]", "0"): None, ("decode[1]", "0"): 15}


def test_housekeeping_reads_no_pages() -> None:
    """`forget` compares the content of all prefill pages; that is nobody's read."""
    domain = domain_edges(stored("ranks_stale"))

    assert {read.step for read in domain.reads if not read.own} == {37}
