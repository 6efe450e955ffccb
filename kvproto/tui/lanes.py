"""The space-time lanes as a widget: only the lines in sight are drawn, so that a long trace costs little more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kvproto.tui.session import Session
from kvproto.tui.texts import lane_line
from kvproto.view.lanes import NARROWEST, Line, lane_lines

if TYPE_CHECKING:
    from textual import events

GUTTER = 3
"""Columns at the left for the cursor, the slice and the search."""


class Lanes(ScrollView, can_focus=True, inherit_bindings=False):
    """The picture of `kvproto show` with a cursor; keys that would scroll it move the cursor."""

    class Picked(Message):
        """Somebody clicked on a step."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    def __init__(self, session: Session) -> None:
        super().__init__(id="lanes")
        self.session = session
        self.head: list[Line] = []
        self.lines: list[Line] = []
        self.band = 0
        self._drawn: tuple[object, ...] = ()
        self._places: dict[int, list[int]] = {}

    def on_resize(self) -> None:
        """The picture is as wide as the window."""
        self.draw()

    def draw(self) -> None:
        """Lay out again where needed, and bring the cursor into sight."""
        session = self.session
        wanted = (session.choice, self.scrollable_content_region.width)
        if wanted != self._drawn:
            self._drawn = wanted
            lines = lane_lines(
                session.report,
                width=max(self.scrollable_content_region.width - GUTTER, NARROWEST),
                choice=session.choice,
            )
            self.head = [line for line in lines if line.kind == "title"]
            start = Line("   (start)", 0, "row")
            self.lines = [start, *(line for line in lines if line.kind not in ("title", "legend"))]
            self._places = {}
            for number, line in enumerate(self.lines):
                self._places.setdefault(line.step, []).append(number)
            self.band = self.head[0].text.find("in flight") if self.head else 0
            self.virtual_size = Size(self.scrollable_content_region.width, len(self.lines) + len(self.head))
        self._show_cursor()
        self.refresh()

    def _show_cursor(self) -> None:
        """Scroll so that all lines of the step are in sight, and a few around it."""
        at = self._places.get(self.session.step)
        if at and self.size.height:
            around = 2 if self.size.height > 8 else 0
            height = min(at[-1] - at[0] + 1 + 2 * around, self.size.height - len(self.head))
            region = Region(0, max(at[0] - around, 0), 1, height + len(self.head))
            self.scroll_to_region(region, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a step."""
        at = event.y - len(self.head) + self.scroll_offset.y
        if event.y >= len(self.head) and 0 <= at < len(self.lines):
            self.post_message(self.Picked(self.lines[at].step))

    def render_line(self, y: int) -> Strip:
        """The names of the lanes stay at the top; the lines below them scroll."""
        width = self.scrollable_content_region.width
        if y < len(self.head):
            text = " " * GUTTER + self.head[y].text
            return self._strip(text, "title", width, here=False, dim=False, hit=False)
        at = y - len(self.head) + self.scroll_offset.y
        if at >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        line, session = self.lines[at], self.session
        here = line.step == session.step and line.kind != "gap"
        guilty = line.step > 0 and session.report.row(line.step).guilty and line.kind != "gap"
        hit = bool(session.word) and line.kind == "row" and session.hit(line.step)
        mark = "*" if guilty and line.kind == "row" else " "
        if session.cone and line.kind == "row" and line.step in session.sources():
            mark = "<"
        gutter = f"{'>' if here and line.kind == 'row' else ' '}{mark}{'#' if hit else ' '}"
        dim = session.cone and not guilty and not here
        return self._strip(gutter + line.text, line.kind, width, here=here, dim=dim, hit=hit)

    def _strip(self, text: str, kind: str, width: int, *, here: bool, dim: bool, hit: bool) -> Strip:
        content = lane_line(text, kind, self.band + GUTTER, here=here, dim=dim, hit=hit)
        if kind == "title":
            content = content.stylize("bold")
        return Strip(content.render_segments(self.visual_style)).adjust_cell_length(width, self.rich_style)
