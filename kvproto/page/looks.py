"""What cells of page maps look like in any state: drawn once each, for a script that only copies."""

from __future__ import annotations

from kvproto.page.maps import inside, kind
from kvproto.page.svg import tag
from kvproto.report import Cell, Report

Look = tuple[str | None, tuple[str | None, ...], tuple[str, ...], bool]
"""All that the drawing of a cell depends on, but for the page's label."""


class Looks:
    """The drawings of a report's cells, numbered in the order in which they first occur."""

    def __init__(self, report: Report) -> None:
        self._numbers: dict[Look, int] = {}
        self._drawings: list[str] = []
        for pool in report.pools:
            for cell in (cell for history in pool.cells for cell in history):
                if _look(cell) not in self._numbers:
                    self._numbers[_look(cell)] = len(self._drawings)
                    self._drawings.append(tag("g", {"class": kind(cell)}, inside(report.requests, "", cell)))

    def number(self, cell: Cell) -> int:
        """The place of the cell's drawing in the template."""
        return self._numbers[_look(cell)]

    def template(self) -> str:
        """All drawings, in an element that no browser shows."""
        return tag("template", {}, tag("svg", {}, *self._drawings))


def _look(cell: Cell) -> Look:
    return cell.owner, cell.contents, cell.coming, cell.stale
