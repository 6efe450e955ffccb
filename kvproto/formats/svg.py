"""A trace as one SVG file, for a slide or an issue thread: verdict, why, the space-time diagram, the pages at the end.

The file needs nothing but itself: colours, hatches and arrow heads are in it, fonts are those of the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from kvproto.page.bands import columns
from kvproto.page.diagram import drawing
from kvproto.page.film import film
from kvproto.page.layout import layout
from kvproto.page.maps import key, pool_map
from kvproto.page.style import CSS, definitions
from kvproto.page.svg import NAMESPACE, Drawing, number, room, tag, text, words
from kvproto.report.report import Report, Sentence
from kvproto.trace.printable import fold, printable

_LEFT, _MARGIN = 22.0, 8.0
_NARROWEST = 860.0
_TITLE, _SIZE, _LINE = 19, 12.5, 18.0
_FACTS = ("claim", "model", "search")
"""The lines of the header that fit a slide."""

_RULES = """
.kv .title{font-size:19px;font-weight:700}
.kv .part{font-size:13.5px;font-weight:700}
.kv .words{font-size:12.5px}
.kv .fact{font-size:12.5px;fill:var(--kv-dim)}
.kv .paper{fill:var(--kv-paper)}
"""


def svg(report: Report) -> str:
    """The picture as a file."""
    picture = drawing(layout(report))
    width = max(picture.width + 2 * _MARGIN, _NARROWEST)
    middle = Drawing(width, picture.height, picture.at(_MARGIN, 0))
    sheets = [_verdict(report, width), _why(report, width), middle, *_maps(report, width)]
    width = max(sheet.width for sheet in sheets)
    parts, y = [], 0.0
    for sheet in sheets:
        parts.append(sheet.at(0, y))
        y += sheet.height
    ground = tag("rect", {"class": "paper", "x": 0, "y": 0, "width": width, "height": y + 12})
    style = tag("style", {}, escape(CSS + _RULES))
    about = tag("title", {}, words(report.title)) + tag("desc", {}, words(" ".join(map(_said, report.why))))
    whole = Drawing(width, y + 12, "".join((about, style, definitions(), ground, *parts)))
    drawn = whole.svg({"xmlns": NAMESPACE, "class": "kv", "role": "img", "aria-label": report.title})
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


def _verdict(report: Report, width: float) -> Drawing:
    """What was violated, and in what."""
    # Heavy letters are wider.
    heading = _folded(report.title, width, _TITLE * 1.2)[:2]
    lines = [text(_LEFT, 34 + 24 * at, line, "title") for at, line in enumerate(heading)]
    y = 34.0 + 24 * len(heading)
    for name, content in report.facts:
        if name in _FACTS:
            for at, line in enumerate(_folded(content, width - 70, _SIZE)):
                lines += [text(_LEFT, y, name, "fact")] if at == 0 else []
                lines.append(text(_LEFT + 62, y, line, "words"))
                y += _LINE
    return Drawing(width, y, "".join(lines))


def _why(report: Report, width: float) -> Drawing:
    """The sentences, numbered, and what would have been."""
    lines, y = [], 14.0
    for name, sentences in (("Why", report.why), ("What would have helped", report.whatif)):
        if not sentences:
            continue
        lines.append(text(_LEFT, y, name, "part"))
        y += _LINE + 2
        for at, sentence in enumerate(sentences, 1):
            lines.append(text(_LEFT + 10, y, f"{at}.", "words", anchor="end"))
            for line in _folded(_said(sentence), width - 20, _SIZE):
                lines.append(text(_LEFT + 18, y, line, "words"))
                y += _LINE
        y += 8
    return Drawing(width, y, "".join(lines))


def _said(sentence: Sentence) -> str:
    return "".join(span.text for span in sentence)


def _folded(content: str, width: float, size: float) -> list[str]:
    # Some letters are wider than those of most words.
    return fold(printable(content), int((width - 2 * _LEFT) / (1.1 * room("x", size))))


def _maps(report: Report, width: float) -> Iterator[Drawing]:
    """The pools after the last step, side by side as far as there is room, and how to read them."""
    pools = [(pool.name, pool_map(report, pool, len(report.rows))) for pool in report.pools if pool.pages]
    if not pools:
        return
    x, y, tall, parts = _LEFT, 22.0, 0.0, []
    for name, picture in pools:
        wide = max(picture.width, room(f"pages of {name}", 13.5) * 1.1) + 24
        if x > _LEFT and x + wide > width:
            x, y, tall = _LEFT, y + tall + 34, 0.0
        parts.append(text(x, y, f"pages of {name}", "part"))
        parts.append(picture.at(x - 4, y + 8))
        x, tall = x + wide, max(tall, picture.height)
    yield Drawing(width, y + tall + 16, "".join(parts))
    yield from _films(report, width)
    explained = key(report, width=width - 2 * _LEFT)
    yield Drawing(width, explained.height, tag("g", {"transform": f"translate({number(_LEFT - 4)},0)"}, explained.body))


def _films(report: Report, width: float) -> Iterator[Drawing]:
    """How the pages came to that, pool by pool, for the pools of the diagram."""
    shown = {column.pool for column in columns(report)}
    for pool in report.pools:
        strip = film(report, pool) if pool.name in shown else None
        if strip is not None:
            heading = text(
                _LEFT, 18, f"pages of {pool.name} over time: owner, and last writer where it is another", "part"
            )
            yield Drawing(max(width, strip.width + 2 * _LEFT), strip.height + 46, heading + strip.at(_LEFT, 28))
