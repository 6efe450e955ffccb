"""Without a script: everything that tells what happened is there, and one look is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_axe import violations
from browser_chromium import Visit, opened
from browser_traces import INCIDENT, recorded

from kvproto.explain import domain_edges
from kvproto.explain.why import why
from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]
LATE = "sglang-0.5.19-writes_spare_other_requests"
SEEN = [INCIDENT, LATE, "outline-incident-reads_no_foreign_data", "sglang-0.5.23-nobody_waits_in_vain"]


@pytest.fixture(scope="module", params=SEEN)
def still(request: pytest.FixtureRequest, chromium: Browser, page_of: Pages) -> Iterator[tuple[Visit, Trace]]:
    """A page whose script does not run."""
    trace = recorded(request.param)
    with opened(chromium, page_of([trace]), java_script_enabled=False) as visit:
        yield visit, trace


def test_why(still: tuple[Visit, Trace]) -> None:
    visit, trace = still
    sentences = [" ".join(text.split()) for text in visit.page.locator(".why ol > li").all_inner_texts()]

    assert list(trace.why or why(trace)) == sentences
    assert visit.page.locator(".why").is_visible()


def test_the_links_of_the_why_lead_to_the_steps(still: tuple[Visit, Trace]) -> None:
    visit, _ = still
    links = visit.page.locator(".why a[data-step]")
    assert links.count()
    for link in links.all():
        number = link.get_attribute("data-step")
        row = visit.page.locator(str(link.get_attribute("href")).replace(".", "\\."))
        assert number == row.get_attribute("data-step")
        assert number in link.inner_text()


def test_the_step_table(still: tuple[Visit, Trace]) -> None:
    visit, trace = still
    rows = visit.page.locator(".steps tr[data-step]")
    texts = rows.all_inner_texts()

    assert list(map(str, range(len(trace.steps) + 1))) == [row.get_attribute("data-step") for row in rows.all()]
    for step, text in zip(trace.steps, texts[1:], strict=True):
        assert step.action in text
        assert step.lane in text
        for name in step.args:
            assert f"{name}=" in text
        assert step.loc in text


def test_the_picture(still: tuple[Visit, Trace]) -> None:
    visit, trace = still
    numbers = [
        row.get_attribute("data-step") for row in visit.page.locator(".diagram svg.diagram .row[data-step]").all()
    ]

    assert visit.page.locator(".diagram svg.diagram").is_visible()
    assert {str(n) for n in range(1, len(trace.steps) + 1)} <= set(numbers)
    for pool in trace.vocabulary.pools:
        figure = visit.page.locator(f'.maps figure.pool[data-pool="{pool.name}"]')
        assert len(pool.pages) == figure.locator(".cell[role=img][aria-label]").count()
        assert figure.is_visible()


def test_nothing_is_offered_that_needs_the_script(still: tuple[Visit, Trace]) -> None:
    visit, _ = still
    for control in visit.page.locator("button, input, select").all():
        assert not control.is_visible()


@pytest.mark.parametrize("name", [LATE, "outline-0.5.19-writes_land_in_own_pages"])
def test_one_look(chromium: Browser, page_of: Pages, name: str) -> None:
    """Who owns the page, who wrote it last, and when the late write was posted, are there as text in the pictures."""
    trace = recorded(name)
    late = [flight for flight in domain_edges(trace).flights if flight.late and flight.landed]
    assert late
    with opened(chromium, page_of([trace]), java_script_enabled=False) as visit:
        picture = visit.page.locator(".diagram svg.diagram").text_content() or ""
        for flight in late:
            assert flight.target is not None
            assert f"LATE: posted at {flight.posted} by {flight.request}" in picture
            whose = f"{flight.owner}'s" if flight.owner else "free"
            assert f"page {flight.target.label} is {whose}" in picture
            place = f".cell[data-pool='{flight.target.pool}'][data-page='{flight.target.label}']"
            cell = visit.page.locator(f".maps {place}")
            assert cell.is_visible()
            owner = f"own {flight.owner}" if flight.owner else "free"
            assert f"{owner}wr {flight.request}" in (cell.text_content() or "")


def test_accessibility_of_what_is_static(chromium: Browser, page_of: Pages) -> None:
    """The page before its script has run, judged with a script that has not read it."""
    page = page_of([recorded(INCIDENT)])
    text = page.read_text("utf-8")
    head, _, tail = text.rpartition("<script>")
    assert "</script>" in tail
    copy = page.with_name("static.html")
    copy.write_text(head + tail.partition("</script>")[2], "utf-8")
    with opened(chromium, copy) as visit:
        assert [] == violations(visit)
