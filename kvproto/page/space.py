"""What is where in a picture: places that words have taken, lines that words should not cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

Point = tuple[float, float]

Thing = TypeVar("Thing")

_SHELF = 64.0
"""Boxes and lines are found by the horizontal strips that they lie in, this high."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether they have an inner point in common."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)

    def crossed(self, start: Point, stop: Point) -> bool:
        """Whether a straight line has a point in common with it.

        >>> Box(0, 0, 2, 2).crossed((-1, 1), (3, 1)), Box(0, 0, 2, 2).crossed((-1, 1), (1, 5))
        (True, False)
        """
        (x1, y1), (x2, y2) = start, stop
        first, last = 0.0, 1.0
        across = (x2 - x1, self.left - x1, self.right - x1)
        down = (y2 - y1, self.top - y1, self.bottom - y1)
        for distance, low, high in (across, down):
            if distance == 0:
                if low > 0 or high < 0:
                    return False
                continue
            enters, leaves = sorted((low / distance, high / distance))
            first, last = max(first, enters), min(last, leaves)
        return first <= last


@dataclass
class Space:
    """The picture while words find their places; `lives` are the vertical lines that run through it."""

    width: float
    left: float
    lives: tuple[float, ...]
    boxes: dict[int, list[Box]] = field(default_factory=dict)
    lines: dict[int, list[tuple[Point, Point]]] = field(default_factory=dict)

    def take(self, box: Box) -> None:
        """Words are there from now on."""
        for shelf in _shelves(box.top, box.bottom):
            self.boxes.setdefault(shelf, []).append(box)

    def draw(self, start: Point, stop: Point) -> None:
        """A line runs there."""
        for shelf in _shelves(min(start[1], stop[1]), max(start[1], stop[1])):
            self.lines.setdefault(shelf, []).append((start, stop))

    def free(self, box: Box) -> bool:
        """Whether the box is in the picture and no words are there yet."""
        inside = self.left <= box.left and box.right <= self.width
        return inside and not any(box.meets(other) for other in _near(self.boxes, box))

    def cost(self, box: Box, own: tuple[Point, Point] | None) -> int:
        """How many lines words would cover there, not counting the one that they belong to."""
        lives = sum(box.left < x < box.right for x in self.lives)
        return lives + 2 * sum(line != own and box.crossed(*line) for line in set(_near(self.lines, box)))


def _shelves(top: float, bottom: float) -> range:
    return range(int(top // _SHELF), int(bottom // _SHELF) + 1)


def _near(shelves: dict[int, list[Thing]], box: Box) -> Iterator[Thing]:
    for shelf in _shelves(box.top, box.bottom):
        yield from shelves.get(shelf, ())
