"""What is written below a call: what is remarkable about the step, and what the missing guard would have done to it."""

from __future__ import annotations

from kvproto.report.report import Note, Report
from kvproto.trace.analysis import Dot, Guard
from kvproto.trace.printable import cut

MOST = 2
"""So many remarks stand below a step; the second one counts the others."""

_LONGEST = 72


def remarks(report: Report) -> dict[int, list[Note]]:
    """The remarks by step, cut to what fits.  The point of no return is none: it is a line of its own."""
    found: dict[int, list[Note]] = {}
    for row in report.rows:
        notes = [note for note in row.notes if note.kind != "turn"]
        if notes:
            found[row.number] = notes
    analysis = report.trace.analysis
    guard = analysis.guard() if analysis is not None else None
    if guard is not None and 0 < guard.step <= len(report.rows):
        found.setdefault(guard.step, []).extend(_guarded(report, guard))
    return {number: _fitting(notes) for number, notes in found.items()}


def _guarded(report: Report, guard: Guard) -> list[Note]:
    where = f"in {report.trace.model}@{guard.name}"
    if guard.kind == "switch":
        value = ("on" if guard.value else "off") if isinstance(guard.value, bool) else f"= {guard.value}"
        where = f"with {guard.name} {value}"
    effects = {"refused": "would be refused", "diverted": "would have another effect"}
    return [Note("guard", f"{effects[guard.effect]} {where}")] if guard.effect in effects else []


def _fitting(notes: list[Note]) -> list[Note]:
    """At most so many, each of at most so many letters."""
    shown = [Note(note.kind, cut(note.text, _LONGEST)) for note in notes[:MOST]]
    if len(notes) > MOST:
        last = shown[-1]
        shown[-1] = Note(last.kind, f"{last.text} (and {len(notes) - MOST} more)")
    return shown


def red_dots(report: Report) -> dict[int, list[Dot]]:
    """By step: what it set and had better left as it was, all steps that follow being the same.

    Changes without which a later step could not happen are no use: nearly every step of a shortest run makes one.
    """
    found: dict[int, list[Dot]] = {}
    for dot in report.trace.analysis.dots if report.trace.analysis is not None else ():
        if dot.effect == "harmless":
            found.setdefault(dot.step, []).append(dot)
    return found


def turn(report: Report) -> tuple[int, str] | None:
    """The point of no return, step and words; none where it is the end, which needs no mark."""
    for row in report.rows[:-1]:
        for note in row.notes:
            if note.kind == "turn":
                return row.number, note.text
    return None
