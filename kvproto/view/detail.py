"""One step in full: what it did, what it went by, messages, pages and the whole state after it, its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvproto.explain.slice import written
from kvproto.report.changes import changes
from kvproto.report.containers import Containers
from kvproto.report.report import Report
from kvproto.trace.printable import fold, printable, shown
from kvproto.view.lanes import NARROWEST
from kvproto.view.pagemap import render_page_map
from kvproto.view.steps import dots_of, dotted, headline, partly_guilty

_LEAD = re.compile(r"[*>]?\s+(\d+\s+)?")
"""What a line of the state or of the source begins with."""


def render_step(report: Report, number: int, *, width: int = 80) -> str:
    """Step `number` (0: the start) with the state after it, no line longer than `width` (at least `NARROWEST`)."""
    width = max(width, NARROWEST)
    sections: dict[str, list[str]] = {}
    if number:
        sections["What it changed"] = list(change_lines(report, number))
        sections["What it went by"] = list(read_lines(report, number))
        sections["Messages"] = list(message_lines(report, number))
    sections["Under way after it" if number else "Under way"] = list(under_way_lines(report, number))
    if report.pools:
        sections["Pages: owner<last writer"] = render_page_map(report, after=number, width=width).splitlines()
    sections["State after it (* changed by it)" if number else "State"] = list(state_lines(report, number))
    if number:
        sections["Source (> its guards)"] = source_lines(report, number)
        sections["Stands for"] = cited(report, number)
    lines = _head(report, number, width)
    for title, body in sections.items():
        lines += ["", title] if body else []
        for text in body:
            lines += [text] if title.startswith("Pages") else _folded(text, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _folded(text: str, width: int) -> Iterator[str]:
    """A line with what it begins with (blanks, a mark, a line number) at the left of what does not fit in it."""
    lead = _LEAD.match(text)
    head = f"  {lead[0]}" if lead else "  "
    if len(head) > width // 2:
        head = "  "
    first, *rest = fold(text[len(head) - 2 :], width - len(head) - 2)
    yield head + first
    yield from (" " * (len(head) + 2) + part for part in rest)


def _head(report: Report, number: int, width: int) -> list[str]:
    end = len(report.rows)
    if not number:
        return fold(f"Start of {printable(report.trace.property)} ({end} steps)", width)
    row = report.row(number)
    lines = headline(row, f"Step {number} of {end}  ", 0, width)
    lines += [f"  {part}" for part in fold(printable(row.text), width - 2)]
    said = [printable(note.text) for note in row.notes]
    if row.guilty and partly_guilty(report):
        said.append("The verdict rests on this step.")
    for text in said:
        lines += _folded(text, width)
    return lines


def change_lines(report: Report, number: int) -> Iterator[str]:
    """`path: old -> new` for everything that a step changed, and which of it is a red dot."""
    if not number:
        return
    for change in report.row(number).changes:
        yield f"{printable(change.path)}: {printable(change.old)} -> {printable(change.new)}"
    yield from map(dotted, dots_of(report, number))


def read_lines(report: Report, number: int) -> Iterator[str]:
    """What a step read, guards included, and which step had set it."""
    if not number:
        return
    before = report.states[number - 1]
    for path in dict.fromkeys(report.trace.steps[number - 1].reads):
        source = _set_by(report, path, number)
        since = f"set by step {source}" if source else "as at the start"
        yield f"{printable(path)} = {shown(before.get(path))}   ({since})"


def _set_by(report: Report, path: str, number: int) -> int:
    """The last step before `number` that wrote the path; 0 if none did."""
    return next((n for n in range(number - 1, 0, -1) if path in written(report.trace.steps[n - 1])), 0)


def message_lines(report: Report, number: int) -> Iterator[str]:
    """What a step took from another machine and what it sent to one."""
    for message in report.messages:
        text, path = printable(message.text), printable(message.path)
        if message.taken == number:
            yield f"took {text} from {printable(message.sender)}, sent at step {message.sent}   ({path})"
        elif message.sent == number and message.taken is None:
            yield f"sent {text}, which nobody has taken by the end   ({path})"
        elif message.sent == number:
            yield f"sent {text} to {printable(message.taker)}, taken at step {message.taken}   ({path})"


def under_way_lines(report: Report, number: int) -> Iterator[str]:
    """Messages that nobody has taken after a step, and writes that have not landed."""
    for message in report.messages:
        if message.sent <= number and (message.taken is None or message.taken > number):
            yield f"{printable(message.text)} from {printable(message.sender)}, since step {message.sent}"
    for flight in report.flights:
        if flight.posted <= number and (flight.ended is None or flight.ended > number):
            target = (
                f" to {printable(flight.target.pool)} page {printable(flight.target.label)}" if flight.target else ""
            )
            since = f"posted at step {flight.posted}" if flight.posted else "from the start"
            yield f"a write of {printable(flight.request)}{target}, {since}"


def state_lines(report: Report, number: int) -> Iterator[str]:
    """The state after a step; neighbours of an array share a line, what the step changed has a star."""
    state = report.states[number]
    before = report.states[number - 1] if number else state
    both = {path: (before.get(path), value) for path, value in state.items()}
    for change in changes(both, before, Containers(report.trace)):
        yield f"{'*' if change.old != change.new else ' '} {printable(change.path)}: {printable(change.new)}"


def values(report: Report, number: int) -> Mapping[str, str]:
    """Every variable of a state by its path, as text."""
    return {path: shown(value) for path, value in report.states[number].items()}


def source_lines(report: Report, number: int) -> list[str]:
    """The text of a step's action with its line numbers; `>` marks what must hold for it to happen."""
    excerpt = report.excerpts.get(report.row(number).action) if number else None
    if excerpt is None:
        return []
    digits = len(str(excerpt.first + len(excerpt.lines)))
    lines = [printable(excerpt.file)]
    for at, text in enumerate(excerpt.lines, excerpt.first):
        mark = ">" if at in excerpt.guards else " "
        lines.append(f"{mark} {str(at).rjust(digits)}  {printable(text.expandtabs(4))}".rstrip())
    return lines


def cited(report: Report, number: int) -> list[str]:
    """What the step's action stands for in the real engine."""
    links = report.cites.get(report.row(number).action, ()) if number else ()
    return [f"{printable(link.text)}{f'   {printable(link.url)}' if link.url else ''}" for link in links]
