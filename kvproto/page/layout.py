"""Where things stand in the space-time diagram: a lane a machine, a lane a pool of pages, a row a step.

A row's place follows from its number alone, and a lane's from the widest words in it, so that a script can close the
gaps of rows it hides without knowing anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvproto.page.bands import Column, columns
from kvproto.page.svg import Box, Shape, moved, room, tag, text
from kvproto.report.report import Note, Report
from kvproto.trace.printable import cut, printable

CALL = 12.0
NOTE = 11.5
EVENT = 10.5
LINE = 14
"""Sizes of letters, and the height of a line of notes."""

MOST = 2
"""So many remarks stand below a step."""

LONGEST = 36
"""Calls of more characters are cut; a pointer that rests on them sees all."""

_GUTTER = 40
_LOOP = 78
_HEADER = 56
_GAP = 26
_NARROW, _WIDE = 104, 236
_PARTS = (0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74, 0.2, 0.8)
"""Where on a line a label may stand, best first."""

_ROOM = 1000
"""What the machines' lanes may take together before they are squeezed."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A machine: its name and the place of its line."""

    name: str
    x: float


@dataclass(frozen=True, slots=True)
class PoolLane:
    """A pool of pages where writes land: its line, the bands beside it, and where words about it begin."""

    name: str
    x: float
    column: Column
    words: float
    right: float


@dataclass
class Layout:
    """The places of everything, and which of them are taken by words."""

    report: Report
    lanes: tuple[Lane, ...]
    pools: tuple[PoolLane, ...]
    left: float
    pitch: float
    width: float
    taken: list[Box] = field(default_factory=list)

    header: float = _HEADER - 16
    top: float = _HEADER + 16

    @property
    def steps(self) -> int:
        """How many rows there are."""
        return len(self.report.rows)

    @property
    def bottom(self) -> float:
        """Where the lanes end."""
        return self.y(self.steps) + self.pitch / 2 + 4

    def y(self, step: int) -> float:
        """The middle of a row; half a row above the first one for what was there at the start."""
        return self.top + (max(step, 0) - 1) * self.pitch if step > 0 else self.top - self.pitch / 2

    def lane(self, name: str) -> Lane:
        """The machine of that name."""
        return next(lane for lane in self.lanes if lane.name == name)

    def pool(self, name: str) -> PoolLane | None:
        """The lane of a pool, if it has one."""
        return next((pool for pool in self.pools if pool.name == name), None)

    def right_of(self, step: int) -> tuple[bool, bool]:
        """Whether a line leaves the step's dot to the right, and whether one arrives from there."""
        report, x = self.report, self.lane(self.report.row(step).lane).x
        sent = [m for m in report.messages if m.sent == step and m.taken is not None and self.lane(m.taker).x > x]
        got = [m for m in report.messages if m.taken == step and self.lane(m.sender).x > x]
        posted = any(
            flight.posted == step for pool in self.pools for bundle in pool.column.bundles for flight in bundle.flights
        )
        return bool(sent) or posted, bool(got)

    @property
    def edge(self) -> float:
        """How far words of the machines may reach to the right."""
        return self.pools[0].x - 14 if self.pools else self.width - 8

    def free(self, box: Box) -> bool:
        """Whether no words are there yet."""
        return box.left >= self.left and box.right <= self.width and not any(box.meets(other) for other in self.taken)

    def label(self, content: str, size: float, places: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
        """The first of some places at which a text fits, as the middle of its line; it is taken from then on."""
        wide = room(content, size) / 2 + 3
        boxes = [(x, y, Box(x - wide, y - size * 0.75, x + wide, y + size * 0.45)) for x, y in places]
        free = [place for place in boxes if self.free(place[2])]
        lives = [*(lane.x for lane in self.lanes), *(pool.x for pool in self.pools)]
        # Better beside the lines of the lanes than across one.
        clear = [place for place in free if not any(place[2].left < x < place[2].right for x in lives)]
        for x, y, box in (clear or free)[:1]:
            self.taken.append(box)
            return x, y
        return None

    def on_line(self, content: str, size: float, start: tuple[float, float], stop: tuple[float, float]) -> str | None:
        """A label at some part of a line, as near to its middle as there is room."""
        places = [tuple(a + (b - a) * part for a, b in zip(start, stop, strict=True)) for part in _PARTS]
        found = self.label(content, size, [(x, y) for x, y in places])
        if found is None:
            return None
        wide = room(content, size) + 6
        plate: Shape = {"x": -wide / 2, "y": -size * 0.65, "width": wide, "height": size * 1.3, "rx": 3}
        words = text(0, size * 0.33, content, "label", anchor="middle")
        part = _PARTS[places.index(found)]
        at: Shape = {"class": "at", "data-t": str(part), "transform": moved(*found)}
        return tag("g", at, tag("rect", {"class": "plate", **plate}), words)


def heading(name: str) -> float:
    """How wide the box with a lane's name is."""
    return max(room(cut(printable(name), LONGEST), CALL) * 1.08 + 22, 64)


def pool_title(pool: str) -> str:
    """What is written above the lane of a pool."""
    return f"pages of {pool}" if pool else "writes under way"


def short(call: str) -> str:
    """A call that fits."""
    return cut(printable(call), LONGEST)


def lines(notes: Sequence[Note]) -> list[Note]:
    """The notes that stand below a step; that of the turn is a rule of its own."""
    return [note for note in notes if note.kind != "turn"]


def layout(report: Report) -> Layout:
    """The places of everything in a report's diagram."""
    left = _GUTTER + (_LOOP if report.trace.loop is not None else 0)
    lanes, x = _machines(report, left)
    pools: list[PoolLane] = []
    for column in columns(report):
        named = heading(pool_title(column.pool))
        begin = x + named / 2 + 4
        wide = max([named / 2, *(room(text, EVENT, mono=True) + 8 for text in column.texts())])
        words = begin + 8 + column.width + 6
        right = max(words + wide, begin + named / 2)
        pools.append(PoolLane(column.pool, begin, column, words, right))
        x = right
    extra = max((min(len(lines(row.notes)), MOST) for row in report.rows), default=0)
    spoken = max((len(texts) for pool in pools for texts in pool.column.events.values()), default=0)
    pitch = 9.0 + LINE * max(1 + extra, min(spoken, MOST))
    return Layout(report, tuple(lanes), tuple(pools), left, pitch, x + 12)


def _machines(report: Report, left: float) -> tuple[list[Lane], float]:
    """The machines' lanes, and where the last one's words end."""
    names = report.lanes
    wanted = [_wanted(report, name) for name in names]
    while sum(wanted) > _ROOM and max(wanted) > _NARROW:
        wanted[wanted.index(max(wanted))] -= 8
    lanes, x = [], left + 44.0
    for name, wide in zip(names, wanted, strict=True):
        lanes.append(Lane(name, x))
        x += wide
    if lanes:
        x = lanes[-1].x + max(wanted[-1], _notes(report, names[-1]))
    return lanes, x


def _wanted(report: Report, name: str) -> float:
    calls = [room(short(row.call), CALL, mono=True) + 14 for row in report.rows if row.lane == name]
    return min(max([_NARROW, heading(name), *calls]) + _GAP, _WIDE)


def _notes(report: Report, name: str) -> float:
    found = [room(note.text, NOTE) + 30 for row in report.rows if row.lane == name for note in lines(row.notes)]
    return min(max(found, default=0), 400)
