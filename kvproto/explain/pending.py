"""Messages that had not arrived: elements of sets that one machine has put in and nobody has taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest

from kvproto.explain.events import Flight
from kvproto.explain.facts import Facts
from kvproto.explain.slice import START
from kvproto.explain.words import call

_INDEX = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class Pending:
    """Element `what` of the set `path`, there since step `since`."""

    path: str
    what: str
    since: int


def not_taken(facts: Facts, flight: Flight, until: int, end: int) -> list[str]:
    """The last thing that was put into a set of the write's request up to step `until`, and is there still at `end`.

    By another machine than the one that posted the write: a set whose elements come from one machine and are waited for
    by another is how a model writes a channel.  Channels of other ranks than the write's do not count.
    """
    lane = facts.step(flight.posted).lane
    found = [
        item
        for item in _lasting(facts, flight.request, until, end)
        if facts.step(item.since).lane != lane and not _elsewhere(facts, item.path, flight.way_path)
    ]
    if not found:
        return []
    item = max(found, key=lambda item: item.since)
    by = f"step {item.since}, {call(facts.step(item.since))},"
    return [f"{item.what}, which {by} had put into {item.path}, was still there at step {end}."]


def _elsewhere(facts: Facts, path: str, way: str) -> bool:
    """There is a variable like `path` with the very indices of the write's set, so that `path` is for another rank."""
    mine, theirs = _INDEX.findall(way), _INDEX.findall(path)
    if len(mine) != len(theirs) or mine == theirs:
        return False
    return "".join(chain.from_iterable(zip_longest(_INDEX.split(path), mine, fillvalue=""))) in facts.states[0]


def _lasting(facts: Facts, request: str, until: int, end: int) -> Iterator[Pending]:
    """Elements that are names, in a set of the request, from after step `until` at the latest until after `end`."""
    writes = {path for flight in facts.trace.vocabulary.flights for path in (flight.field, *flight.also)}
    flying = {path.replace("{r}", request) for path in writes}
    states = facts.states[until : end + 1]
    for path, value in states[0].items():
        if not isinstance(value, list) or f"[{request}]" not in path or path in flying:
            continue
        for item in value:
            held = [state[path] for state in states]
            if isinstance(item, str) and all(isinstance(values, list) and item in values for values in held):
                since = _since(facts, path, item, until)
                if since != START:
                    yield Pending(path, item, since)


def _since(facts: Facts, path: str, item: str, state: int) -> int:
    """The step that put the element in, of those that it has been there ever since."""
    while state > 0:
        before = facts.states[state - 1][path]
        if not isinstance(before, list) or item not in before:
            return state
        state -= 1
    return START
