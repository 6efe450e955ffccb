"""The answer as a picture: for every goal a table of dots, and the whole lattice where that is small enough.

In a table a column is a set and a row a switch, as in an UpSet plot; in a lattice a line goes up from a set to that
with one switch more.  Colour is never alone: what suffices is round, what does not is square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from kvproto.mitigations.answer import Answer, GoalAnswer
from kvproto.mitigations.lattice import bits, members, size_then_value
from kvproto.mitigations.text import groups, words

GOOD, BAD, UNKNOWN, FAINT, INK = "#1a7f37", "#b42318", "#8a6d00", "#d9dde3", "#1f2328"

ROW, COLUMN, LETTER, MARGIN = 20, 22, 6.7, 16
"""Heights and widths in pixels; `LETTER` is the width of a letter at 12 pixels."""

LEGEND = "steps of the shortest run"

LARGEST_LATTICE = 5
"""Switches of the largest lattice that is drawn: 32 sets."""


@dataclass(slots=True)
class Canvas:
    """Shapes so far, and how far they reach."""

    shapes: list[str] = field(default_factory=list)
    width: float = 0
    height: float = 0

    def reach(self, x: float, y: float) -> None:
        """Make room for this point."""
        self.width, self.height = max(self.width, x), max(self.height, y)

    def text(
        self, x: float, y: float, said: str, *, color: str = INK, bold: bool = False, anchor: str = "start"
    ) -> None:
        """A line of text with its base line at `y`."""
        more = ' font-weight="bold"' if bold else ""
        if anchor == "middle":  # may stand on lines, so it brings its own background
            more += ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"{more}>{escape(said)}</text>'
        )
        self.reach(x + (len(said) * LETTER * (1.08 if bold else 1) if anchor == "start" else 0), y + 6)

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> None:
        """A straight line."""
        self.shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'
        )

    def mark(self, x: float, y: float, radius: float, color: str, *, square: bool) -> None:
        """A dot: round or square."""
        if square:
            self.shapes.append(
                f'<rect x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius:.1f}" height="{2 * radius:.1f}" '
                f'fill="{color}"/>'
            )
        else:
            self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}"/>')
        self.reach(x + radius, y + radius)

    def svg(self) -> str:
        """The file."""
        width, height = self.width + MARGIN, self.height + MARGIN
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
                f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-monospace, monospace" font-size="11">',
                f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
                *self.shapes,
                "</svg>\n",
            ]
        )


def picture(answer: Answer) -> str:
    """The answer as SVG; the same answer gives the same bytes."""
    canvas = Canvas()
    system = answer.base
    preset = f"@{system.preset}" if system.preset else ""
    canvas.text(MARGIN, 24, f"{system.model}{preset}: which sets of switches suffice", bold=True)
    canvas.text(MARGIN, 42, "green, round: a smallest set that suffices; red, square: a largest set that does not")
    top: float = 66
    for group in groups(answer):
        top = _group(canvas, answer, group, top) + 26
    return canvas.svg()


def _group(canvas: Canvas, answer: Answer, group: list[GoalAnswer], top: float) -> float:
    """Draw one answer, and give the height at which it ends."""
    boundary = group[0].boundary
    for goal in group:
        canvas.text(MARGIN, top, f"{goal.name}: {goal.claim}", bold=True)
        top += 16
    if boundary.sufficient == (0,) and not boundary.insufficient:
        canvas.text(MARGIN, top, "needs none of the switches")
        return top
    if not boundary.sufficient:
        canvas.text(MARGIN, top, "no set of these switches suffices", color=BAD)
        top += 16
    end = _table(canvas, answer, group[0], top)
    for chosen, bit in boundary.hurts:
        end += 16
        said = f"{words(answer.question, bit)} does harm: it holds with {words(answer.question, chosen)}, not with both"
        canvas.text(MARGIN, end, said, color=BAD)
    if boundary.verdicts and len(answer.question.switches) <= LARGEST_LATTICE:
        end = _lattice(canvas, answer, group[0], end + 30)
    return end


def _table(canvas: Canvas, answer: Answer, goal: GoalAnswer, top: float) -> float:
    names, boundary = answer.question.switches, goal.boundary
    label = MARGIN + max(len(LEGEND), *(len(name) + 3 for name in names)) * LETTER + 24
    columns = [(chosen, GOOD, False) for chosen in boundary.sufficient]
    columns += [(chosen, BAD, True) for chosen in boundary.insufficient]
    places = list(_places(label, len(boundary.sufficient), len(columns)))
    for at, name in enumerate(names):
        y = top + ROW * at + ROW / 2
        canvas.text(MARGIN, y + 4, f"{at + 1:>2} {name}")
        canvas.line(label - 12, y, places[-1] + 12, y, "#eef0f3")
    for (chosen, color, square), x in zip(columns, places, strict=True):
        on = list(members(chosen))
        canvas.line(x, top - 4, x, top + ROW * len(names) - 4, color, 0.7)
        for at in range(len(names)):
            y = top + ROW * at + ROW / 2
            canvas.mark(x, y, 5 if at in on else 2, color if at in on else FAINT, square=square and at in on)
        steps = _steps(answer, goal, chosen)
        canvas.text(x, top + ROW * len(names) + 12, steps if square else "", color=BAD, anchor="middle")
    end = top + ROW * len(names) + 12
    if boundary.insufficient:
        canvas.text(MARGIN, end, LEGEND, color=BAD)
    return end


def _places(left: float, good: int, count: int) -> Iterator[float]:
    """Where the columns are; a gap stands between what suffices and what does not."""
    for at in range(count):
        yield left + COLUMN * at + (COLUMN if good and at >= good else 0)


def _steps(answer: Answer, goal: GoalAnswer, chosen: int) -> str:
    lengths = [len(answer.runs[chosen, name].steps) for name in goal.names if (chosen, name) in answer.runs]
    return str(min(lengths)) if lengths else "?"


def _lattice(canvas: Canvas, answer: Answer, goal: GoalAnswer, top: float) -> float:
    """All sets, larger ones higher; edges of the reported sets have a ring, and a red line leads to harm."""
    boundary, switches = goal.boundary, answer.question.switches
    count = len(switches)
    ordered = sorted(boundary.verdicts, key=size_then_value)
    levels = [[chosen for chosen in ordered if chosen.bit_count() == size] for size in range(count + 1)]
    step = max(54, 10 * count + 14)
    wide = max(len(level) for level in levels) * step
    where = {
        chosen: (MARGIN + wide / 2 + step * (at - (len(level) - 1) / 2), top + 52 * (count - size) + 12)
        for size, level in enumerate(levels)
        for at, chosen in enumerate(level)
    }
    for chosen, (x, y) in where.items():
        for bit in bits(answer.question.everything & ~chosen):
            harm = boundary.verdicts[chosen] is True and boundary.verdicts[chosen | bit] is False
            canvas.line(x, y, *where[chosen | bit], BAD if harm else FAINT, 2.5 if harm else 1)
    for chosen, (x, y) in where.items():
        _node(canvas, goal, chosen, x, y)
    if boundary.hurts:
        canvas.text(MARGIN, top + 52 * count + 48, "a thick red line goes up to a worse set: that switch does harm")
    return top + 52 * count + 52


def _node(canvas: Canvas, goal: GoalAnswer, chosen: int, x: float, y: float) -> None:
    """One set of the lattice: bright if it is reported, with the numbers of its switches."""
    boundary = goal.boundary
    color = {True: GOOD, False: BAD, None: UNKNOWN}[boundary.verdicts[chosen]]
    square = boundary.verdicts[chosen] is not True
    if chosen in boundary.sufficient or chosen in boundary.insufficient:
        canvas.mark(x, y, 11, INK, square=square)
        canvas.mark(x, y, 9.5, "#ffffff", square=square)
    canvas.mark(x, y, 7, color, square=square)
    said = " ".join(str(at + 1) for at in members(chosen)) or "none"
    canvas.text(x, y + 23, said, anchor="middle")
