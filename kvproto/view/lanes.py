"""Space-time lanes: one column a machine, one row a step, messages as arrows, every write a band to its landing.

A sequence diagram draws a message at one instant, and the bug of this domain is a write that is posted early
and lands late; hence the bands, at the right.  Plain ASCII, so that a log of any encoding can hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kvproto.explain import Flight
from kvproto.report.report import Message, Report
from kvproto.trace.printable import cells, cut, fold, pad, printable
from kvproto.view.bands import TITLE, Bands
from kvproto.view.choice import Choice, Gap, plan, words_of

NARROWEST = 40
"""Smaller widths are taken as this one."""

HINT = "column: a machine;  row: a step;  .: does nothing in this step"
MAIL = "<--- X to 5 ---+: sends X, which step 5 takes"

_LANE = 10
_ARROW = 8
"""What an arrow takes beside its label."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the picture: `step` is the step that it belongs to, or the first of a gap; 0 belongs to none.

    `kind` is `title`, `row` (the first of a step), `more`, `message`, `note`, `gap`, `rule` or `legend`.
    """

    text: str
    step: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Mail:
    """Messages of one step to one machine in one line."""

    text: str
    sender: int
    taker: int | None
    taken: tuple[int, ...]

    @property
    def label(self) -> str:
        """What stands at the arrow."""
        return f"{self.text} to {', '.join(map(str, self.taken))}"


def render_lanes(report: Report, *, width: int = 80, choice: Choice | None = None) -> str:
    """The picture, every line at most `width` cells (at least `NARROWEST`)."""
    if not report.rows:
        return "  (no steps: the initial state decides)\n"
    lines = [line.text for line in lane_lines(report, width=width, choice=choice)]
    return "\n".join(lines) + "\n"


def lane_lines(report: Report, *, width: int = 80, choice: Choice | None = None) -> list[Line]:
    """The lines of the picture, with what each of them is."""
    picture = _Picture(report, choice or Choice(), max(width, NARROWEST))
    lines = [Line(text, 0, "title") for text in picture.header()]
    for part in picture.plan:
        lines += picture.gap(part) if isinstance(part, Gap) else picture.row(part)
    lines += [Line(text, 0, "legend") for text in picture.legend()]
    return [Line(line.text.rstrip(), line.step, line.kind) for line in lines]


def legend(entries: Sequence[str], width: int) -> list[str]:
    """Entries in lines, broken between entries where possible."""
    lines = [""]
    for entry in entries:
        joined = f"{lines[-1]};  {entry}" if lines[-1] else entry
        if cells(joined) <= width - 3:
            lines[-1] = joined
        else:
            lines[-1] += ";" if lines[-1] else ""
            lines.append(entry)
    return [f"  {part}" for line in lines if line for part in fold(line, width - 2)]


class _Picture:
    """Column widths, fixed once, and the rows drawn with them."""

    def __init__(self, report: Report, choice: Choice, width: int) -> None:
        self.report = report
        self.width = width
        self.plan = plan(report, choice)
        self.shown = [part for part in self.plan if not isinstance(part, Gap)]
        self.digits = len(str(len(report.rows)))
        self.bands = Bands(report, width)
        self.lanes = list(report.lanes)
        self.sent, self.taken = self._mail()
        self.columns = self._columns()
        self.starts = [self.digits + 2 + start for start in accumulate(self.columns, initial=0)]
        self.left = self.starts[-1] if self.columns else width - (self.bands.width + 2 if self.bands.width else 0)
        # Where there are no bands, a line of words may be longer than the lanes.
        self.room = self.left - 2 if self.bands.width else width
        self.mailed = False

    def _columns(self) -> list[int]:
        """Width of each lane; empty if there are so many that all share one column."""
        room = self.width - self.digits - 2 - (self.bands.width + 2 if self.bands.width else 0)
        acts: dict[str, set[str]] = {}
        for row in self.report.rows:
            acts.setdefault(row.lane, set()).add(printable(row.call))
        calls = [acts.get(lane, set()) for lane in self.lanes]
        names = [cells(printable(lane)) for lane in self.lanes]
        wanted = [max([name, *map(cells, some)]) + 2 for name, some in zip(names, calls, strict=True)]
        whole = [max([name, *map(_longest, some)]) + 2 for name, some in zip(names, calls, strict=True)]
        while sum(wanted) > room and max(wanted) > _LANE:
            # Words are broken only where nothing else helps.
            loose = [size if size > least else 0 for size, least in zip(wanted, whole, strict=True)]
            widest = max(loose) or max(wanted)
            wanted[loose.index(widest) if any(loose) else wanted.index(widest)] -= 1
        return self._for_arrows(wanted, room) if sum(wanted) <= room else []

    def _for_arrows(self, wanted: list[int], room: int) -> list[int]:
        """The same columns, wider where an arrow has no room for its label and the picture has."""
        for mail in (mail for sent in self.sent.values() for mail in sent if mail.taker is not None):
            first, last = sorted((mail.sender, mail.taker if mail.taker is not None else mail.sender))
            missing = cells(mail.label) + _ARROW - sum(wanted[first:last])
            if 0 < missing <= room - sum(wanted):
                wanted[last - 1] += missing
        return wanted

    def _mail(self) -> tuple[dict[int, list[_Mail]], dict[int, list[Message]]]:
        """Messages by the step that sends them, joined where they go together, and by the one that takes them."""
        sent: dict[int, dict[tuple[str, str], list[Message]]] = {}
        taken: dict[int, list[Message]] = {}
        for message in self.report.messages:
            sent.setdefault(message.sent, {}).setdefault((message.taker, message.text), []).append(message)
            if message.taken is not None:
                taken.setdefault(message.taken, []).append(message)
        place = {lane: at for at, lane in enumerate(self.lanes)}
        joined = {}
        for number, groups in sent.items():
            joined[number] = [
                _Mail(
                    printable(text),
                    place[same[0].sender],
                    place.get(taker),
                    tuple(dict.fromkeys(m.taken for m in same if m.taken is not None)),
                )
                for (taker, text), same in groups.items()
            ]
        return joined, taken

    def header(self) -> list[str]:
        """Names of the lanes."""
        title = TITLE if self.bands.width else ""
        if not self.columns:
            return [self._join("", ["lane: action"], title)]
        names = [cut(printable(lane), size - 2) for lane, size in zip(self.lanes, self.columns, strict=True)]
        return [self._join("", names, title)]

    def legend(self) -> list[str]:
        """What the marks mean."""
        entries = [HINT, *([MAIL] if self.mailed else []), *self.bands.legend()]
        return ["", *legend(entries if self.columns else entries[1:], self.width)]

    def _join(self, number: str, texts: list[str], right: str) -> str:
        sizes = self.columns or [self.left - self.digits - 2]
        body = "".join(pad(text, size) for text, size in zip(texts, sizes, strict=True))
        return f"{number.rjust(self.digits)}  {body}{right}"

    def row(self, number: int) -> list[Line]:
        """One step; a long action goes on in a second line, through which the bands pass."""
        row = self.report.row(number)
        call = printable(row.call)
        if self.columns:
            at = self.lanes.index(row.lane)
            parts = wrap_call(call, self.columns[at] - 2)
        else:
            at = 0
            parts = fold(f"{printable(row.lane)}: {call}", self.left - self.digits - 4)
        lines = []
        for index, part in enumerate(parts):
            texts = ["." if index == 0 else ""] * max(len(self.columns), 1)
            texts[at] = part
            head = str(number) if index == 0 else ""
            text = self._join(head, texts, self.bands.row(number, number, head=index == 0))
            lines.append(Line(text, number, "row" if index == 0 else "more"))
        lines += [Line(text, number, "message") for text in self._arrivals(number, at)]
        lines += [Line(text, number, "note") for text in self._notes(number, at)]
        lines += [Line(text, number, "message") for text in self._departures(number)]
        return lines + [Line(text, number, "rule") for text in self._rules(number)]

    def gap(self, gap: Gap) -> list[Line]:
        """What is not shown, in one line."""
        text = f"... {words_of(self.report, gap)}"
        if cells(text) > self.room - self.digits - 2:
            text = f"... {words_of(self.report, gap, lanes=False)}"
        lines = [Line(self._under(self.digits + 2, text, gap.first, gap.last, head=True), gap.first, "gap")]
        for number in range(gap.first, gap.last + 1):
            lines += [Line(text, gap.first, "rule") for text in self._rules(number)]
        return lines

    def _under(self, start: int, text: str, first: int, last: int, *, head: bool = False) -> str:
        """A line of text from some column on, moved to the left or cut to what is left of the bands."""
        room = self.room
        start = max(min(start, room - cells(text)), self.digits + 2)
        return pad(" " * start + cut(text, room - start), self.left) + self.bands.row(first, last, head=head)

    def _arrivals(self, number: int, at: int) -> Iterator[str]:
        """What a step took that was sent before the step above it; else the arrow is right above."""
        place = self.shown.index(number) if number in self.shown else 0
        before = self.shown[place - 1] if place else 0
        for message in self.taken.get(number, []):
            if message.sent != before or not self.columns:
                start = self.starts[at] if self.columns else self.digits + 3
                yield self._under(start, f"{printable(message.text)} from {message.sent}", number, number)

    def _departures(self, number: int) -> Iterator[str]:
        """An arrow for each machine that a step sends something to."""
        for mail in self.sent.get(number, []):
            self.mailed = self.mailed or bool(mail.taken and self.columns)
            start = self.starts[mail.sender] if self.columns else self.digits + 3
            if mail.taker is None:
                yield self._untaken(start, f"{mail.text}, not taken by the end", number)
                continue
            if not self.columns:
                yield self._under(start, f"+-> {printable(self.lanes[mail.taker])}: {mail.label}", number, number)
            else:
                yield self._under(*self._arrow(start, self.starts[mail.taker], mail.label), number, number)

    def _untaken(self, start: int, label: str, number: int) -> str:
        """A message that goes nowhere: at the right of its sender's column, or at the left if there is no room."""
        fits = start + cells(label) + 3 <= self.room
        if fits or not self.columns:
            return self._under(start, f"+- {label}", number, number)
        return self._under(start - cells(label) - 2, f"{label} -+", number, number)

    def _arrow(self, start: int, end: int, label: str) -> tuple[int, str]:
        """Where an arrow begins and what it looks like: `<--- METADATA to 5 ---+`, the label beside it if need be."""
        size = abs(end - start)
        inside = f" {label} " if cells(label) + _ARROW <= size else ""
        body = inside.center(size - 1, "-") if inside else "-" * (size - 1)
        if start < end:
            return start, f"+{body[:-1]}>" + ("" if inside else f" {label}")
        return end, f"<{body}+" + ("" if inside else f" {label}")

    def _rules(self, number: int) -> Iterator[str]:
        """What is said between two rows: where there is no way back any more, where a run without end goes on."""
        end, loop, analysis = len(self.report.rows), self.report.trace.loop, self.report.trace.analysis
        turn = [printable(note.text) for note in self.report.row(number).notes if note.kind == "turn"]
        forced = analysis.no_return.forced if analysis is not None and analysis.no_return is not None else None
        if forced == number and number < end:
            turn.append("no run from here on avoids the violation")
        if loop == number and number < end:
            turn.append(f"steps {number + 1}-{end} come again and again")
        if number == end and self.report.ending:
            turn.append(printable(self.report.ending))
        for text in turn:
            yield from self._rule(text, number)

    def _rule(self, text: str, number: int) -> Iterator[str]:
        start = self.digits + 2
        for part in fold(text, self.room - start - 8):
            yield self._under(start, f"=== {part} ===", number, number)

    def _notes(self, number: int, at: int) -> Iterator[str]:
        """The lines below a step that read what the reader had not written, or in which a write landed wrongly."""
        odd = iter(self.bands.odd(number))
        for note in self.report.row(number).notes:
            text = printable(note.text)
            if note.kind in ("late", "bytes"):
                yield self._pointing(next(odd, None), text)
            elif note.kind != "turn":
                start = self.starts[at] if self.columns else self.digits + 2
                indent = max(min(start, self.width - cells(text)), self.digits + 2)
                yield from (" " * indent + line for line in fold(text, self.width - indent))

    def _pointing(self, flight: Flight | None, text: str) -> str:
        """A note on a landing, which points at its mark if that is drawn."""
        at = self.bands.column(flight) if flight is not None else None
        text = printable(text) + (" ^" if at is not None else "")
        indent = max(self.left + (at or 0) + 1 - cells(text), self.digits + 2)
        return " " * indent + cut(text, self.width - indent)


def _longest(call: str) -> int:
    """The cells of the longest piece of a call that `wrap_call` does not break unless it must."""
    name, bracket, args = call.partition("(")
    pieces = [*name.replace("_", "_ ").split(" "), *(f" {piece}" for piece in f"{bracket}{args}".split(" "))]
    return max(map(cells, pieces))


def wrap_call(text: str, size: int) -> list[str]:
    """A call in lines of at most `size` cells, broken before its arguments or at its underscores if that is enough."""
    if cells(text) <= size:
        return [text]
    name, bracket, args = text.partition("(")
    # Spaces after underscores, where `fold` may break, and out again.
    *words, last = [line.replace("_ ", "_") for line in fold(name.replace("_", "_ "), size)]
    if cells(last + bracket + args) <= size:
        return [*words, last + bracket + args]
    return [*words, last, *(f" {line}" for line in fold(bracket + args, size - 1))]
