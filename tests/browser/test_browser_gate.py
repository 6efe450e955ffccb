"""The gate itself: each fault that it is there for is planted, and found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import opened
from browser_traces import INCIDENT, recorded
from browser_walk import Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

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
    "a cell's words": (r"(decode page 3: owner A, )never written", r"\1last written by A"),
    "a new value": (r'("sender\[0\]\[A\]\.room":\s*)"WAITING"', r'\1"BOOTSTRAPPING"'),
    "a first value": (r'("req\[B\]\.need":\s*)"0"', r'\1"1"'),
}


@pytest.mark.parametrize(("pattern", "instead"), PLANTED.values(), ids=list(PLANTED))
def test_a_wrong_page_is_not_walked_through(
    chromium: Browser,
    page_of: Callable[[Sequence[Trace]], Path],
    tmp_path: Path,
    pattern: str,
    instead: str,
) -> None:
    """The data of the page is changed, of which the content policy knows nothing."""
    trace = recorded(INCIDENT)
    head, start, data, end, tail = re.split(
        r'(<script type="application/json" id="report-1">)(.*?)(</script>)',
        page_of([trace]).read_text("utf-8"),
        flags=re.S,
    )
    changed, number = re.subn(pattern, instead, data)
    assert number
    json.loads(changed)
    page = tmp_path / "page.html"
    page.write_text(head + start + changed + end + tail, "utf-8")

    with opened(chromium, page) as visit:
        visit.press("d")
        assert walk(visit, Expected(trace))
