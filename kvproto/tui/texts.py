"""What stands in the panels, as styled text: made of a session, without any widget."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from textual.content import Content
from textual.style import Style

from kvproto.report.report import Pool, Report, Sentence
from kvproto.trace.printable import printable
from kvproto.tui import style
from kvproto.tui.session import PANELS, Session
from kvproto.view.bands import LEGEND as BANDS
from kvproto.view.detail import change_lines, cited, message_lines, read_lines, source_lines, under_way_lines, values
from kvproto.view.lanes import HINT, MAIL
from kvproto.view.pagemap import LEGEND as PAGES
from kvproto.view.pagemap import WRONG, page_text
from kvproto.view.steps import partly_guilty, what_if

Part = str | Content | tuple[str, str | Style]

KEYS = (
    ("j, Down / k, Up", "next / previous step"),
    ("Home / End", "start / last step"),
    ("n / N", "next / previous step that the verdict rests on"),
    ("1 2 3 4", f"panel: {', '.join(PANELS)};  Tab, PageUp and PageDown scroll it"),
    ("d", "step: what changed, or the whole state"),
    ("c", "cone: dim what the verdict does not rest on, mark (<) what the step went by"),
    ("f", "filter: lane=decode page=3 request=A, and words; empty shows everything"),
    ("l", "fold runs of local steps"),
    ("/", "search; Enter again: next, Shift+Enter or Up: previous"),
    ("?", "this help"),
    ("Esc", "close; with nothing open: no filter, no search"),
    ("q", "quit"),
)


def title(report: Report) -> Content:
    """The first line: verdict, property, model."""
    trace = report.trace
    bad = style.BAD if trace.verdict == "violated" else "bold #009E73"
    target = printable(trace.model) + (f"@{printable(trace.preset)}" if trace.preset else "")
    verdict = (f"{printable(trace.verdict).upper()}  {printable(trace.property)}", bad)
    return Content.assemble(verdict, f"   {target}   {printable(trace.claim)}")


def status(session: Session, said: str = "") -> Content:
    """The last line but one: where the cursor is, what a key could not do, and what is left out."""
    parts: list[Part] = [(session.words(), "bold")]
    if said:
        parts.append((f"   {said}", style.BAD))
    choice = session.choice
    if choice.filters:
        parts.append(f"   filter: {len(session.visible()) - 1} of {session.end} steps (Esc shows all)")
    elif choice.folded:
        parts.append("   local steps folded (l)")
    if session.word:
        parts.append(f"   search: {printable(session.word)}")
    return Content.assemble(*parts)


def pages(session: Session) -> Content:
    """Every page of every pool at the cursor: `3:B<A~A`."""
    lines: list[Content] = []
    for pool in session.report.pools:
        wrong = session.wrong[pool.name].get(session.step, set())
        cells = [_cell(session, pool, page, page in wrong) for page in pool.pages]
        lines.append(Content.assemble((f"{printable(pool.name)} ", "bold"), *cells))
    return Content("\n").join(lines) if lines else Content("(the model has no page pools)")


def _cell(session: Session, pool: Pool, page: str, wrong: bool) -> Content:
    cell = pool.at(page, session.step)
    text = page_text(cell.owner, *cell.contents) + "!" * wrong + "".join(f"~{printable(name)}" for name in cell.coming)
    writer = next((name for name in cell.contents if name is not None), None)
    look = style.of_request(session.report.requests, writer)
    if cell.stale:
        look = f"bold {look}".strip()
    return Content.assemble((f" {printable(page)}:", style.DIM), (text, look))


def panel(session: Session, name: str) -> Content:
    """One of the panels."""
    lines = {"why": why, "step": step, "source": source, "what if": otherwise}[name](session)
    return Content("\n").join(lines)


def why(session: Session) -> Iterator[Content]:
    """The explanation; the steps in it are links."""
    yield from _numbered(session.report.why, session.step)


def otherwise(session: Session) -> Iterator[Content]:
    """What would have stopped it."""
    if session.report.trace.analysis is not None:
        yield from _numbered(what_if(session.report), session.step)
    else:
        yield Content("Nobody has looked yet. kvproto explain TRACE --save finds the missing guard, the point of")
        yield Content("no return and what the violation hangs on, and keeps them in the trace.")


def _numbered(sentences: Iterable[Sentence], here: int) -> Iterator[Content]:
    for number, sentence in enumerate(sentences, 1):
        parts: list[Part] = [f"{number}. "]
        for span in sentence:
            text = printable(span.text)
            if span.step is None:
                parts.append(text)
            else:
                look = Style.parse(style.LINK if span.step != here else f"{style.LINK} reverse")
                parts.append((text, look + Style.from_meta({"@click": f"app.go({span.step})"})))
        yield Content.assemble(*parts)


def step(session: Session) -> Iterator[Content]:
    """What the step did and what changed, or the whole state after it."""
    number, report = session.step, session.report
    if number:
        row = report.row(number)
        yield Content.assemble((printable(row.text), "italic"))
        for note in row.notes:
            yield Content.assemble((printable(note.text), style.BAD))
        if row.guilty and partly_guilty(report):
            yield Content("* the verdict rests on this step")
    if session.full:
        yield from _state(session)
        return
    if not number:
        yield Content("The start. d shows the state.")
        return
    yield from _section("changed", change_lines(report, number), style.CHANGED)
    yield Content(
        f"  and {len(report.states[number]) - len(report.trace.steps[number - 1].delta)} variables as before (d)"
    )
    yield from _section("messages", message_lines(report, number))
    yield from _section("under way", under_way_lines(report, number))
    yield from _section("went by", read_lines(report, number))


def _section(name: str, lines: Iterable[str], look: str = "") -> Iterator[Content]:
    for at, line in enumerate(lines):
        if at == 0:
            yield Content.assemble((name, "underline"))
        yield Content.assemble((f"  {line}", look))


def _state(session: Session) -> Iterator[Content]:
    number = session.step
    delta = session.report.trace.steps[number - 1].delta if number else {}
    for path, text in values(session.report, number).items():
        changed = path in delta
        yield Content.assemble(
            (f"{'*' if changed else ' '} {printable(path)}: {text}", style.CHANGED if changed else "")
        )


def source(session: Session) -> Iterator[Content]:
    """The text of the action, its guards marked, and what it stands for."""
    number = session.step
    lines = source_lines(session.report, number)
    if not lines:
        loc = printable(session.report.row(number).loc) if number else ""
        yield Content(f"The text of the model is not at hand. {loc}".rstrip() if number else "The start has no source.")
        return
    head, *body = lines
    yield Content.assemble((head, "bold"), "   > marks guards")
    for line in body:
        yield Content.assemble((line, "bold" if line.startswith(">") else ""))
    yield from _section("stands for", cited(session.report, number))


def help_text() -> Content:
    """Keys, and what the marks mean."""
    size = max(len(keys) for keys, _ in KEYS)
    lines = [Content.assemble((keys.ljust(size), "bold"), f"  {what}") for keys, what in KEYS]
    marks = [
        ">: the cursor;  *: the verdict rests on the step;  <: the step under the cursor went by it;  #: found",
        HINT,
        MAIL,
        *BANDS.values(),
        *PAGES.values(),
        WRONG,
        "B~A: a write of A is under way to the page",
    ]
    return Content("\n").join([*lines, Content(""), *(Content(mark) for mark in marks)])


def lane_line(text: str, kind: str, band: int, *, here: bool, dim: bool, hit: bool) -> Content:
    """A line of the lanes in its colours; the bands begin at column `band`."""
    content = Content(text).stylize(style.LINES.get(kind, ""))
    if kind in ("row", "more"):
        for match in re.finditer(r"(?<!\S)[X!W](?!\S)", text[band:]):
            content = content.stylize(style.BAD, band + match.start(), band + match.end())
    if dim:
        content = content.stylize(style.DIM)
    if hit and kind == "row":
        content = content.stylize(style.HIT)
    return content.stylize(style.CURSOR) if here else content
