"""The space-time diagram: every step, message and write is where it belongs, and no words stand on words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from browser_chromium import missing, opened, started
from formats_samples import HOSTILE, RECORDED, ascii_name, long_trace, recorded
from hypothesis import given, settings
from trace_strategies import containing, traces, transfers

from kvproto.page.diagram import diagram
from kvproto.page.style import CSS, DEFINITIONS
from kvproto.page.svg import NAMESPACE
from kvproto.report import Report, report
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis, Dot, Guard, NoReturn
from kvproto.trace.trace import FlightView, PoolView, Step, Trace, Value, Vocabulary

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
LATE = ROOT / "traces" / "sglang-0.5.19-writes_spare_other_requests.trace.json"
FOREIGN = ROOT / "traces" / "sglang-0.5.23-sources_are_stable.trace.json"
INCIDENT = ROOT / "traces" / "sglang-incident-reads_own_writes.trace.json"

OVERLAPS = """() => [...document.querySelectorAll("svg.diagram")].flatMap((svg, number) => {
  const whole = svg.getBoundingClientRect(), found = [];
  const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent)
    .map(t => ({words: t.textContent, box: t.getBoundingClientRect()}));
  texts.forEach(({words, box}, at) => {
    if (box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1)
      found.push(`${number}: ${words} is cut off`);
    texts.slice(at + 1).forEach(other => {
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      if (wide > 2 && high > 3) found.push(`${number}: ${words} on ${other.words}`);
    });
  });
  return found;
})"""
"""Pairs of texts that share more than the air between lines, and texts that leave the picture."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    with started() as browser:
        yield browser


def parsed(found: Report) -> Element:
    """The picture, which is XML."""
    return ElementTree.fromstring(diagram(found))


def groups(picture: Element, kind: str) -> list[Element]:
    """Groups with that class among theirs."""
    return [g for g in picture.iter(f"{{{NAMESPACE}}}g") if kind in g.get("class", "").split()]


def parts(group: Element, kind: str) -> list[Element]:
    """Elements in a group with that class among theirs."""
    return [part for part in group.iter() if kind in part.get("class", "").split()]


def number(element: Element, name: str) -> float:
    return float(element.get(name, "nan"))


def shift(element: Element) -> tuple[float, float]:
    """What an element is moved by."""
    match = re.fullmatch(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
    assert match is not None
    return float(match[1]), float(match[2])


def said(element: Element) -> str:
    return " ".join("".join(text.itertext()) for text in element.iter(f"{{{NAMESPACE}}}text"))


class Ruler:
    """Where rows and lanes are, from the attributes that a script is told them by."""

    def __init__(self, picture: Element) -> None:
        self.top, self.pitch = number(picture, "data-top"), number(picture, "data-pitch")
        lanes = groups(picture, "lane")
        self.lanes = {g.get("data-lane"): number(g, "data-x") for g in lanes if "pool" not in g.get("class", "")}
        self.pools = {g.get("data-lane"): number(g, "data-x") for g in lanes if "pool" in g.get("class", "")}

    def y(self, step: int) -> float:
        return self.top + (step - 1) * self.pitch


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_every_step_message_and_write_is_where_it_belongs(path: Path):
    found = recorded(path)
    picture = parsed(found)
    ruler = Ruler(picture)

    for kind in ("row", "track"):
        rows = [g for g in groups(picture, kind) if g.get("data-step")]
        assert list(range(1, len(found.rows) + 1)) == [int(g.get("data-step", "")) for g in rows]
        assert all(shift(g) == (0, pytest.approx(ruler.y(int(g.get("data-step", ""))), abs=0.1)) for g in rows)
    for row, drawn in zip(found.rows, [g for g in groups(picture, "row") if g.get("data-step")], strict=True):
        assert row.call in said(drawn)
        assert all(note.text in said(drawn) for note in row.notes if note.kind != "turn")

    sent = {(message.sent, message.taken) for message in found.messages}
    mail = [g for g in groups(picture, "message") if g.get("data-from")]
    assert sent == {(int(g.get("data-from", "")), int(to) if (to := g.get("data-to")) else None) for g in mail}
    for g in mail:
        if g.get("data-to"):
            (line,) = parts(g, "line")
            step, taker = int(g.get("data-from", "")), int(g.get("data-to", ""))
            assert pytest.approx(ruler.y(step), abs=0.1) == number(line, "y1")
            assert pytest.approx(ruler.y(taker), abs=0.1) == number(line, "y2")
            assert abs(ruler.lanes[found.row(step).lane] - number(line, "x1")) < 10
            assert abs(ruler.lanes[found.row(taker).lane] - number(line, "x2")) < 10

    flights = {flight.name: flight for flight in found.flights}
    writes = [g for g in groups(picture, "flight") if g.get("data-flight")]
    assert sorted(flights) == sorted(g.get("data-flight", "") for g in writes)
    for g in writes:
        flight = flights[g.get("data-flight", "")]
        (band,) = parts(g, "band")
        assert flight.target is not None
        assert ("late" in g.get("class", "").split()) == (flight.late and flight.landed is not None)
        assert pytest.approx(ruler.y(flight.posted), abs=0.1) == number(band, "y")
        if flight.ended is not None:
            until = number(band, "y") + number(band, "height")
            assert pytest.approx(ruler.y(flight.ended), abs=0.2) == until
        for line in parts(g, "line"):
            assert ruler.lanes[found.row(flight.posted).lane] == number(line, "x1")
            assert abs(ruler.pools[flight.target.pool] - number(line, "x2")) < 10


def test_the_late_write_is_seen_and_said():
    found = recorded(LATE)
    picture = parsed(found)
    (late,) = [g for g in groups(picture, "late") if g.get("data-flight")]

    assert ("14", "18", "decode/0", "A") == tuple(late.get(f"data-{key}") for key in ("from", "to", "page", "request"))
    assert "LATE" in said(late)
    assert "LATE: posted at 14 by A, page 0 is B's now" in said(picture)
    (lost,) = parts(late, "lost")
    assert "16" == lost.get("data-since")  # the step that gave the page back
    assert "LATE: the page was B's" in "".join(late[0].itertext())
    assert any("write that lands late" in said(g) for g in groups(picture, "legend"))


def test_a_write_that_brings_other_bytes_is_seen_and_said():
    picture = parsed(recorded(FOREIGN))

    (write,) = [g for g in groups(picture, "foreign") if g.get("data-flight")]
    assert "WRONG BYTES" in said(write)
    assert "A lands B's bytes in 0" in said(picture)
    assert {"prefill", "decode"} == set(Ruler(picture).pools)  # where the bytes came from is shown too


def test_the_incident_shows_what_was_read():
    picture = parsed(recorded(INCIDENT))
    (row,) = [g for g in groups(picture, "wrong") if g.get("data-step")]

    assert "17" == row.get("data-step")
    assert "bad" in row.get("class", "")
    assert "WRONG READ: nothing in pages 1-7" in said(row)


def sender(writes: int, *, lands: int, loop: int | None = None) -> Trace:
    """One step posts so many writes, of which some land one by one; the pages are given away after the second."""
    pages = [str(page) for page in range(writes)]
    state: dict[str, Value] = {"fly[A]": [], "fly[B]": []}
    state |= {f"{part}[{page}]": None for page in pages for part in ("owner", "content")}
    init, steps = dict(state), []

    def step(lane: str, action: str, new: dict[str, Value], **args: Value) -> None:
        delta = {path: (state[path], value) for path, value in new.items()}
        state.update(new)
        steps.append(Step(action, {"r": "A", **args}, lane, "m.py:1", "", (), tuple(delta), delta))

    step("decode", "prealloc", {f"owner[{page}]": "A" for page in pages})
    step("prefill", "post", {"fly[A]": list(range(writes))})
    for at in range(lands):
        if at == 2:
            step("decode", "give", {f"owner[{page}]": "B" for page in pages})
        step("network", "land", {f"content[{at}]": "A", "fly[A]": list(range(at + 1, writes))}, k=at)
    words = Vocabulary(
        ("prefill", "network", "decode"),
        (PoolView("pool", tuple(pages), "owner", "content"),),
        (FlightView(("A", "B"), "fly[{r}]", "", ""),),
    )
    return Trace("m", "p", "s", {}, "c", "a claim", "VIOLATED", "d", init, tuple(steps), loop=loop, vocabulary=words)


def test_many_writes_of_one_step_are_a_bundle_with_few_lines():
    picture = parsed(report(sender(16, lands=9)))
    writes = [g for g in groups(picture, "flight") if g.get("data-flight")]
    strips = [parts(g, "band")[0] for g in writes]

    assert 16 == len(writes)
    # Two in time, the first and the last of seven late ones, one for those that are still under way.
    kinds = [line.get("class", "").split()[-1] for g in writes for line in parts(g, "line")]
    assert 5 == len(kinds)
    assert 1 == kinds.count("going")
    begins = sorted(number(strip, "x") for strip in strips)
    assert [pytest.approx(3.0, abs=0.2)] * 15 == [b - a for a, b in pairwise(begins)]
    assert "A posts to 0-15" in said(picture)


def test_a_strip_is_marked_from_the_step_on_at_which_its_page_went_to_another():
    picture = parsed(report(sender(4, lands=3)))
    lost = {g.get("data-page"): parts(g, "lost") for g in groups(picture, "flight") if g.get("data-flight")}

    # Step 5 gives all pages to B without freeing them; two writes have landed by then.
    assert {"pool/0": [], "pool/1": []} == {page: marks for page, marks in lost.items() if not marks}
    assert {"5"} == {mark.get("data-since") for marks in lost.values() for mark in marks}


def test_strips_that_fly_together_stand_apart():
    found = report(sender(3, lands=3))
    again = replace(found.flights[0], posted=3, landed=None, ended=None, position="x")
    picture = parsed(replace(found, flights=(*found.flights, again)))

    places = [
        (number(band, "x"), number(band, "x") + number(band, "width"))
        for g in groups(picture, "flight")
        if g.get("data-flight")
        for band in parts(g, "band")
    ]
    assert all(one[1] <= other[0] for one, other in pairwise(sorted(places)))


def test_a_run_without_end_says_how_it_goes_on():
    again = parsed(report(sender(2, lands=2, loop=1)))
    still = parsed(report(sender(2, lands=2, loop=4)))

    (bracket,) = groups(again, "loop")
    assert ("2", "4") == (bracket.get("data-from"), bracket.get("data-to"))
    assert "repeats for ever" == said(bracket)
    assert "then step 2 again, for ever" in "".join(bracket.itertext())
    ruler, (path,) = Ruler(again), parts(bracket, "line")
    heights = [float(height) for height in re.findall(r"(?:M[-\d.]+ |V)([-\d.]+)", path.get("d", ""))]
    assert [pytest.approx(ruler.y(4)), pytest.approx(ruler.y(2))] == heights  # from the last step up to the second
    (rest,) = groups(still, "loop")
    assert "then nothing happens any more" == said(rest)
    assert [] == groups(parsed(report(sender(2, lands=2))), "loop")


def test_what_would_have_been_stands_at_its_step():
    trace = replace(
        codec.read(LATE),
        analysis=Analysis(
            guards=(Guard("deferred_release", "switch", True, "refused", 16, 16, "transfer_failure"),),
            dots=(
                Dot(2, "req[B].client", "WAITING", "IDLE", "refused", 6),
                Dot(3, "req[A].cancel_decode", True, False, "harmless", 18),
            ),
            no_return=NoReturn(17, 18, (True,) * 19, 99, complete=True),
        ),
    )
    picture = parsed(report(trace))
    rows = {g.get("data-step"): g for g in groups(picture, "row")}

    assert "would be refused with deferred_release on" in said(rows["16"])
    assert ["3"] == [step for step, row in rows.items() if step and groups(row, "red")]
    assert "had it left req[A].cancel_decode at false" in "".join(rows["3"].itertext())
    (rule,) = [g for g in groups(picture, "rule") if g.get("data-step")]
    assert ("17", "POINT OF NO RETURN") == (rule.get("data-step"), said(rule))
    # At the end it would say nothing that the verdict does not.
    late = replace(trace, analysis=Analysis(no_return=NoReturn(18, 18, (True,) * 19, 99, complete=True)))
    assert [] == groups(parsed(report(late)), "rule")


def test_steps_that_the_verdict_does_not_rest_on_are_dimmed_where_there_are_others():
    found = recorded(LATE)
    some = replace(found, rows=tuple(replace(row, guilty=row.number != 2) for row in found.rows))
    picture = parsed(some)
    none = parsed(replace(found, rows=tuple(replace(row, guilty=False) for row in found.rows)))

    dim = [
        g.get("data-step") for g in groups(picture, "row") if g.get("data-step") and "guilty" not in g.get("class", "")
    ]
    assert ["2"] == dim
    assert "it does not" in said(groups(picture, "legend")[0])
    # Where the verdict rests on nothing, a mark would say nothing.
    assert len(found.rows) == len(groups(none, "guilty"))


def test_the_legend_explains_what_occurs_only():
    short = said(groups(parsed(report(sender(2, lands=2))), "legend")[0])

    assert "write, posted and landed" in short
    assert not [word for word in ("message", "late", "dropped", "wrong", "rests") if word in short]


def test_writes_to_pages_that_the_model_does_not_name_are_still_shown():
    trace = sender(2, lands=1)
    picture = parsed(report(replace(trace, vocabulary=replace(trace.vocabulary, pools=()))))

    assert 2 == len([g for g in groups(picture, "flight") if g.get("data-flight")])
    assert "writes under way" in said(picture)


@settings(max_examples=60, deadline=None)
@given(transfers() | transfers(hostile=False) | traces() | containing())
def test_any_trace_can_be_drawn_and_nothing_in_it_is_markup(trace: Trace):
    found = report(trace)
    drawn = diagram(found)
    picture = ElementTree.fromstring(drawn)

    assert drawn == diagram(report(trace))
    allowed = {"svg", "g", "title", "text", "line", "path", "rect", "circle"}
    assert allowed >= {element.tag.removeprefix(f"{{{NAMESPACE}}}") for element in picture.iter()}
    assert not [element for element in picture.iter() if "style" in element.attrib or "href" in element.attrib]
    assert len(trace.steps) == len([g for g in groups(picture, "row") if g.get("data-step")])
    assert len(found.flights) == len([g for g in groups(picture, "flight") if g.get("data-flight")])


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_a_name_is_never_markup(word: str):
    trace = sender(2, lands=2)
    steps = tuple(replace(step, action=word, args={"r": word}, lane=word, text=word) for step in trace.steps)
    flights = (replace(trace.vocabulary.flights[0], requests=("A", word)),)
    words = replace(trace.vocabulary, lanes=(word,), flights=flights)
    picture = parsed(report(replace(trace, steps=steps, vocabulary=words)))

    assert not list(picture.iter(f"{{{NAMESPACE}}}script")) + list(picture.iter(f"{{{NAMESPACE}}}img"))
    assert number(picture, "width") < 2000


def test_a_thousand_steps_are_drawn():
    found = report(long_trace(1000))

    assert 1000 == len([g for g in groups(parsed(found), "row") if g.get("data-step")])


@pytest.mark.browser
def test_no_words_stand_on_words_and_none_are_cut_off(chromium: Browser, tmp_path: Path):
    found: list[Any] = [recorded(path) for path in RECORDED]
    found += [report(sender(8, lands=8)), report(sender(12, lands=5, loop=2)), report(long_trace(40))]
    pictures = "\n".join(diagram(one) for one in found)
    page = tmp_path / "pictures.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{CSS}</style>{DEFINITIONS}{pictures}", encoding="utf-8")

    with opened(chromium, page, viewport={"width": 1500, "height": 900}) as visit:
        assert [] == visit.ask(OVERLAPS)
