"""What every viewer draws of a trace, computed once: the page, the terminal, the exports only lay it out.

Steps are numbered from 1 and states from 0 (the initial one), as in the trace.  Everything here is made from the
trace alone, but for `excerpts`, `cites` (the model, where it is at hand) and `replayed` (a replay, where one was made).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvproto.explain import Edge, Flight, Page, PageRead
from kvproto.trace.trace import State, Trace, Value


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a sentence; `step` is the step that it names, where it names one."""

    text: str
    step: int | None = None


Sentence = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A variable, or a queue, bag or set as a whole, before and after a step, as text."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Link:
    """What an action cites: `text` as in the model; `url` is empty where there is no public place to point to."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of the model around an action: the first has number `first`, the action's own is `at`.

    `guards` are the lines of its guards.
    """

    file: str
    first: int
    at: int
    lines: tuple[str, ...]
    guards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """What is remarkable about a step, in few words; `kind` is `late`, `bytes`, `wrong`, `fault` or `turn`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A step as it is shown.

    `call` is short (`land(A,0)`), `full` has the names of the arguments.  `requests` and `pages` are what the step
    deals with, for filters: requests among its arguments, pages that it read, wrote, gave or freed.  `local` says
    that it exchanges nothing with another machine and is not in the slice.
    """

    number: int
    lane: str
    action: str
    call: str
    full: str
    text: str
    loc: str
    guilty: bool
    local: bool
    requests: tuple[str, ...]
    pages: tuple[Page, ...]
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """Something that one machine put somewhere and another took out, in the model's words.

    `taken` is None while nobody has; `taker` is then empty.
    """

    sent: int
    taken: int | None
    sender: str
    taker: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A page from state `since` on, until the next cell of the same page.

    `contents` are the last writers, by slice; `coming` are the requests of writes that are under way to it.
    `words` says it all, for those who hear the picture.  `stale` says that a slice is not its owner's.
    """

    since: int
    owner: str | None
    contents: tuple[str | None, ...]
    coming: tuple[str, ...]
    stale: bool
    words: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A page pool with the history of every page, in the order of `pages`."""

    name: str
    pages: tuple[str, ...]
    slices: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]

    def at(self, page: str, state: int) -> Cell:
        """The page in that state."""
        return [cell for cell in self.cells[self.pages.index(page)] if cell.since <= state][-1]


@dataclass(frozen=True, slots=True)
class Seen:
    """A page in an implementation: what its tensors hold, and whether that is what the model says."""

    page: Page
    text: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """The same steps on an implementation.

    `pages[n]` are the pages in state n, as far as it got.  `diverged` is the step at which the two parted (0: before
    the first) and `difference` how; None and "" if they never did.
    """

    implementation: str
    performed: int
    diverged: int | None
    difference: str
    pages: tuple[tuple[Seen, ...], ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A trace with everything derived from it.

    `facts` are the lines of the header in order (name, text); `commands` what to run next.  `requests` are the labels
    that own or write pages, in order of appearance: their place decides colour and hatch.  `shape` is the skeleton by
    which traces are clustered.  `ending` says how a run without end goes on.
    """

    trace: Trace
    title: str
    facts: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    why: tuple[Sentence, ...]
    whatif: tuple[Sentence, ...]
    lanes: tuple[str, ...]
    requests: tuple[str, ...]
    rows: tuple[Row, ...]
    states: tuple[State, ...]
    messages: tuple[Message, ...]
    flights: tuple[Flight, ...]
    reads: tuple[PageRead, ...]
    causes: tuple[Edge, ...]
    pools: tuple[Pool, ...]
    ending: str
    shape: str
    excerpts: Mapping[str, Excerpt]
    cites: Mapping[str, tuple[Link, ...]]
    replayed: Replayed | None

    def row(self, number: int) -> Row:
        """The step with that number, from 1."""
        return self.rows[number - 1]

    def value(self, path: str, state: int) -> Value:
        """A variable in a state."""
        return self.states[state].get(path)
