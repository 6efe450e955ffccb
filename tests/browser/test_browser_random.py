"""Pages of random traces: several to a page, with any names, pools, slices, flights, containers and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import opened
from browser_traces import EACH, KINDS, randomly
from browser_walk import SMALL, Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PER_PAGE = 18

ALONE = """() => document.querySelectorAll("article").forEach(article => {
    if (!article.checkVisibility()) article.remove();
})"""


@pytest.mark.parametrize("start", range(0, EACH, PER_PAGE))
@pytest.mark.parametrize("kind", KINDS)
def test_keyboard_walk(chromium: Browser, page_of: Callable[[Sequence[Trace]], Path], kind: str, start: int) -> None:
    """All states of the traces of a page; then the rules of accessibility, in the light and in the dark."""
    some = randomly(kind)[start : start + PER_PAGE]
    assert PER_PAGE == len(some)
    with opened(chromium, page_of(some), viewport=SMALL) as visit:
        for number, trace in enumerate(some, 1):
            visit.go(f"#t{number}")

            assert [] == walk(visit, Expected(trace, number))
        # What is hidden has been judged where it was shown, or will be; that takes five times as long.
        visit.ask(ALONE)
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            assert [] == violations(visit)
