"""A run of a thousand steps: it opens at once and stays usable.

Times are printed, not judged.  What is judged is how much there is, and how much of it a key press touches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_chromium import Visit, opened
from browser_traces import LONG, long_run
from browser_walk import Expected, differences

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

NODES = 80_000
"""Elements of the page, which has about thirty for each step and one for each variable."""

TOUCHED = 4_000
"""Changes to the document that one key press may make: those of two states in full, and not those of all rows."""

COUNT = """() => {
    window.touched = 0;
    new MutationObserver(records => { window.touched += records.length; }).observe(
        document, { subtree: true, childList: true, attributes: true, characterData: true });
}"""


@pytest.fixture(scope="module")
def long_page(chromium: Browser, page_of: Callable[[Sequence[Trace]], Path]) -> Iterator[tuple[Visit, float]]:
    """The page, and how long it took to open."""
    path = page_of([long_run()])
    with opened(chromium, path, viewport={"width": 1400, "height": 900}) as visit:
        start = time.perf_counter()
        visit.go()
        visit.page.locator("body.live").wait_for(state="attached")
        yield visit, time.perf_counter() - start


def test_it_opens(long_page: tuple[Visit, float], capsys: pytest.CaptureFixture[str]) -> None:
    visit, seconds = long_page
    nodes = visit.ask("() => document.querySelectorAll('*').length")
    size = Path(visit.uri.removeprefix("file://")).stat().st_size
    with capsys.disabled():
        print(f"\n{LONG} steps: opens in {seconds:.2f} s, {nodes:,} elements, {size / 1e6:.1f} MB")

    assert nodes < NODES
    assert len(long_run().steps) == LONG


def test_it_walks(long_page: tuple[Visit, float], capsys: pytest.CaptureFixture[str]) -> None:
    """Both ends of it in full, and a key press touches no more at the end than at the start."""
    visit, _ = long_page
    expected = Expected(long_run())
    visit.press("d", "End")
    assert [] == differences(visit, expected, LONG)
    visit.press("k", "k")
    assert [] == differences(visit, expected, LONG - 2)
    visit.press("Home")
    for number in range(1, 6):
        visit.press("j")
        assert [] == differences(visit, expected, number)
    visit.ask(COUNT)
    most, presses = 0, 40
    start = time.perf_counter()
    for _ in range(presses):
        visit.ask("() => { window.touched = 0; }")
        visit.press("j")
        most = max(most, visit.ask("() => new Promise(done => requestAnimationFrame(() => done(window.touched)))"))
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\n{1000 * seconds / presses:.0f} ms a key press with all variables shown, at most {most} changes")

    assert 0 < most < TOUCHED


def test_it_is_filtered_and_searched(long_page: tuple[Visit, float]) -> None:
    visit, _ = long_page
    wanted = [n for n, step in enumerate(long_run().steps, 1) if step.action == "retract"]
    visit.press("f")
    visit.page.keyboard.type("retract(")
    visit.press("Enter", "Escape")
    rows = "rows => rows.filter(row => row.checkVisibility()).map(row => Number(row.dataset.step))"
    found = visit.page.locator("#t1 .steps tr[data-step]").evaluate_all(rows)

    assert wanted == [number for number in found if number]
    visit.press("f", "Control+a", "Delete", "Enter", "Escape")
