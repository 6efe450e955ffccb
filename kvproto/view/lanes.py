"""Space-time lanes: one column a machine, one row a step, every write a band from its posting to its landing.

A sequence diagram draws a message at one instant, and the bug of this domain is a write that is posted early
and lands late; hence the bands, at the right.  Plain ASCII, so that a log of any encoding can hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kvproto.explain import Flight, PageRead, domain_edges
from kvproto.explain.facts import Facts
from kvproto.trace.printable import cells, cut, fold, pad, printable, shown
from kvproto.trace.trace import Step, Trace

NARROWEST = 40
"""Smaller widths are taken as this one."""

LEGEND = {
    "|": "number: a write is posted, by position;  |: in flight",
    "[": "0[1], 0p=1: position 0, to rank 1, to the slice p=1 of the page",
    "v": "v: lands",
    "!": "!: in flight toward a page that its request has lost",
    "X": "X: lands LATE, in a page that is not its request's any more",
    "W": "W: lands with the bytes of a source page that was given to another request",
    "x": "x: dropped",
}
"""Marks of bands; those that occur are explained below the picture."""

_TITLE = "in flight"
_LANE = 10
_MORE = 3


@dataclass
class _Bands:
    """Which flights are drawn in which column.  A column is free again once its flight has landed."""

    columns: dict[str, int] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    width: int = 0


def render_lanes(trace: Trace, *, width: int = 80) -> str:
    """The picture, every line at most `width` cells (at least `NARROWEST`)."""
    width = max(width, NARROWEST)
    if not trace.steps:
        return "  (no steps: the initial state decides)\n"
    flights = [f for f in domain_edges(trace).flights if f.target is not None]
    digits = len(str(len(trace.steps)))
    labels = _labels(flights)
    cell = min(max([2, *(cells(text) + 1 for text in labels.values())]), width // 3)
    bands = _assign(flights, most=max((width // 3) // cell, 1))
    picture = _Picture(trace, flights, labels, bands, cell, digits, width)
    rows = picture.header()
    for number in range(1, len(trace.steps) + 1):
        rows += picture.row(number)
    if flights:
        rows += ["", *legend([text for mark, text in LEGEND.items() if mark in picture.marks], width)]
    return "\n".join(row.rstrip() for row in rows) + "\n"


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


def _labels(flights: Sequence[Flight]) -> dict[str, str]:
    """What each flight is called at its posting: its position, and where it goes to if there are several ranks.

    To `decode[1]` that is `0[1]`, to the slice `p=1` of its pages `0p=1`.
    """
    ways = {(flight.target.pool, flight.slice) for flight in flights if flight.target is not None}
    several = len(ways) > 1
    names = {}
    for flight in flights:
        bracket = flight.target.pool.partition("[")[1:] if flight.target is not None and several else ()
        part = flight.slice if several else ""
        names[flight.name] = printable(flight.position + "".join(bracket) + part)
    return names


def _assign(flights: Sequence[Flight], most: int) -> _Bands:
    """Give every flight the first column that is free while it flies."""
    busy: list[int] = []
    bands = _Bands()
    for flight in flights:
        end = flight.ended if flight.ended is not None else 1 << 62
        slot = next((at for at, until in enumerate(busy) if until < flight.posted), len(busy))
        if slot >= most:
            bands.hidden.add(flight.name)
            continue
        if slot == len(busy):
            busy.append(end)
        busy[slot] = end
        bands.columns[flight.name] = slot
    bands.width = len(busy)
    return bands


class _Picture:
    """Column widths, fixed once, and the rows drawn with them."""

    def __init__(
        self,
        trace: Trace,
        flights: list[Flight],
        labels: Mapping[str, str],
        bands: _Bands,
        cell: int,
        digits: int,
        width: int,
    ) -> None:
        self.trace = trace
        self.facts = Facts(trace)
        self.flights = flights
        self.labels = labels
        self.bands = bands
        self.cell = cell
        self.digits = digits
        self.width = width
        self.lanes = list(dict.fromkeys([*trace.vocabulary.lanes, *(step.lane for step in trace.steps)]))
        bare = bands.width * cell + (_MORE if bands.hidden else 0)
        self.right = max(bare, len(_TITLE)) if bare else 0
        self.title = _TITLE if bare else ""
        self.marks = {"|"}
        self.lost = _lost(trace, flights)
        self.wrong = _wrong_reads(trace)
        self.columns = self._columns()

    def _columns(self) -> list[int]:
        """Width of each lane; empty if there are so many that all share one column."""
        room = self.width - self.digits - 2 - (self.right + 2 if self.right else 0)
        wanted = [max([cells(printable(lane)), *(cells(act) for act in self._acts(lane))]) + 2 for lane in self.lanes]
        while sum(wanted) > room and max(wanted) > _LANE:
            wanted[wanted.index(max(wanted))] -= 1
        return wanted if sum(wanted) <= room else []

    def _acts(self, lane: str) -> list[str]:
        return [short_call(step) for step in self.trace.steps if step.lane == lane]

    def header(self) -> list[str]:
        """Names of the lanes."""
        if not self.columns:
            return [self._join("", ["lane: action"], self.title)]
        names = [cut(printable(lane), size - 2) for lane, size in zip(self.lanes, self.columns, strict=True)]
        return [self._join("", names, self.title)]

    def _left(self) -> int:
        """Where the bands begin."""
        lanes = sum(self.columns) or self.width - self.digits - 2 - self.right - 2
        return self.digits + 2 + lanes

    def _join(self, number: str, texts: list[str], right: str) -> str:
        sizes = self.columns or [self._left() - self.digits - 2]
        body = "".join(pad(text, size) for text, size in zip(texts, sizes, strict=True))
        return f"{number.rjust(self.digits)}  {body}{right}"

    def row(self, number: int) -> list[str]:
        """One step; a long action goes on in a second line, through which the bands pass."""
        step = self.trace.steps[number - 1]
        odd = [f for f in self.flights if f.landed == number and _landing(f) != "v"]
        if self.columns:
            at = self.lanes.index(step.lane)
            parts = _wrap_call(short_call(step), self.columns[at] - 2)
        else:
            at = 0
            size = self._left() - self.digits - 4
            parts = fold(f"{printable(step.lane)}: {short_call(step)}", size)
        lines = []
        for index, part in enumerate(parts):
            texts = ["." if index == 0 else ""] * max(len(self.columns), 1)
            texts[at] = part
            head = str(number) if index == 0 else ""
            lines.append(self._join(head, texts, self._band_row(number, first=index == 0)))
        lines += [self._note(flight) for flight in odd]
        return lines + self._reading(number, at)

    def _band_row(self, number: int, *, first: bool) -> str:
        marks = [""] * self.bands.width
        hidden = 0
        for flight in self.flights:
            mark = self._mark(flight, number, first=first)
            if mark and flight.name in self.bands.hidden:
                hidden += 1
            elif mark:
                self.marks.add(mark)
                marks[self.bands.columns[flight.name]] = mark
        row = "".join(pad(mark, self.cell) for mark in marks)
        return row + (f"+{hidden}" if hidden and hidden < 10 else "+" if hidden else "")

    def _mark(self, flight: Flight, number: int, *, first: bool) -> str:
        """What a flight looks like in the row of a step; `first` is the row's first line."""
        last = flight.ended if flight.ended is not None else len(self.trace.steps)
        if not flight.posted <= number <= last:
            return ""
        if number == flight.ended:
            return _landing(flight) if first else ""
        if number == flight.posted and first:
            name = self.labels[flight.name]
            self.marks |= set("[") if name != printable(flight.position) else set()
            return cut(name, self.cell - 1)
        return "!" if (flight.name, number) in self.lost else "|"

    def _reading(self, number: int, at: int) -> list[str]:
        """The lines below a step that read what the reader had not written."""
        wrong = self.wrong.get(number, [])
        if not wrong:
            return []
        parts = []
        for content in dict.fromkeys(read.content for read in wrong):
            pages = [read.page for read in wrong if read.content == content]
            what = "nothing" if content is None else f"{printable(content)}'s content"
            parts.append(f"{what} in {printable(self.facts.pages(pages))}")
        text = f"WRONG READ: {', '.join(parts)}"
        lead = self.digits + 2 + sum(self.columns[:at])
        indent = max(min(lead, self.width - cells(text)), self.digits + 2)
        return [" " * indent + line for line in fold(text, self.width - indent)]

    def _hand(self, flight: Flight) -> str:
        """Points at the landing from below, if it is drawn."""
        return " ^" if flight.name in self.bands.columns else ""

    def _note(self, flight: Flight) -> str:
        """The line below a landing that is late, or that brought another request's bytes."""
        late = flight.late and flight.target is not None
        where, owner = (flight.target, flight.owner) if late else (flight.source, flight.source_owner)
        page = f"{'page' if late else 'its source page'} {printable(where.label) if where else '?'}"
        now = f"{printable(owner)}'s" if owner is not None else "free"
        start = f"{'LATE' if late else 'WRONG BYTES'}: posted at {flight.posted} by {printable(flight.request)}"
        text = f"{start}, {page} is {now} now{self._hand(flight)}"
        lead = self._left() + self.bands.columns.get(flight.name, 0) * self.cell + 1
        indent = max(lead - cells(text), self.digits + 2)
        return " " * indent + cut(text, self.width - indent)


def _landing(flight: Flight) -> str:
    """The mark of the end of a flight."""
    if flight.landed is None:
        return "x"
    if flight.late:
        return "X"
    return "W" if flight.source_late and flight.source_owner is not None else "v"


def _lost(trace: Trace, flights: Iterable[Flight]) -> set[tuple[str, int]]:
    """Flights with the steps after which the target page is not the request's any more."""
    facts = Facts(trace)
    return {
        (flight.name, number)
        for flight in flights
        if flight.late and flight.target is not None
        for number in range(flight.posted, flight.ended or facts.end + 1)
        if facts.owner(flight.target, number) != flight.request
    }


def _wrong_reads(trace: Trace) -> dict[int, list[PageRead]]:
    """By step: reads of content that is not the reader's, except by landings, which only copy."""
    domain = domain_edges(trace)
    copied = {(flight.landed, flight.source) for flight in domain.flights}
    found: dict[int, list[PageRead]] = {}
    for read in domain.reads:
        if not read.own and read.reader is not None and (read.step, read.page) not in copied:
            found.setdefault(read.step, []).append(read)
    return found


def short_call(step: Step) -> str:
    """`land(A,0)`: an action with its arguments' values only; booleans by name, `long` or `not long`."""
    parts = []
    for name, value in step.args.items():
        if isinstance(value, bool):
            parts.append(printable(name) if value else f"not {printable(name)}")
        else:
            parts.append(shown(value))
    return f"{printable(step.action)}({','.join(parts)})"


def _wrap_call(text: str, size: int) -> list[str]:
    """A call in lines of at most `size` cells, broken before its arguments or at its underscores if that is enough."""
    if cells(text) <= size:
        return [text]
    name, bracket, args = text.partition("(")
    # Spaces after underscores, where `fold` may break, and out again.
    words = [line.replace("_ ", "_") for line in fold(name.replace("_", "_ "), size)]
    return words + [f" {line}" for line in fold(bracket + args, size - 1)]
