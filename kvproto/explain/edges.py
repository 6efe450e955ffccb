"""Domain edges: what happened to pages, and to writes between being posted and landing.

Everything here follows from the trace's vocabulary (which variables are pools and flights) and its deltas; a
model that declares neither yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvproto.explain.events import Domain, Flight, Kind, Page, PageEvent, PageRead, name_of
from kvproto.explain.flights import Targets, flights_of
from kvproto.explain.slice import START, written
from kvproto.trace.trace import State, Step, Trace


def domain_edges(trace: Trace) -> Domain:
    """Page events, flights and page reads of a trace."""
    states = list(trace.states())
    flights = tuple(sorted(flights_of(trace, states), key=_by_posting))
    return Domain(tuple(_events(trace, states)), flights, tuple(_reads(trace, states)))


def _by_posting(flight: Flight) -> tuple[int, str, int, str, str]:
    return flight.posted, flight.request, len(flight.position), flight.position, flight.way


def _pages(trace: Trace) -> Iterator[tuple[Page, str, dict[str, str]]]:
    """Every page with the paths of its owner and of its content by slice."""
    for pool in trace.vocabulary.pools:
        for label in pool.pages:
            yield Page(pool.name, label), pool.owned(label), pool.contents(label)


def _events(trace: Trace, states: list[State]) -> Iterator[PageEvent]:
    for number, step in enumerate(trace.steps, 1):
        before, after = states[number - 1], states[number]
        touched = set(written(step))
        for page, owner, contents in _pages(trace):
            old, new = name_of(before.get(owner)), name_of(after.get(owner))
            if old != new and old is not None:
                yield PageEvent(number, page, Kind.FREED, old)
            if old != new and new is not None:
                yield PageEvent(number, page, Kind.GIVEN, new)
            for part, content in contents.items():
                if content not in touched:
                    continue
                was, filled = name_of(before.get(content)), name_of(after.get(content))
                if filled is not None:
                    yield PageEvent(number, page, Kind.WRITTEN, filled, part)
                elif was is not None:
                    yield PageEvent(number, page, Kind.CLEARED, was, part)


def requests_of(trace: Trace, states: list[State]) -> frozenset[str]:
    """Every name that is used as one of a request: in the vocabulary, or as owner or content of a page."""
    paths = [path for _, owner, contents in _pages(trace) for path in (owner, *contents.values())]
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
    paths = {path: (page, owner, part) for page, owner, parts in _pages(trace) for part, path in parts.items()}
    requests, targets = requests_of(trace, states), Targets(trace)
    for number in range(1, len(trace.steps) + 2):
        last = number > len(trace.steps)
        state = states[number - 1]
        for path in dict.fromkeys(trace.blame if last else trace.steps[number - 1].reads):
            if path in paths:
                page, owner, part = paths[path]
                holder, content = name_of(state.get(owner)), name_of(state.get(path))
                reader = holder if last else _reader(trace.steps[number - 1], requests) or holder
                if reader == holder or targets.has(reader, page, state):
                    yield PageRead(number, page, reader, holder, content, writer.get(path, START), part)
        if not last:
            writer |= dict.fromkeys(written(trace.steps[number - 1]), number)
