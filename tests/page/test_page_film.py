"""The pages over time: the states in which something is new, and what each cell says."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from formats_samples import RECORDED, recorded
from hypothesis import given, settings
from trace_strategies import transfers

from kvproto.page.film import MOST_ROWS, film, moments, short
from kvproto.report import Cell, Pool, Report, report
from kvproto.trace.trace import Trace

INCIDENT = next(path for path in RECORDED if "incident-reads_no_foreign_data" in path.name and "sglang" in path.name)


def cell(owner: str | None, *contents: str | None, since: int = 0) -> Cell:
    return Cell(since, owner, contents, (), any(content != owner for content in contents), "words")


def frames(found: Report, pool: Pool) -> dict[int, Element]:
    """The rows of a film by state."""
    drawn = film(found, pool)
    assert drawn is not None
    tree = ElementTree.fromstring(f"<svg>{drawn.body}</svg>")
    return {int(g.get("data-step", "")): g for g in tree.iter("g") if g.get("class") == "frame"}


def words(frame: Element) -> list[str]:
    return ["".join(text.itertext()) for text in frame.iter("text")]


def test_the_film_of_the_incident():
    found = recorded(INCIDENT)
    decode = next(pool for pool in found.pools if pool.name == "decode")
    rows = frames(found, decode)

    assert [0, 7, 15, 16, 17, 23, 24, 32, 37] == list(rows)
    assert ["  0  (start)", *["."] * 8] == words(rows[0])
    assert [" 23  finish(A)", *[".<A"] * 3, *["."] * 5] == words(rows[23])
    assert [" 37  attend(B)", "B", *["B<A!"] * 2, *["B<.!"] * 5] == words(rows[37])


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_between_two_rows_nothing_happens(path):
    found = recorded(path)
    for pool in found.pools:
        states = moments(found, pool)
        seen = None
        for state in range(len(found.rows) + 1):
            now = [(pool.at(page, state).owner, pool.at(page, state).contents) for page in pool.pages]
            assert now == seen or state in states
            seen = now


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (cell("A", "A"), "A"),
        (cell("B", "A"), "B<A"),
        (cell("B", None), "B<."),
        (cell(None, "A"), ".<A"),
        (cell(None, None), "."),
        (cell("A", "A", "B"), "A<A/B"),
        (cell("A", "B", "B"), "A<B"),
        (cell("request 17", "request 17"), "r..."),
    ],
)
def test_words_of_a_small_cell(shown: Cell, words: str):
    assert words == short(shown)


def test_a_pool_to_which_nothing_happens_has_no_film():
    pool = Pool("p", ("0",), (), ((cell("A", "A"),),))

    assert film(replace(recorded(INCIDENT), pools=(pool,)), pool) is None


def test_long_films_show_their_end_and_say_so():
    found = recorded(INCIDENT)
    history = tuple(cell("AB"[at % 2], None, since=at) for at in range(30))
    pool = Pool("p", tuple(map(str, range(20))), (), (history,) * 20)
    drawn = film(replace(found, pools=(pool,)), pool)

    assert drawn is not None
    assert list(range(30 - MOST_ROWS, 30)) == list(frames(replace(found, pools=(pool,)), pool))
    assert "16 earlier changes are left out" in drawn.body
    assert "4 more pages are left out" in drawn.body


@settings(max_examples=60, deadline=None)
@given(transfers() | transfers(hostile=False))
def test_any_film_is_xml(trace: Trace):
    found = report(trace)
    for pool in found.pools:
        drawn = film(found, pool)
        if drawn is not None:
            ElementTree.fromstring(f"<svg>{drawn.body}</svg>")
