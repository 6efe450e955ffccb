"""The gate itself: each fault that it is there for is planted, and found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import opened
from browser_looks import CUT, OVERLAPS, PAPER
from browser_traces import INCIDENT, recorded
from browser_walk import Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">"""

FAULTS = {
    "an error": ("<script>undefined.x</script>", "error: "),
    "a warning": ("<script>console.warn('beware')</script>", "console.warning: beware"),
    "a rejected promise": ("<script>Promise.reject(new Error('late'))</script>", "error: late"),
    "a picture": ("<img src='other.png' alt=''>", "request: "),
    "a request": ("<script>fetch('http://127.0.0.1:9/').catch(() => 0)</script>", "request: http://127.0.0.1:9/"),
    "a violated policy": (POLICY, "content policy: style-src"),
    "a dialog": ("<script>alert(1)</script>", "dialog: 1"),
}


@pytest.mark.parametrize(("markup", "said"), FAULTS.values(), ids=list(FAULTS))
def test_what_a_page_must_not_do(chromium: Browser, tmp_path: Path, markup: str, said: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><head>{markup}</head><title>a page</title><p style='color: red'>text</p>", "utf-8")

    with pytest.raises(AssertionError, match=re.escape(said)), opened(chromium, page) as visit:
        visit.page.wait_for_timeout(100)


def test_what_axe_finds(chromium: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = "<main><h1>A</h1><p style='color: #bbb; background: white'>pale</p><img src='data:,'></main>"
    page.write_text(f"<!doctype html><title>a page</title>{text}", "utf-8")
    visit_problems = []
    with opened(chromium, page) as visit:
        visit_problems = violations(visit)
        visit.problems.clear()

    rules = {problem.split()[0] for problem in visit_problems}
    assert rules == {"color-contrast", "html-has-lang", "image-alt"}


PLANTED = {
    "a cell's words": (r'("words":"decode page 3: owner A, )never written', r"\1last written by A"),
    "a new value": (r'("sender\[0\]\[A\]\.room":)"WAITING"', r'\1"BOOTSTRAPPING"'),
    "a first value": (r"(<dt>req\[B\].need<dd>)0", r"\g<1>1"),
}
"""Changes of the page's data, of which its content policy knows nothing."""


@pytest.mark.parametrize(("pattern", "instead"), PLANTED.values(), ids=list(PLANTED))
def test_a_wrong_page_is_not_walked_through(
    chromium: Browser, page_of: Pages, tmp_path: Path, pattern: str, instead: str
) -> None:
    trace = recorded(INCIDENT)
    changed, number = re.subn(pattern, instead, page_of([trace]).read_text("utf-8"))
    assert number
    page = tmp_path / "page.html"
    page.write_text(changed, "utf-8")

    with opened(chromium, page) as visit:
        assert walk(visit, Expected(trace))


def test_texts_over_one_another_are_found(chromium: Browser, page_of: Pages) -> None:
    with opened(chromium, page_of([recorded(INCIDENT)])) as visit:
        assert [] == visit.ask(OVERLAPS)
        visit.ask(
            "() => { document.querySelector('svg.diagram .row text').setAttribute('transform', 'translate(0,37)'); }"
        )
        assert visit.ask(OVERLAPS)


def test_what_is_cut_on_paper_is_found(chromium: Browser, page_of: Pages) -> None:
    with opened(chromium, page_of([recorded(INCIDENT)]), viewport=PAPER) as visit:
        visit.page.emulate_media(media="print")
        assert [] == visit.ask(CUT)
        visit.ask(
            "() => { Object.assign(document.querySelector('.why').style, { overflow: 'auto', height: '40px' }); }"
        )
        assert visit.ask(CUT)
        visit.problems.clear()
