"""A browser for each file of tests, and pages made by `kvproto view`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_chromium import missing, started
from browser_pages import written

from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a file of tests: half a second.

    Not for the session: while Playwright's loop runs, no other test of this process can have a loop of its own.
    """
    reason = missing()
    if reason:
        pytest.skip(reason)
    with started() as browser:
        yield browser


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[Trace]], Path]:
    """The page of traces; made once for the same ones."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[tuple[int, ...], tuple[Sequence[Trace], Path]] = {}

    def page(traces: Sequence[Trace]) -> Path:
        key = tuple(map(id, traces))
        if key not in made:
            # The traces are kept, so that no other gets the same id.
            made[key] = traces, written(traces, folder / f"page{len(made)}")
        return made[key][1]

    return page
