"""The page of every recorded trace: nothing but the file, and every state as the trace has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import opened
from browser_traces import RECORDED, recorded
from browser_walk import Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]


@pytest.mark.parametrize("name", RECORDED)
def test_keyboard_walk(chromium: Browser, page_of: Pages, name: str) -> None:
    trace = recorded(name)
    with opened(chromium, page_of([trace])) as visit:
        visit.press("d")

        assert [] == walk(visit, Expected(trace))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", RECORDED)
def test_accessibility(chromium: Browser, page_of: Pages, name: str, scheme: str) -> None:
    """At the violation, where most is marked, and in the full view of the start."""
    with opened(chromium, page_of([recorded(name)]), color_scheme=scheme) as visit:
        assert [] == violations(visit)

        visit.press("d", "Home", "c")
        assert [] == violations(visit)
