"""The page map: every cell says what the model's state is, in words, and looks like no other owner and writer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from formats_samples import RECORDED, recorded
from hypothesis import given, settings
from trace_strategies import transfers

from kvproto.page.maps import inside, kind, misread, page_maps, per_row, whose
from kvproto.page.style import (
    DARK,
    DARK_INKS,
    DASHES,
    FILLS,
    HATCHES,
    LIGHT,
    LIGHT_INKS,
    contrast,
    definitions,
    look,
    stylesheet,
)
from kvproto.page.svg import NAMESPACE
from kvproto.report import Cell, Report, report
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

ROOT = Path(__file__).parents[2]
INCIDENT = ROOT / "traces" / "sglang-incident-reads_no_foreign_data.trace.json"
LATE = ROOT / "traces" / "sglang-0.5.19-writes_spare_other_requests.trace.json"


def cells(found: Report, state: int | None = None) -> dict[str, Element]:
    """The cells of all maps, by pool and page."""
    tree = ElementTree.fromstring(f"<div>{page_maps(found, state=state)}</div>")
    drawn = [g for g in tree.iter(f"{{{NAMESPACE}}}g") if g.get("data-page") is not None]
    return {f"{g.get('data-pool')}/{g.get('data-page')}": g for g in drawn}


def cell(owner: str | None, *contents: str | None, coming: tuple[str, ...] = ()) -> Cell:
    return Cell(0, owner, contents, coming, any(content != owner for content in contents), "words")


def drawn(shown: Cell) -> Element:
    """What is inside a cell of a pool whose requests are A, B and C."""
    return ElementTree.fromstring(f"<g>{inside(('A', 'B', 'C'), '7', shown)}</g>")


def classes(element: Element, tag: str) -> list[str]:
    return [part.get("class", "") for part in element.iter(tag)]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_cells_say_what_the_state_is(path: Path):
    found = recorded(path)
    for state, values in enumerate(found.states):
        shown = cells(found, state)
        for pool in found.trace.vocabulary.pools:
            for page in pool.pages:
                cell = shown[f"{pool.name}/{page}"]
                owner = values.get(pool.owned(page))
                contents = [values.get(path) for path in pool.contents(page).values()]
                words = "".join(cell.find(f"{{{NAMESPACE}}}title").itertext())  # type: ignore[union-attr]
                assert words == cell.get("aria-label")
                assert (owner is None) == ("free" in cell.get("class", ""))
                assert (f"owner {owner}" in words) == (owner is not None)
                edge = next(part for part in cell.iter() if "edge" in part.get("class", "").split())
                fills = [part for part in cell.iter() if "fill" in part.get("class", "").split()]
                assert edge.get("class") == f"edge {_look(found, owner)}"
                assert [f"fill {_look(found, content)}" for content in contents] == [f.get("class") for f in fills]


def _look(found: Report, name: object) -> str:
    return "none" if name is None else look(found.requests.index(str(name)))


def test_the_map_of_the_incident_tells_owner_writer_and_what_was_read():
    shown = cells(recorded(INCIDENT))

    assert ["own B", "wr A"] == [
        text.text for text in shown["decode/1"].iter() if "who" in text.get("class", "").split()
    ]
    assert "cell stale misread" == shown["decode/1"].get("class")
    assert "cell stale blank misread" == shown["decode/5"].get("class")
    assert "cell" == shown["decode/0"].get("class")
    assert "37" == shown["decode/1"].get("data-misread")


def test_before_the_last_step_nothing_is_marked_as_read():
    found = recorded(INCIDENT)

    assert not [c for c in cells(found, len(found.rows) - 1).values() if "misread" in c.get("class", "")]
    assert {37} == {step for steps in misread(found).values() for step in steps}


def test_a_late_write_on_its_way_is_a_dot():
    found = recorded(LATE)

    dots = {state: classes(cells(found, state)["decode/0"], f"{{{NAMESPACE}}}circle") for state in (13, 14, 17, 18)}
    assert {13: [], 14: [f"coming {look(0)}"], 17: [f"coming {look(0)}"], 18: []} == dots


@pytest.mark.parametrize(
    ("shown", "words", "classes"),
    [
        (cell("A", "A"), ("A",), "cell"),
        (cell("B", "A"), ("own B", "wr A"), "cell stale"),
        (cell("B", None), ("own B", "empty"), "cell stale blank"),
        (cell(None, "A"), ("free", "wr A"), "cell free"),
        (cell(None, None), ("·",), "cell free empty"),
        (cell("A", "A", "B"), ("own A", "wr A/B"), "cell stale"),
        (cell("A", "A", None), ("own A", "wr A/-"), "cell stale"),
        (cell("A"), ("A",), "cell"),
    ],
)
def test_words_of_a_cell(shown: Cell, words: tuple[str, ...], classes: str):
    assert words == whose(shown)
    assert classes == kind(shown)


def test_slices_are_stripes():
    picture = drawn(cell("A", "A", "B", None))
    stripes = [part for part in picture.iter("rect") if part.get("class", "").startswith("fill")]

    assert ["fill c0 h0 d0", "fill c1 h1 d1", "fill none"] == [stripe.get("class") for stripe in stripes]
    assert ["6", "24", "42"] == [stripe.get("x") for stripe in stripes]
    assert {"18"} == {stripe.get("width") for stripe in stripes}


def test_many_writes_to_come_are_counted():
    few = drawn(cell("A", None, coming=("A", "B")))
    many = drawn(cell("A", None, coming=("A", "B", "C", "A", "B", "C")))

    assert 2 == len(classes(few, "circle"))
    assert 3 == len(classes(many, "circle"))
    assert "+3" in [text.text for text in many.iter("text")]


def test_no_two_of_the_first_requests_look_alike():
    looks = [look(place) for place in range(len(FILLS) * HATCHES)]

    assert len(looks) == len(set(looks))
    # Neighbours differ in each of the three ways.
    for one, other in pairwise(looks):
        assert not set(one.split()) & set(other.split())
    sheet, defined = stylesheet(), definitions()
    for place in range(len(FILLS) * HATCHES * len(DASHES)):
        colour, hatch, dash = look(place).split()
        assert f".kv .{colour}{{" in sheet
        assert f".kv .hatch.{hatch}{{fill:url(#kv-hatch-{hatch[1:]})}}" in sheet
        assert f'id="kv-hatch-{hatch[1:]}"' in defined
        assert f".kv .edge.{dash}{{" in sheet


def test_every_picture_that_the_rules_name_is_defined():
    named = {part.partition(")")[0] for part in stylesheet().split("url(#")[1:]}

    assert named
    assert all(f'id="{name}"' in definitions() for name in named)


@pytest.mark.parametrize(("theme", "inks"), [(LIGHT, LIGHT_INKS), (DARK, DARK_INKS)], ids=["light", "dark"])
def test_contrast_is_enough(theme: dict[str, str], inks: tuple[str, ...]):
    grounds = [theme["paper"], theme["panel"], theme["glow"]]
    for text in ("ink", "dim", "alarm", "guard", "message"):
        for ground in grounds:
            assert contrast(theme[text], ground) >= 4.5, (text, ground)
    for mark in (*inks, theme["cause"]):
        assert contrast(mark, theme["paper"]) >= 4.5, mark
    assert contrast(theme["life"], theme["paper"]) >= 3


@pytest.mark.parametrize(("pages", "wide"), [(1, 1), (5, 5), (8, 8), (9, 9), (20, 12), (24, 12), (25, 16), (400, 16)])
def test_rows_of_cells(pages: int, wide: int):
    assert wide == per_row(pages)


@settings(max_examples=60, deadline=None)
@given(transfers() | transfers(hostile=False))
def test_any_pool_can_be_drawn_in_every_state(trace: Trace):
    found = report(trace)
    for state in range(len(found.rows) + 1):
        shown = cells(found, state)
        for pool in found.pools:
            for page in pool.pages:
                cell = shown[f"{printable(pool.name)}/{printable(page)}"]
                assert printable(pool.at(page, state).words) == cell.get("aria-label")


def test_a_report_without_pools_has_no_maps():
    assert "" == page_maps(replace(recorded(LATE), pools=()))
