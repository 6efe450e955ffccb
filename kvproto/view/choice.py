"""Which steps are shown: all, those of some lane, request or page, those of the slice, or without long local runs.

The words of the filter are those of the page: `lane=decode page=3 request=A commit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvproto.explain.words import count, joined
from kvproto.report.report import Report, Row
from kvproto.trace.printable import printable

MANY = 60
"""Traces of more steps are folded: runs of local steps become one line."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter: a step is shown if it fits one of the values of each key that has any, and all the words.

    A page is given as `decode/3`, or as `3` for the page of that label in every pool.
    """

    lanes: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    guilty: bool = False
    folded: bool = False

    @property
    def filters(self) -> bool:
        """Whether it leaves steps out on purpose."""
        return bool(self.lanes or self.requests or self.pages or self.words or self.guilty)

    def fits(self, row: Row) -> bool:
        """Whether the step is one of those that are asked for."""
        return (
            (not self.lanes or row.lane in self.lanes)
            and (not self.requests or not set(self.requests).isdisjoint(row.requests))
            and (not self.pages or any(names & set(self.pages) for names in _names(row)))
            and all(word.lower() in text for text in [_text(row)] for word in self.words)
            and (row.guilty or not self.guilty)
        )


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are not shown, one after the other."""

    first: int
    last: int


def parse(text: str) -> Choice:
    """The choice that a line of the filter language stands for; an unknown key is a word like any other."""
    found: dict[str, list[str]] = {"lane": [], "request": [], "page": []}
    words: list[str] = []
    for word in text.split():
        key, equals, value = word.partition("=")
        if equals and value and key in found:
            found[key].append(value)
        else:
            words.append(word)
    return Choice(tuple(found["lane"]), tuple(found["request"]), tuple(found["page"]), tuple(words))


def matches(row: Row, word: str) -> bool:
    """Whether a search for the word stops at the step."""
    return bool(word) and word.lower() in _text(row)


def plan(report: Report, choice: Choice) -> tuple[int | Gap, ...]:
    """The steps that are shown, by number, and the gaps between them."""
    shown = _shown(report, choice)
    found: list[int | Gap] = []
    for row in report.rows:
        if row.number in shown:
            found.append(row.number)
        elif found and isinstance(gap := found[-1], Gap):
            found[-1] = Gap(gap.first, row.number)
        else:
            found.append(Gap(row.number, row.number))
    return tuple(found)


def words_of(report: Report, gap: Gap, *, lanes: bool = True) -> str:
    """What a gap leaves out: `steps 13-24: 12 local steps of worker`; the last two words only if `lanes` are wanted."""
    rows = report.rows[gap.first - 1 : gap.last]
    names = joined([printable(lane) for lane in dict.fromkeys(row.lane for row in rows)]) if lanes else ""
    local = "local step" if all(row.local for row in rows) else "step"
    span = f"step {gap.first}" if gap.first == gap.last else f"steps {gap.first}-{gap.last}"
    return f"{span}: {count(len(rows), local)}" + (f" of {names}" if names else "")


def _shown(report: Report, choice: Choice) -> frozenset[int]:
    if choice.filters:
        return frozenset(row.number for row in report.rows if choice.fits(row))
    if not choice.folded:
        return frozenset(row.number for row in report.rows)
    shown = {row.number for row in report.rows if not row.local or row.number == len(report.rows)}
    for run in _runs(report):
        # A gap of one step would take as much room as the step.
        if len(run) == 1:
            shown.update(run)
    return frozenset(shown)


def _runs(report: Report) -> Iterator[list[int]]:
    """Runs of local steps."""
    run: list[int] = []
    for row in report.rows:
        if row.local:
            run.append(row.number)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _names(row: Row) -> Iterator[set[str]]:
    for page in row.pages:
        yield {page.label, f"{page.pool}/{page.label}"}


def _text(row: Row) -> str:
    """All that can be read of a step, in small letters."""
    changes = (f"{change.path} {change.old} {change.new}" for change in row.changes)
    notes = (note.text for note in row.notes)
    return "\n".join([row.lane, row.full, row.call, row.text, row.loc, *changes, *notes]).lower()
