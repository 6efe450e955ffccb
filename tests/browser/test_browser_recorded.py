"""The page of every recorded trace: nothing but the file, and every state as the trace has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import opened
from browser_traces import RECORDED, recorded
from browser_walk import SMALL, Expected, walk

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]


SCHEMES = ("light", "dark")

THOROUGHLY = [
    "outline-incident-reads_no_foreign_data",
    "sglang-0.5.19-writes_spare_other_requests",
    "sglang-0.5.22-fan-out-ranks_agree",
    "sglang-0.5.23-nobody_waits_in_vain",
    "sglang-incident-reads_own_writes",
]
"""A late write, ranks, a run without end, and the incident in both models."""


@pytest.mark.parametrize("name", RECORDED)
def test_walk(chromium: Browser, page_of: Pages, name: str) -> None:
    """Every state, and the rules of accessibility at the violation: in the dark for every other trace."""
    trace = recorded(name)
    scheme = SCHEMES[RECORDED.index(name) % 2]
    with opened(chromium, page_of([trace]), color_scheme=scheme, viewport=SMALL) as visit:
        assert [] == violations(visit)

        assert [] == walk(visit, Expected(trace))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", THOROUGHLY)
def test_accessibility(chromium: Browser, page_of: Pages, name: str, scheme: str) -> None:
    """With everything open that can be opened."""
    with opened(chromium, page_of([recorded(name)]), color_scheme=scheme) as visit:
        visit.press("d", "c", "Home", "j", "j")
        visit.ask("() => document.querySelectorAll('details').forEach(part => { part.open = true; })")
        assert [] == violations(visit)

        visit.press("?")
        assert [] == violations(visit)
