"""A trace as one SVG file: an XML document that Chromium draws, with everything in it and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from browser_chromium import missing, opened, started
from formats_samples import HOSTILE, RECORDED, ascii_name, recorded
from hypothesis import given, settings
from trace_strategies import containing, traces, transfers

from kvproto.formats.svg import svg
from kvproto.page.svg import NAMESPACE
from kvproto.report import report
from kvproto.trace import codec
from kvproto.trace.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
LATE = ROOT / "traces" / "sglang-0.5.19-writes_spare_other_requests.trace.json"

# To the sides only: marks that are piled on a letter may reach as high as they like.
OUTSIDE = """() => {
  const whole = document.documentElement.getBoundingClientRect();
  return [...document.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect();
    return text.textContent && (box.right > whole.right || box.left < whole.left);
  }).map(text => text.textContent);
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    with started() as browser:
        yield browser


def texts(picture: str) -> list[str]:
    tree = ElementTree.fromstring(picture)
    return ["".join(text.itertext()) for text in tree.iter(f"{{{NAMESPACE}}}text")]


def test_the_file_says_verdict_why_diagram_and_pages():
    said = texts(svg(recorded(LATE)))

    assert "writes_spare_other_requests: violated in 18 steps" == said[0]
    assert "no write lands in a page that belongs to another request" in said
    assert "At step 18, land(p=0, d=0, r=A, k=0), a write of A landed in decode page 0, which was B's by then." in said
    assert "LATE: posted at 14 by A, page 0 is B's now" in said
    assert {"pages of prefill", "own B", "wr A"} <= set(said)
    assert "owned by one, last written by another" in said


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_recorded_traces_have_the_same_bytes_each_time_and_need_nothing_else(path: Path):
    picture = svg(recorded(path))
    tree = ElementTree.fromstring(picture)

    assert picture == svg(recorded(path))
    attributes = [(key, value) for element in tree.iter() for key, value in element.attrib.items()]
    assert not [key for key, _ in attributes if "href" in key or key.startswith("on")]
    ids = [value for key, value in attributes if key == "id"]
    assert len(ids) == len(set(ids))
    assert {part.partition(")")[0] for part in picture.split("url(#")[1:]} <= set(ids)
    assert "url(" not in picture.replace("url(#", "")
    assert "@import" not in picture


@settings(max_examples=40, deadline=None)
@given(transfers() | traces() | containing())
def test_any_trace_is_xml(trace: Trace):
    tree = ElementTree.fromstring(svg(report(trace)))

    assert f"{{{NAMESPACE}}}svg" == tree.tag
    assert not list(tree.iter(f"{{{NAMESPACE}}}script"))


def hostile(word: str) -> Trace:
    """A trace in which everything that may be a word is this one."""
    trace = codec.read(LATE)
    steps = tuple(replace(step, action=word, text=word, args={"r": word}, lane=word) for step in trace.steps)
    return replace(trace, model=word, property=word, claim=word, verdict=word, steps=steps, why=(word,))


@pytest.mark.browser
def test_chromium_draws_recorded_and_hostile_files_without_a_complaint(chromium: Browser, tmp_path: Path):
    files = {path.name: svg(recorded(path)) for path in RECORDED[::5]}
    files |= {ascii_name(word): svg(report(hostile(word))) for word in HOSTILE}
    for number, (name, picture) in enumerate(files.items()):
        path = tmp_path / f"{number}.svg"
        path.write_text(picture, encoding="utf-8")
        with opened(chromium, path) as visit:
            # A document with an error in it is drawn up to there, with a message of the parser.
            assert 0 == visit.ask("() => document.querySelectorAll('parsererror').length"), name
            assert [] == visit.ask(OUTSIDE), name


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader(chromium: Browser, tmp_path: Path, scheme: str):
    path = tmp_path / "picture.svg"
    path.write_text(svg(recorded(LATE)), encoding="utf-8")
    with opened(chromium, path, color_scheme=scheme) as visit:
        ground = visit.ask("() => getComputedStyle(document.querySelector('.paper')).fill")

    assert {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme] == ground
