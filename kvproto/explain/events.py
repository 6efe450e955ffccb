"""What can happen to pages and to writes between being posted and landing: the words of the domain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kvproto.trace.trace import Value


class Kind(Enum):
    """What can happen to a page."""

    GIVEN = "given"
    FREED = "freed"
    WRITTEN = "written"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True, order=True)
class Page:
    """A page by pool and label."""

    pool: str
    label: str


@dataclass(frozen=True, slots=True)
class PageEvent:
    """At `step` the page was given to, freed by, or (in a slice) filled with content of `request`, or cleared."""

    step: int
    page: Page
    kind: Kind
    request: str
    slice: str = ""


@dataclass(frozen=True, slots=True)
class Flight:
    """A write from its posting to its landing (None while it is still under way, or when it was dropped).

    `owner` and `source_owner` are the owners of the two pages when it landed (not yet landed: at the end);
    `late` says that the target was not the request's own any more, `source_late` the same of the source.
    `left` are the steps at which the write went from one set of writes to another; `way_path` is the set that it was
    in last, and `way` the same for names.
    """

    request: str
    position: str
    posted: int
    landed: int | None
    target: Page | None
    source: Page | None
    owner: str | None
    source_owner: str | None
    late: bool
    source_late: bool
    ended: int | None
    slice: str = ""
    left: tuple[int, ...] = ()
    way: str = ""
    way_path: str = ""

    @property
    def name(self) -> str:
        """Unique among the writes of a trace: request, position, posting step, and the sets it was in."""
        return f"{self.request}/{self.position}@{self.posted}{self.way}"


@dataclass(frozen=True, slots=True)
class PageRead:
    """At `step` the content of a page was read; step `written` had put it there.

    `reader` is the one request among the step's arguments; for a step with none or several, and for the
    verdict, it is the owner.  Pages that are neither the reader's nor a target of its writes are looked at by
    housekeeping only, and are no reads.
    """

    step: int
    page: Page
    reader: str | None
    owner: str | None
    content: str | None
    written: int
    slice: str = ""

    @property
    def own(self) -> bool:
        """What was read had been written by the reader."""
        return self.reader == self.content


@dataclass(frozen=True, slots=True)
class Domain:
    """All page events, flights and page reads of a trace in order of steps; the verdict's reads are last."""

    events: tuple[PageEvent, ...]
    flights: tuple[Flight, ...]
    reads: tuple[PageRead, ...]

    def last(
        self, kind: Kind, page: Page, before: int, request: str | None = None, part: str | None = None
    ) -> PageEvent | None:
        """The last such event of the page before a step (of that request, in that slice)."""
        for event in reversed(self.events):
            here = event.step < before and event.page == page and event.kind is kind
            if here and request in (None, event.request) and part in (None, event.slice):
                return event
        return None

    def landing(self, step: int, page: Page, part: str = "") -> Flight | None:
        """The flight that landed in the page (in that slice of it) at that step."""
        return next((f for f in self.flights if (f.landed, f.target, f.slice) == (step, page, part)), None)


def name_of(value: Value) -> str | None:
    """A request as the value of an owner or content variable; None for nobody."""
    return None if value is None else str(value)
