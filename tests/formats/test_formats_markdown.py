"""Markdown for an issue: an independent reader finds the text that was meant, and nothing that acts."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from formats_samples import HOSTILE, RECORDED, ascii_name, hostile_trace, long_report, recorded, relaxed
from hypothesis import given
from hypothesis import strategies as st
from trace_strategies import NASTY, containing, traces, transfers

from kvproto.formats.markdown import MOST_CHARACTERS, markdown
from kvproto.formats.markup import NO_WIDTH, block, code, inner, plain
from kvproto.report import Report, report
from kvproto.trace.printable import printable
from kvproto.trace.trace import Trace

markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py, the independent reader, is not installed")

TAGS = {"h3", "p", "br", "strong", "b", "ol", "ul", "li", "code", "pre", "details", "summary"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}

MENTION = re.compile(r"(?<![\w/`])@[A-Za-z0-9]|(?<!\w)#\d|\bGH-\d|://|\bwww\.|:[\w+-]+:", re.IGNORECASE)
"""What GitHub looks for in the text that is drawn, outside of code."""

ANY = st.text() | st.lists(st.sampled_from([*HOSTILE, *NASTY, " ", "1. ", "@", "#", "_"])).map("".join)


class Drawn(HTMLParser):
    """A page as it is drawn: tags, and text inside and outside of code."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.open: list[str] = []
        self.code: list[str] = []
        self.prose: list[str] = []
        # Addresses become links where GitHub makes them links.
        reader = markdown_it.MarkdownIt("gfm-like", {"html": True, "linkify": True})
        # GitHub knows addresses by their beginning, and does not guess names of hosts.
        reader.linkify.set({"fuzzy_link": False})
        self.feed(reader.render(source))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        if tag == "code":
            self.open.append(tag)
        elif tag not in ("b", "strong"):
            self.prose.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self.open.pop()

    def handle_data(self, data: str) -> None:
        (self.code if self.open else self.prose).append(data)

    @property
    def text(self) -> str:
        """What is not code."""
        return "".join(self.prose)


def is_inert(drawn: Drawn) -> None:
    """Nothing but the tags that we write, without attributes that a text could have set, and no text that acts."""
    assert {tag for tag, _ in drawn.tags} <= TAGS
    assert {name for _, attrs in drawn.tags for name, _ in attrs} <= {"style", "class"}
    assert {v for _, attrs in drawn.tags for n, v in attrs if n == "class"} <= {"language-mermaid", "language-sh"}
    assert not MENTION.search(drawn.text)


def one_line(text: str) -> str:
    """Text as a reader of one line sees it."""
    return re.sub(r"\s+", " ", printable(text)).strip()


def agrees(shown: Report) -> Drawn:
    """The text is short enough, the same every time, inert, and has what the trace says."""
    text = markdown(shown)
    drawn = Drawn(text)

    assert text == markdown(shown)
    assert len(text) <= MOST_CHARACTERS
    text.encode("utf-8")
    is_inert(drawn)
    return drawn


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_traces(path: Path) -> None:
    shown = recorded(path)
    drawn = agrees(shown)

    assert shown.trace.claim in drawn.text
    told = drawn.text.replace(NO_WIDTH, "")
    for sentence in shown.why[:12]:
        # A step that a sentence names stands apart in the drawing.
        assert one_line("".join(span.text for span in sentence)) in re.sub(r" +", " ", told)
    assert [row.full for row in shown.rows] == [c for c in drawn.code if c in {row.full for row in shown.rows}]
    assert any(f"kvproto replay traces/{path.name}" in command for command in drawn.code)


@relaxed
@given(traces() | transfers() | containing())
def test_any_trace(trace: Trace) -> None:
    agrees(report(trace))


@pytest.mark.parametrize("word", HOSTILE, ids=ascii_name)
def test_hostile_names(word: str) -> None:
    drawn = agrees(report(hostile_trace(word)))

    assert 3 == sum(tag == "tr" for tag, _ in drawn.tags) - 1


@relaxed
@given(ANY)
def test_plain_text_is_drawn_as_it_is(text: str) -> None:
    most = 10 * len(text) + 10
    for source in (plain(text, most), f"- {plain(text, most)}", f"x{inner(text, most)}"):
        drawn = Drawn(source)
        is_inert(drawn)
        assert not drawn.code
        assert one_line(text).replace(NO_WIDTH, "") in drawn.text.replace(NO_WIDTH, "")


@relaxed
@given(ANY)
def test_code_is_drawn_as_it_is(text: str) -> None:
    drawn = Drawn(f"x {code(text, 10 * len(text) + 10)} x")

    is_inert(drawn)
    assert one_line(text).replace(NO_WIDTH, "") == "".join(drawn.code).replace(NO_WIDTH, "").strip()


@relaxed
@given(st.lists(ANY, min_size=2, max_size=4))
def test_texts_stay_in_their_cells(texts: list[str]) -> None:
    cells = " | ".join(f"x{inner(text)} {code(text)}" for text in texts)
    head = "|" + " h |" * len(texts)
    drawn = Drawn(f"{head}\n{head.replace('h', '---')}\n| {cells} |\n")

    assert 2 * len(texts) == sum(tag in ("td", "th") for tag, _ in drawn.tags)
    is_inert(drawn)


@relaxed
@given(st.text("`ab\n~ ", max_size=30))
def test_a_block_ends_where_it_should(text: str) -> None:
    tokens = markdown_it.MarkdownIt("gfm-like").parse(f"{block(text, 'sh')}\n\nafter")

    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.rstrip() == text.rstrip()


def test_the_diagram_is_marked_as_mermaid() -> None:
    drawn = agrees(recorded(RECORDED[0]))

    (diagram,) = [text for text in drawn.code if text.startswith("sequenceDiagram")]
    assert "participant p0 as router" in diagram
    assert ("code", [("class", "language-mermaid")]) in drawn.tags


def test_a_long_trace_says_what_it_leaves_out() -> None:
    shown = long_report()
    drawn = agrees(shown)

    rows = len(re.findall(r"^\| \d+ \| lane", markdown(shown), re.MULTILINE))
    assert 20 < rows < len(shown.rows)
    assert f"{len(shown.rows) - rows} of {len(shown.rows)} steps are left out." in drawn.text
    assert "earlier rows are left out." in drawn.text


def test_steps_of_the_slice_have_a_star() -> None:
    reports = map(recorded, RECORDED)
    shown = next(shown for shown in reports if not all(row.guilty for row in shown.rows))
    starred = re.findall(r"^\| (\d+)&#42; ", markdown(shown), re.MULTILINE)

    assert [str(row.number) for row in shown.rows if row.guilty] == starred
    assert "the verdict rests on" in markdown(shown)


def test_pages_are_those_of_the_model() -> None:
    shown = recorded(next(path for path in RECORDED if "spare_other" in path.name))
    last = {pool.name: [history[-1] for history in pool.cells] for pool in shown.pools}
    text = html.unescape(markdown(shown))

    assert any(cell.owner == "B" and cell.contents == ("A",) for cells in last.values() for cell in cells)
    assert "| `B<A` |" in text
    assert "A page is" in text


def test_many_sentences_are_counted() -> None:
    shown = report(replace(hostile_trace("x"), why=tuple(f"Sentence {at}." for at in range(40))))
    drawn = agrees(shown)

    assert "Sentence 11." in drawn.text
    assert "Sentence 12." not in drawn.text
    assert "(28 more sentences are left out.)" in drawn.text


def test_a_trace_without_steps() -> None:
    shown = report(replace(hostile_trace("x"), steps=(), blame=()))
    drawn = agrees(shown)

    assert "0 steps" in drawn.text
