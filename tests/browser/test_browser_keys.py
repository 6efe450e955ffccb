"""Keys, search, filter, links and places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_chromium import Visit, opened
from browser_traces import INCIDENT, recorded
from browser_walk import Expected, differences

from kvproto.explain import START, backward_slice
from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

Pages = Callable[[Sequence[Trace]], Path]

TRACE = recorded(INCIDENT)
END = len(TRACE.steps)


@pytest.fixture
def visit(chromium: Browser, page_of: Pages) -> Iterator[Visit]:
    """The page of the incident, just opened."""
    with opened(chromium, page_of([TRACE]), viewport={"width": 1400, "height": 900}) as visit:
        yield visit


def at(visit: Visit) -> int:
    """The state that the page says it shows."""
    words = visit.page.locator("#t1 .cursor-words").inner_text()
    return 0 if words.startswith("start") else int(words.split()[1])


def steps(visit: Visit, where: str) -> list[int]:
    """Numbers of the steps that are to be seen in a panel."""
    rows = visit.page.locator(f"#t1 {where}[data-step]").all()
    return [int(str(row.get_attribute("data-step"))) for row in rows if row.is_visible()]


def test_it_opens_at_the_violation(visit: Visit) -> None:
    assert END == at(visit)
    assert visit.page.locator("body.live").count() == 1


def test_next_and_previous_in_the_slice(visit: Visit) -> None:
    guilty = sorted(backward_slice(TRACE).steps - {START})
    visit.press("Home")
    met = []
    for _ in guilty:
        visit.press("n")
        met.append(at(visit))
    visit.press("n")

    assert guilty == met
    assert guilty[-1] == at(visit)
    for number in reversed(guilty[:-1]):
        visit.press("N")
        assert number == at(visit)


def test_diff_and_full(visit: Visit) -> None:
    """The diff has what the step changed, the full view everything, and the choice stays while one walks."""
    changed = visit.page.locator("#t1 dl.state > div[data-path]")
    for number in (END, END - 1):
        paths = [entry.get_attribute("data-path") for entry in changed.all() if entry.is_visible()]
        assert set(TRACE.steps[number - 1].delta) == set(paths)
        visit.press("k")
    visit.press("d", "End")
    assert [] == differences(visit, Expected(TRACE), END)
    visit.press("d")
    assert len(TRACE.steps[-1].delta) == len([entry for entry in changed.all() if entry.is_visible()])


def test_cone(visit: Visit) -> None:
    edges = visit.page.locator("#t1 .diagram .cause")
    assert edges.count()
    assert not edges.first.is_visible()
    visit.press("c")
    assert visit.page.locator("article.cone-on").count() == 1
    assert edges.first.is_visible()
    visit.press("c")
    assert not edges.first.is_visible()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lane=decode", [n for n, step in enumerate(TRACE.steps, 1) if step.lane == "decode"]),
        ("lane=worker conclude", [n for n, step in enumerate(TRACE.steps, 1) if step.action == "conclude"]),
        ("lane=network lane=decode", []),
        ("request=B", []),
    ],
)
def test_filter(visit: Visit, text: str, wanted: list[int]) -> None:
    """Table and picture keep the rows that fit, and no others; all come back."""
    visit.press("f")
    visit.page.keyboard.type(text)
    visit.press("Enter", "Escape")
    for where in (".steps tr", ".diagram .row"):
        assert wanted == [number for number in steps(visit, where) if number]
    visit.press("f")
    visit.press("Control+a", "Delete", "Enter", "Escape")
    for where in (".steps tr", ".diagram .row"):
        assert list(range(1, END + 1)) == [number for number in steps(visit, where) if number]


def test_search(visit: Visit) -> None:
    wanted = [n for n, step in enumerate(TRACE.steps, 1) if "metadata" in f"{step.action} {step.text}".lower()]
    assert len(wanted) > 1
    visit.press("/")
    visit.page.keyboard.type("metadata")
    visit.page.locator("#t1 .steps tr.found").first.wait_for()
    marked = visit.page.locator("#t1 .steps tr.found").all()
    assert set(wanted) <= {int(str(row.get_attribute("data-step"))) for row in marked}
    visit.press("Enter")
    first = at(visit)
    visit.press("Enter")
    assert first != at(visit)
    visit.press("Escape", "Home")
    assert 0 == at(visit)


def test_letters_in_a_field_are_no_keys(visit: Visit) -> None:
    visit.press("/")
    visit.page.keyboard.type("kkk?dc")

    assert END == at(visit)
    assert visit.page.locator("article.cone-on").count() == 0
    assert "kkk?dc" == visit.page.locator("#t1 input.search").input_value()


def test_help(visit: Visit) -> None:
    visit.press("?")
    dialog = visit.page.get_by_role("dialog")
    assert dialog.is_visible()
    for key in ("Home", "End", "/", "n", "d", "c", "f"):
        assert key in dialog.inner_text()
    visit.press("Escape")
    assert not dialog.is_visible()
    visit.press("k")
    assert END - 1 == at(visit)


def test_modifiers_belong_to_the_browser(visit: Visit) -> None:
    visit.press("Control+d", "Alt+c", "Meta+j", "Control+k")

    assert END == at(visit)
    assert visit.page.locator("article.cone-on").count() == 0


def test_a_place_is_kept_and_found_again(visit: Visit) -> None:
    visit.press("Home", "j", "j", "j")
    assert "#t1.s3" == visit.ask("() => location.hash")
    visit.page.reload()
    assert 3 == at(visit)
    visit.go("#t1.s5")
    assert 5 == at(visit)
    visit.press("d")
    assert [] == differences(visit, Expected(TRACE), 5)


@pytest.mark.parametrize("place", ["#t1.s999", "#t9", "#", "#t1.s-1", "#t1.sx", "#constructor", "#%"])
def test_a_place_that_is_not_there(chromium: Browser, page_of: Pages, place: str) -> None:
    with opened(chromium, page_of([TRACE]), place) as visit:
        assert 0 <= at(visit) <= END
        visit.press("Home", "j")
        assert 1 == at(visit)


def test_links_and_rows_move_the_cursor(visit: Visit) -> None:
    link = visit.page.locator("#t1 .why a[data-step]").first
    link.click()
    assert int(str(link.get_attribute("data-step"))) == at(visit)
    visit.page.locator("#t1 .steps tr[data-step='4'] td").nth(1).click()
    assert 4 == at(visit)
    # A click on the line of a step is one on the step, whatever is drawn there.
    visit.page.locator("#t1 .diagram .row[data-step='7']").click(force=True)
    assert 7 == at(visit)


def test_one_cursor_for_all_panels(visit: Visit) -> None:
    """The picture's bar is on the row of the step; table and picture mark it as the current one."""
    for number in (3, END, 0):
        visit.go(f"#t1.s{number}")
        assert number == at(visit)
        current = visit.page.locator("#t1 .steps tr[aria-current]")
        assert [str(number)] == [row.get_attribute("data-step") for row in current.all()]
        if number:
            bar = visit.page.locator("#t1 .diagram .cursor").bounding_box()
            row = visit.page.locator(f"#t1 .diagram .row[data-step='{number}']").bounding_box()
            assert bar is not None
            assert row is not None
            assert bar["y"] <= row["y"] + row["height"] / 2 <= bar["y"] + bar["height"]


def test_the_history_of_a_page(visit: Visit) -> None:
    """A click on a page tells its owners and writers, each with its step."""
    visit.page.locator(
        "#t1 .maps [data-pool='decode'] .cell[data-page='0'], #t1 .maps .cell[data-pool='decode']"
    ).first.click()
    panel = visit.page.locator("#t1 section.live")
    links = {int(str(link.get_attribute("data-step"))) for link in panel.locator("a[data-step]").all()}
    given, landed = 4, 12
    assert TRACE.steps[given - 1].action == "prealloc"
    assert TRACE.steps[landed - 1].action == "land"
    assert {given, landed} <= links
