"""What a page looks like wherever it is shown: sizes of windows, paper, hostile names, many traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_chromium import Visit, opened
from browser_looks import CUT, OVERLAPS, PAPER
from browser_traces import INCIDENT, MARKUP, RECORDED, hostile, recorded
from browser_walk import SMALL, Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]

TOLD = """() => [...document.querySelectorAll(".why li, .whatif li")].map(line => line.checkVisibility())"""
"""Of each sentence, whether it is there; those of what would have been may be closed on a screen."""

WIDER = """() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"""


def fits(visit: Visit) -> bool:
    """Nothing sticks out of the window at its side."""
    needed, there = visit.ask(WIDER)
    return bool(needed <= there)


@pytest.mark.parametrize("name", RECORDED)
def test_no_text_over_text(chromium: Browser, page_of: Pages, name: str) -> None:
    with opened(chromium, page_of([recorded(name)]), viewport={"width": 1400, "height": 900}) as visit:
        assert [] == visit.ask(OVERLAPS)


def test_the_page_of_the_incident_is_small(page_of: Pages) -> None:
    assert page_of([recorded(INCIDENT)]).stat().st_size < 150_000


@pytest.mark.parametrize("width", [360, 600, 900, 1400, 2200])
def test_windows(chromium: Browser, page_of: Pages, width: int) -> None:
    """The page itself never scrolls sideways."""
    for name in (INCIDENT, "sglang-0.5.22-fan-out-ranks_agree", "outline-0.5.19-reads_own_writes"):
        with opened(chromium, page_of([recorded(name)]), viewport={"width": width, "height": 800}) as visit:
            assert fits(visit), name
            visit.press("d", "c", "Home")
            assert fits(visit), name


def test_a_window_that_changes(chromium: Browser, page_of: Pages) -> None:
    """The pictures of pages are as large as in a window that had this width from the start."""
    sizes = "() => [...document.querySelectorAll('svg.map')].map(svg => svg.getBoundingClientRect().width)"
    page = page_of([recorded("sglang-incident-reads_no_foreign_data")])
    wide, narrow = {"width": 1400, "height": 900}, {"width": 360, "height": 900}
    with opened(chromium, page, viewport=wide) as visit:
        before = visit.ask(sizes)
        visit.page.set_viewport_size(narrow)
        visit.page.wait_for_function(f"before => ({sizes})()[0] < before", arg=before[0])
        visit.page.set_viewport_size(wide)
        visit.page.wait_for_function(f"before => ({sizes})()[0] === before", arg=before[0])
        assert before == visit.ask(sizes)


@pytest.mark.parametrize("script", [True, False], ids=["script", "static"])
@pytest.mark.parametrize("name", [INCIDENT, "sglang-0.5.23-pages-timeouts=off-worker_crash=on-answered"])
def test_paper(chromium: Browser, page_of: Pages, tmp_path: Path, name: str, script: bool) -> None:
    """All of the page is printed, also what scrolls on a screen."""
    page = page_of([recorded(name)])
    with opened(chromium, page, java_script_enabled=script, viewport=PAPER) as visit:
        visit.page.emulate_media(media="print")

        assert fits(visit)
        assert [] == visit.ask(CUT)
        told: list[bool] = visit.ask(TOLD)
        assert told
        assert all(told)
        paper = visit.page.pdf(format="A4")
        assert paper.startswith(b"%PDF")


def test_markup_is_text(chromium: Browser, page_of: Pages) -> None:
    """Of a request, an action, a claim, a path, a preset; wherever it is shown."""
    trace = hostile()
    page = page_of([trace])
    for settings in ({}, {"java_script_enabled": False}):
        with opened(chromium, page, **settings) as visit:
            assert MARKUP in visit.page.locator(".verdict").inner_text()
            assert MARKUP in visit.page.locator(".steps").inner_text()
            assert 0 == visit.page.locator("img").count()
    with opened(chromium, page) as visit:
        assert [] == walk(visit, Expected(trace))
        assert 0 == visit.page.locator("img").count()


def test_all_recorded_traces_in_one_page(chromium: Browser, page_of: Pages) -> None:
    """One is shown at a time; the list and the keys [ and ] lead to all of them; without a script all are there."""
    traces = [recorded(name) for name in RECORDED]
    every = [f"t{number}" for number in range(1, len(traces) + 1)]
    page = page_of(traces)
    with opened(chromium, page, viewport=SMALL) as visit:
        assert ["t1"] == shown(visit)
        links = visit.page.locator("nav#traces a[data-trace]")
        order: list[str] = links.evaluate_all("links => links.map(link => `t${link.dataset.trace}`)")
        assert sorted(every) == sorted(order)
        for number in (2, len(traces)):
            visit.page.locator(f'nav#traces a[data-trace="{number}"]').click()
            assert [f"t{number}"] == shown(visit)
            assert [] == walk(visit, Expected(traces[number - 1], number))
        visit.press(*"[" * len(traces))
        met = shown(visit)
        for _ in traces[1:]:
            visit.press("]")
            met += shown(visit)
        assert order == met
    with opened(chromium, page, viewport=SMALL, java_script_enabled=False) as visit:
        assert every == shown(visit)


SHOWN = """() => [...document.querySelectorAll("article.trace")].filter(article => article.checkVisibility())
    .map(article => article.id)"""


def shown(visit: Visit) -> list[str]:
    """Which traces are to be seen."""
    found: list[str] = visit.ask(SHOWN)
    return found
