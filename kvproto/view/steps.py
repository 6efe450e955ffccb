"""The numbered list of steps: who did what, where it is written, and what changed."""

from __future__ import annotations

from kvproto.report.report import Report, Row, Sentence
from kvproto.report.sentences import sentence
from kvproto.trace.analysis import Dot
from kvproto.trace.printable import cells, fold, pad, printable
from kvproto.view.choice import Choice, Gap, plan, words_of
from kvproto.view.lanes import NARROWEST


def render_steps(report: Report, *, width: int = 80, choice: Choice | None = None) -> str:
    """The steps with their texts and changes; `*` marks those that the verdict rests on."""
    width = max(width, NARROWEST)
    lanes = max((cells(printable(row.lane)) for row in report.rows), default=0)
    digits = len(str(len(report.rows)))
    starred = partly_guilty(report)
    rows: list[str] = []
    for part in plan(report, choice or Choice()):
        if isinstance(part, Gap):
            lead = " " * (digits + 3)
            rows += [lead + line for line in fold(f"... {words_of(report, part)}", width - len(lead))]
            continue
        row = report.row(part)
        star = "*" if starred and row.guilty else " "
        # Where a later step could not have happened, nearly every change is a red dot: those are for one step alone.
        dots = [dot for dot in dots_of(report, part) if dot.effect == "harmless"]
        rows += _step(row, dots, f"{star}{str(part).rjust(digits)}  ", lanes, width)
        if report.ending and part == len(report.rows):
            rows.append(f"{' ' * (digits + 3)}{report.ending}")
    return "\n".join(row.rstrip() for row in rows) + "\n" if rows else "  (none)\n"


def partly_guilty(report: Report) -> bool:
    """Whether the verdict rests on some steps and not on others, so that a mark says something."""
    return 0 < sum(row.guilty for row in report.rows) < len(report.rows)


def dots_of(report: Report, number: int) -> list[Dot]:
    """The red dots of a step: changes without which the violation were gone."""
    analysis = report.trace.analysis
    return [dot for dot in analysis.dots if dot.step == number] if analysis is not None else []


def dotted(dot: Dot) -> str:
    """What a red dot says."""
    then = "every step happens and the claim holds" if dot.effect == "harmless" else f"step {dot.at} could not happen"
    condition = f" ({printable(dot.condition)} is false)" if dot.condition else ""
    return f"red dot: without the change of {printable(dot.path)} {then}{condition}"


def what_if(report: Report) -> tuple[Sentence, ...]:
    """What would have stopped it, and the changes without which every step happens and the claim holds."""
    analysis = report.trace.analysis
    dots = [dot for dot in analysis.dots if dot.effect == "harmless"] if analysis is not None else []
    if not dots:
        return report.whatif
    places = ", ".join(f"step {dot.step} {printable(dot.path)}" for dot in dots)
    one = "this change" if len(dots) == 1 else "any one of these changes"
    text = f"Every step could happen without {one}, and the claim would hold (red dots): {places}."
    return (*report.whatif, sentence(text, len(report.rows)))


def headline(row: Row, head: str, lanes: int, width: int) -> list[str]:
    """Number, lane and call of a step, its place in the model at the right."""
    indent = " " * len(head)
    title = f"{pad(printable(row.lane), min(lanes, width // 4))}  {printable(row.full)}"
    loc = printable(row.loc)
    room = width - len(head)
    if cells(title) + 2 + cells(loc) <= room:
        return [head + pad(title, room - cells(loc)) + loc]
    parts = fold(title, room) + fold(loc, room)
    return [head + parts[0], *(indent + part for part in parts[1:])]


def _step(row: Row, dots: list[Dot], head: str, lanes: int, width: int) -> list[str]:
    indent = " " * len(head)
    room = width - len(head)
    lines = headline(row, head, lanes, width)
    lines += [indent + line for line in fold(printable(row.text), room)]
    changed = [f"{printable(c.path)}: {printable(c.old)} -> {printable(c.new)}" for c in row.changes]
    for text in [*(printable(note.text) for note in row.notes), *changed, *map(dotted, dots)]:
        first, *rest = fold(text, room - 4)
        lines += [f"{indent}  {first}", *(f"{indent}    {line}" for line in rest)]
    return lines
