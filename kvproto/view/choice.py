"""Which steps are shown: all, those of some lane, request or page, those of the slice, or without long local runs.

The words of the filter are those of the page: `lane=decode page=3 request=A commit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvproto.explain.words import count, joined
from kvproto.report.report import Report, Row
from kvproto.trace.printable import printable

MANY = 60
"""Traces of more steps are folded: runs of local steps become one line."""

_PART = re.compile(r'(?:(lane|page|request)=|(?=\S))(?:"([^"]*)"?|(\S*))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One condition of a filter: `key` is `lane`, `request`, `page` or "" for words; one of the values must fit."""

    key: str
    values: tuple[str, ...]

    def fits(self, row: Row) -> bool:
        """Whether the step is one of those that are asked for; capitals do not count."""
        wanted = {value.lower() for value in self.values}
        if self.key == "":
            return any(value in _text(row) for value in wanted)
        return not wanted.isdisjoint(name.lower() for name in _named(row, self.key))


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter: a step is shown if it fits all the parts, and is in the slice where only that is wanted.

    A page is given as `decode/3`, or as `3` for the page of that label in every pool.
    """

    parts: tuple[Part, ...] = ()
    guilty: bool = False
    folded: bool = False

    @property
    def filters(self) -> bool:
        """Whether it leaves steps out on purpose."""
        return bool(self.parts or self.guilty)

    def fits(self, row: Row) -> bool:
        """Whether the step is one of those that are asked for."""
        return all(part.fits(row) for part in self.parts) and (row.guilty or not self.guilty)

    def shows(self, pool: str, page: str) -> bool:
        """Whether a page is one of those that are asked for, or none is."""
        names = {page.lower(), f"{pool}/{page}".lower()}
        return all(names & {value.lower() for value in part.values} for part in self.parts if part.key == "page")

    def words(self) -> str:
        """The filter as a line that `parse` understands, where it came from one."""
        heads = [(f"{part.key}=" if part.key else "", value) for part in self.parts for value in part.values]
        texts = [f'{head}"{value}"' if " " in value else f"{head}{value}" for head, value in heads]
        return " ".join(texts)


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are not shown, one after the other."""

    first: int
    last: int


def parse(text: str) -> Choice:
    """The choice that a line of the filter language stands for; every part of it must fit.

    An unknown key is a word like any other; what has blanks stands between quotes.

    >>> [(part.key, *part.values) for part in parse('lane=decode "is read" page="a b"').parts]
    [('lane', 'decode'), ('', 'is read'), ('page', 'a b')]
    """
    found = [(match[1] or "", match[2] if match[2] is not None else match[3]) for match in _PART.finditer(text)]
    return Choice(tuple(Part(key.lower(), (value,)) for key, value in found if value))


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


def _named(row: Row, key: str) -> Iterator[str]:
    """What a step has under a key of the filter."""
    if key == "lane":
        yield row.lane
    elif key == "request":
        yield from row.requests
    for page in row.pages if key == "page" else ():
        yield from (page.label, f"{page.pool}/{page.label}")


def _text(row: Row) -> str:
    """All that can be read of a step, in small letters."""
    changes = (f"{change.path}\n{change.old} -> {change.new}" for change in row.changes)
    notes = (note.text for note in row.notes)
    return "\n".join([row.lane, row.full, row.call, row.text, row.loc, *changes, *notes]).lower()
