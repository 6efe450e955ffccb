"""Where things stand in the space-time diagram: a lane a machine, a lane a pool of pages, a row a step.

A row's place follows from its number alone, and a lane's from the widest words in it, so that a script can close the
gaps of rows it hides without knowing anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kvproto.page.bands import Column, columns
from kvproto.page.remarks import MOST, remarks
from kvproto.page.space import Space
from kvproto.page.svg import room
from kvproto.report.report import Note, Report, Row
from kvproto.trace.printable import cut, printable

CALL = 12.0
NOTE = 11.5
EVENT = 10.5
LINE = 14
"""Sizes of letters, and the height of a line of notes."""

ASIDE = 13
"""How far from the middle of a dot words begin."""

LONGEST = 36
"""Calls of more characters are cut; a pointer that rests on them sees all."""

_GUTTER = 40
_LOOP = 78
_HEADER = 56
_GAP = 12
_NARROW, _WIDE = 96, 176
_NOTES = 230
"""Longer remarks in the last lane stand to the left of their dots."""

_PITCH = 26.0
"""Rows are at least so high."""

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
    """The places of everything."""

    report: Report
    lanes: tuple[Lane, ...]
    pools: tuple[PoolLane, ...]
    left: float
    pitch: float
    width: float
    remarks: Mapping[int, Sequence[Note]]

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
        return self._lanes[name]

    @cached_property
    def _lanes(self) -> dict[str, Lane]:
        return {lane.name: lane for lane in self.lanes}

    def right_of(self, step: int) -> tuple[bool, bool]:
        """Whether a line leaves the step's dot to the right, and whether one arrives from there."""
        leaving, arriving = self._rightward
        return step in leaving, step in arriving

    @cached_property
    def _rightward(self) -> tuple[set[int], set[int]]:
        report, x = self.report, {lane.name: lane.x for lane in self.lanes}
        taken = [message for message in report.messages if message.taken is not None]
        leaving = {message.sent for message in taken if x[message.taker] > x[message.sender]}
        leaving |= {bundle.posted for pool in self.pools for bundle in pool.column.bundles}
        return leaving, {message.taken or 0 for message in taken if x[message.sender] > x[message.taker]}

    def fits_right(self, x: float, wide: float) -> bool:
        """Whether words fit between a dot and the pools."""
        return x + ASIDE + wide <= self.edge

    def fits_left(self, x: float, wide: float) -> bool:
        """Whether words fit between the numbers of the steps and a dot."""
        return x - ASIDE - wide > self.left + 4

    def aside(self, row: Row) -> bool:
        """Whether the row has a single remark, which stands to the left of the dot as the call does to the right."""
        notes, x = self.remarks.get(row.number, ()), self.lane(row.lane).x
        if len(notes) != 1:
            return False
        return not self.fits_right(x, note_room(notes[0])) and self.fits_left(x, note_room(notes[0]))

    @property
    def edge(self) -> float:
        """How far words of the machines may reach to the right."""
        return self.pools[0].x - 14 if self.pools else self.width - 8

    @cached_property
    def space(self) -> Space:
        """Where words stand and lines run, as far as they are drawn."""
        lives = (*(lane.x for lane in self.lanes), *(pool.x for pool in self.pools))
        return Space(self.width, self.left, lives)


def heading(name: str) -> float:
    """How wide the box with a lane's name is."""
    return max(room(cut(printable(name), LONGEST), CALL) * 1.08 + 22, 64)


def pool_title(pool: str) -> str:
    """What is written above the lane of a pool."""
    return f"pages of {pool}" if pool else "writes under way"


def note_room(note: Note) -> float:
    """How wide a remark is, in its heavy letters."""
    return room(note.text, NOTE) * 1.08


def short(call: str) -> str:
    """A call that fits."""
    return cut(printable(call), LONGEST)


def layout(report: Report) -> Layout:
    """The places of everything in a report's diagram."""
    left, said = _GUTTER + (_LOOP if report.trace.loop is not None else 0), remarks(report)
    lanes, x = _machines(report, left, said)
    pools: list[PoolLane] = []
    head = lanes[-1].x + heading(lanes[-1].name) / 2 if lanes else x
    for column in columns(report):
        named = heading(pool_title(column.pool))
        begin = max(x + 16, head + named / 2 + 10)
        wide = max((room(text, EVENT, mono=True) for text in column.texts()), default=0)
        words = begin + 8 + column.width + 6
        right = max(words + wide, begin + named / 2)
        pools.append(PoolLane(column.pool, begin, column, words, right))
        x, head = words + wide, begin + named / 2
    places = Layout(report, tuple(lanes), tuple(pools), left, _PITCH, max(x, head) + 12, said)
    return replace(places, pitch=_pitch(places))


def _pitch(places: Layout) -> float:
    """The height of a row: of the one with most lines."""
    rows = [row for row in places.report.rows if not places.aside(row)]
    extra = max((len(places.remarks.get(row.number, ())) for row in rows), default=0)
    spoken = max((len(texts) for pool in places.pools for texts in pool.column.events.values()), default=0)
    return max(_PITCH, 9.0 + LINE * max(1 + extra, min(spoken, MOST)))


def _machines(report: Report, left: float, said: Mapping[int, Sequence[Note]]) -> tuple[list[Lane], float]:
    """The machines' lanes, and where the last one's words end."""
    names = report.lanes
    wanted = [_wanted(report, name) for name in names]
    while sum(wanted) > _ROOM and max(wanted) > _NARROW:
        wanted[wanted.index(max(wanted))] -= 8
    lanes, x = [], left + 36.0
    for name, wide in zip(names, wanted, strict=True):
        lanes.append(Lane(name, x))
        x += wide
    if lanes:
        x = lanes[-1].x + max(wanted[-1], _notes(report, names[-1], said))
    return lanes, x


def _wanted(report: Report, name: str) -> float:
    calls = [room(short(row.call), CALL, mono=True) + 14 for row in report.rows if row.lane == name]
    return min(max([_NARROW, heading(name), *calls]) + _GAP, _WIDE)


def _notes(report: Report, name: str, said: Mapping[int, Sequence[Note]]) -> float:
    notes = [note for row in report.rows if row.lane == name for note in said.get(row.number, ())]
    found = [note_room(note) + 20 for note in notes]
    return max((wide for wide in found if wide <= _NOTES), default=0)
