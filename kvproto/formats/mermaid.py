"""A trace as a Mermaid sequence diagram, small enough for the places that draw one (an issue, a step summary).

A message is drawn where it is taken and says when it was sent; a write is drawn where it lands and says when it was
posted.  Mermaid gives up on large texts, so a diagram has a most of messages and of characters: steps that the verdict
does not rest on go first, then the earliest ones, and the diagram says which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from kvproto.explain import Flight
from kvproto.explain.words import numbers
from kvproto.report.report import Message, Report, Row
from kvproto.trace.printable import cut, printable

MOST_MESSAGES = 50
MOST_CHARACTERS = 50_000
"""Mermaid's own limit (`maxTextSize`)."""

_LONGEST, _LONGEST_NAME = 120, 40
"""Cells of a message and of the name of a machine."""

_MOST_OF_A_STEP = 6
"""Arrows of one step, and notes of one step; one that clears fifty writes would leave room for no other."""

_PLAIN = re.compile(r"[^A-Za-z0-9 .,_()\[\]/+'=*?!-]")


def mermaid(report: Report, *, messages: int = MOST_MESSAGES, characters: int = MOST_CHARACTERS) -> str:
    """The text of the diagram, at most that many messages and characters; the latter are at least 10,000."""
    drawing = _Drawing(report)
    kept = drawing.kept(messages)
    while len(text := drawing.text(kept)) > characters and kept:
        kept = kept[1 + len(kept) // 8 :]
    return text


def escaped(text: str, most: int = _LONGEST) -> str:
    """Text that is only text to Mermaid: whatever means something there is written as `#35;`.

    A colon, too: it would end the head of a line.  `%`, `$`, `<` and the backtick mean something to what surrounds it.

    >>> escaped("x; end #1")
    'x#59; end #35;1'
    """
    # Marks that combine with a letter take no cell, and there may be thousands of them.
    short = cut(printable(text[: 4 * most]), most)
    return _PLAIN.sub(lambda found: f"#{ord(found[0])};", short)


class _Drawing:
    """What the lines of a diagram are made from."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.taken: dict[int, list[Message]] = {}
        for message in report.messages:
            self.taken.setdefault(message.taken or 0, []).append(message)
        self.ended: dict[int, list[Flight]] = {}
        for flight in report.flights:
            self.ended.setdefault(flight.ended or 0, []).append(flight)

    def kept(self, most: int) -> tuple[int, ...]:
        """The steps to draw: all of them if there is room, else those that matter, of these the last."""
        rows = self.report.rows
        wanted = sorted(rows, key=lambda row: (row.guilty or bool(row.notes), row.number), reverse=True)
        room, found = most, []
        for row in wanted:
            room -= len(self.arrows(row))
            if room < 0:
                break
            found.append(row.number)
        return tuple(sorted(found))

    def text(self, kept: Sequence[int]) -> str:
        """The diagram of these steps."""
        report, shown = self.report, frozenset(kept)
        lanes = self.lanes(shown)
        left = len(report.rows) - len(shown)
        lines = ["sequenceDiagram", f"  %% {len(shown)} of {len(report.rows)} steps, {left} left out"]
        lines += [f"  participant {ids} as {escaped(lane, _LONGEST_NAME)}" for lane, ids in lanes.items()]
        over = f"Note over {','.join(dict.fromkeys([*list(lanes.values())[:1], *list(lanes.values())[-1:]]))}"
        lines += self.body(shown, lanes, over)
        trace = report.trace
        lines.append(f"  {over}: {escaped(f'{trace.verdict} {trace.property}. {trace.claim}')}")
        return "\n".join(lines) + "\n"

    def lanes(self, shown: Collection[int]) -> dict[str, str]:
        """Short names of the machines that have something to do in these steps; of the first one, if none has."""
        busy = {row.lane for row in self.report.rows if row.number in shown}
        busy |= {lane for n in shown for lane, _, _ in self.arrows(self.report.row(n))}
        wanted = [lane for lane in self.report.lanes if lane in busy] or [*self.report.lanes[:1]] or [""]
        return {lane: f"p{at}" for at, lane in enumerate(wanted)}

    def body(self, shown: Collection[int], lanes: dict[str, str], over: str) -> Iterator[str]:
        """Steps in order; those left out as a note, what is repeated for ever as a loop."""
        trace = self.report.trace
        turn = len(trace.steps) if trace.loop is None else trace.loop
        pieces = ((looped, list(rows)) for looped, rows in groupby(self.report.rows, key=lambda row: row.number > turn))
        for looped, rows in pieces:
            if looped:
                yield "  loop for ever"
            for there, some in groupby(rows, key=lambda row: row.number in shown):
                if there:
                    for row in some:
                        yield from self.step(row, lanes)
                else:
                    out = escaped(f"{numbers(row.number for row in some)} left out")
                    yield f"  {over}: {out}"
            if looped:
                yield "  end"
        if trace.loop == len(trace.steps):
            yield f"  {over}: {escaped(self.report.ending)}"

    def step(self, row: Row, lanes: dict[str, str]) -> Iterator[str]:
        """The arrows of a step and what is remarkable about it."""
        to = lanes[row.lane]
        for sender, arrow, text in self.arrows(row):
            yield f"  {lanes[sender]}{arrow}{to}: {text}"
        said = [note.text for note in row.notes]
        more = [f"and {len(said) - _MOST_OF_A_STEP + 1} more"] if len(said) > _MOST_OF_A_STEP else []
        for text in [*said[: _MOST_OF_A_STEP - len(more)], *more]:
            yield f"  Note over {to}: {escaped(text)}"

    def arrows(self, row: Row) -> list[tuple[str, str, str]]:
        """Where they come from, what they look like, what stands at them.  A step without any points to itself."""
        head = f"{row.number}{'*' if row.guilty and not self.all_guilty else ''} {row.call}"
        found = [(m.sender, "->>", f"{head} {m.text}, sent at {m.sent}") for m in self.taken.get(row.number, ())]
        for flight in self.ended.get(row.number, ()):
            if flight.posted:
                what = f"write {flight.position} of {flight.request}, posted at {flight.posted}"
                arrow = "--)" if flight.landed is not None else "--x"
                found.append((self.report.row(flight.posted).lane, arrow, f"{head} {what}"))
        if len(found) > _MOST_OF_A_STEP:
            rest = len(found) - _MOST_OF_A_STEP + 1
            found = [*found[:-rest], (row.lane, "->>", f"{head} and {rest} more")]
        return [(lane, arrow, escaped(text)) for lane, arrow, text in found or [(row.lane, "->>", head)]]

    @property
    def all_guilty(self) -> bool:
        """A mark at every step would say nothing."""
        return all(row.guilty for row in self.report.rows)
