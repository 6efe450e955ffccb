"""Domain edges: what happened to pages, and to writes between being posted and landing.

Everything here follows from the trace's vocabulary (which variables are pools and flights) and its deltas; a
model that declares neither yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from kvproto.explain.slice import START, written
from kvproto.trace.trace import FlightView, State, Step, Trace, Value


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
    """At `step` the page was given to, freed by, or filled with content of `request`, or cleared."""

    step: int
    page: Page
    kind: Kind
    request: str


@dataclass(frozen=True, slots=True)
class Flight:
    """A write from its posting to its landing (None while it is still under way, or when it was dropped).

    `owner` and `source_owner` are the owners of the two pages when it landed (not yet landed: at the end);
    `late` says that the target was not the request's own any more, `source_late` the same of the source.
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

    @property
    def name(self) -> str:
        """Unique among the writes of a trace: request, position, posting step."""
        return f"{self.request}/{self.position}@{self.posted}"


@dataclass(frozen=True, slots=True)
class PageRead:
    """At `step` the content of a page was read; step `written` had put it there.

    `reader` is the one request among the step's arguments; for a step with none or several, and for the
    verdict, it is the owner.
    """

    step: int
    page: Page
    reader: str | None
    owner: str | None
    content: str | None
    written: int

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

    def last(self, kind: Kind, page: Page, before: int, request: str | None = None) -> PageEvent | None:
        """The last such event of the page before a step (of that request)."""
        for event in reversed(self.events):
            here = event.step < before and event.page == page and event.kind is kind
            if here and (request is None or event.request == request):
                return event
        return None

    def landing(self, step: int, page: Page) -> Flight | None:
        """The flight that landed in the page at that step."""
        return next((f for f in self.flights if f.landed == step and f.target == page), None)


def name_of(value: Value) -> str | None:
    """A request as the value of an owner or content variable; None for nobody."""
    return None if value is None else str(value)


def domain_edges(trace: Trace) -> Domain:
    """Page events, flights and page reads of a trace."""
    states = list(trace.states())
    flights = tuple(sorted(_flights(trace, states), key=_by_posting))
    return Domain(tuple(_events(trace, states)), flights, tuple(_reads(trace, states)))


def _by_posting(flight: Flight) -> tuple[int, str, int, str]:
    return flight.posted, flight.request, len(flight.position), flight.position


def _pages(trace: Trace) -> Iterator[tuple[Page, str, str]]:
    """Every page with the paths of its owner and its content."""
    for pool in trace.vocabulary.pools:
        for label in pool.pages:
            yield Page(pool.name, label), f"{pool.owner}[{label}]", f"{pool.content}[{label}]"


def _events(trace: Trace, states: list[State]) -> Iterator[PageEvent]:
    for number, step in enumerate(trace.steps, 1):
        before, after = states[number - 1], states[number]
        touched = set(written(step))
        for page, owner, content in _pages(trace):
            old, new = name_of(before.get(owner)), name_of(after.get(owner))
            if old != new and old is not None:
                yield PageEvent(number, page, Kind.FREED, old)
            if old != new and new is not None:
                yield PageEvent(number, page, Kind.GIVEN, new)
            if content in touched:
                filled = name_of(after.get(content))
                if filled is not None:
                    yield PageEvent(number, page, Kind.WRITTEN, filled)
                elif before.get(content) is not None:
                    yield PageEvent(number, page, Kind.CLEARED, name_of(before.get(content)) or "")


def requests_of(trace: Trace, states: list[State]) -> frozenset[str]:
    """Every name that is used as one of a request: in the vocabulary, or as owner or content of a page."""
    paths = [path for _, owner, content in _pages(trace) for path in (owner, content)]
    seen = {name_of(state.get(path)) for state in states for path in paths}
    named = {request for view in trace.vocabulary.flights for request in view.requests}
    return frozenset(named | {name for name in seen if name is not None})


def _reader(step: Step, requests: frozenset[str]) -> str | None:
    """The request that a step is about; numbers do not count, they may as well be pages."""
    named = {str(v) for v in step.args.values() if isinstance(v, str) and v in requests}
    return named.pop() if len(named) == 1 else None


def _reads(trace: Trace, states: list[State]) -> Iterator[PageRead]:
    """Reads of content variables by steps and by the verdict."""
    writer: dict[str, int] = {}
    paths = {content: (page, owner) for page, owner, content in _pages(trace)}
    requests = requests_of(trace, states)
    for number in range(1, len(trace.steps) + 2):
        last = number > len(trace.steps)
        state = states[number - 1]
        for path in dict.fromkeys(trace.blame if last else trace.steps[number - 1].reads):
            if path in paths:
                page, owner = paths[path]
                holder, content = name_of(state.get(owner)), name_of(state.get(path))
                reader = holder if last else _reader(trace.steps[number - 1], requests) or holder
                yield PageRead(number, page, reader, holder, content, writer.get(path, START))
        if not last:
            writer |= dict.fromkeys(written(trace.steps[number - 1]), number)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Finds which pool a page number belongs to, which a flight does not say."""

    trace: Trace
    states: list[State]

    def page(self, path: str, value: Value, request: str, at: int, *, content_of: Step | None) -> Page | None:
        """The page that `value` of variable `path` means, as seen before step `at` (1-based).

        In order of trust: the pool whose content the landing step touched; the pool whose owner was set by
        the step that stored the page number; the last pool in which the page is the request's.
        """
        if value is None:
            return None
        label = str(value)
        pools = [pool for pool in self.trace.vocabulary.pools if label in pool.pages]
        touched = set(written(content_of)) if content_of else set()
        stored = self._stored_with(path, at)
        for pool in pools:
            if f"{pool.content}[{label}]" in touched:
                return Page(pool.name, label)
        for pool in pools:
            if f"{pool.owner}[{label}]" in stored:
                return Page(pool.name, label)
        owned = [p for p in pools if name_of(self.states[at - 1].get(f"{p.owner}[{label}]")) == request]
        found = (owned or pools)[-1:]
        return Page(found[0].name, label) if found else None

    def _stored_with(self, path: str, at: int) -> set[str]:
        """What the last step before `at` that changed `path` changed together with it."""
        for step in reversed(self.trace.steps[: at - 1]):
            if path in step.delta:
                return set(step.delta)
        return set()


def _flights(trace: Trace, states: list[State]) -> Iterator[Flight]:
    lookup = _Lookup(trace, states)
    for view in trace.vocabulary.flights:
        for request in view.requests:
            path = _fill(view.field, request, "")
            yield from _of_request(lookup, view, request, path)


def _of_request(lookup: _Lookup, view: FlightView, request: str, path: str) -> Iterator[Flight]:
    posted: dict[str, int] = dict.fromkeys(_members(lookup.states[0].get(path)), START)
    for number in range(1, len(lookup.states)):
        now = _members(lookup.states[number].get(path))
        for position in [p for p in posted if p not in now]:
            yield _flight(lookup, view, request, position, posted.pop(position), number)
        for position in now:
            posted.setdefault(position, number)
    for position, start in posted.items():
        yield _flight(lookup, view, request, position, start, None)


def _flight(
    lookup: _Lookup, view: FlightView, request: str, position: str, posted: int, ended: int | None
) -> Flight:
    at = ended if ended is not None else len(lookup.states)
    state: Mapping[str, Value] = lookup.states[at - 1]
    step = lookup.trace.steps[ended - 1] if ended is not None else None
    target_path = _fill(view.target, request, position)
    number = state.get(target_path) if view.target else position
    target = lookup.page(target_path, number, request, at, content_of=step)
    source_path = _fill(view.source, request, position)
    source = lookup.page(source_path, state.get(source_path), request, at, content_of=None)
    owner, source_owner = _owner(lookup.trace, state, target), _owner(lookup.trace, state, source)
    touched = step is not None and target is not None and _content(lookup.trace, target) in written(step)
    return Flight(
        request,
        position,
        posted,
        ended if touched else None,
        target,
        source,
        owner,
        source_owner,
        target is not None and owner != request,
        source is not None and source_owner != request,
        ended,
    )


def _fill(template: str, request: str, position: str) -> str:
    return template.replace("{r}", request).replace("{k}", position)


def _members(value: Value) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _owner(trace: Trace, state: Mapping[str, Value], page: Page | None) -> str | None:
    pool = next((p for p in trace.vocabulary.pools if page is not None and p.name == page.pool), None)
    return None if pool is None or page is None else name_of(state.get(f"{pool.owner}[{page.label}]"))


def _content(trace: Trace, page: Page) -> str:
    pool = next(p for p in trace.vocabulary.pools if p.name == page.pool)
    return f"{pool.content}[{page.label}]"
