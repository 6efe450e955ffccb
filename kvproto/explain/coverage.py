"""Telling how many of a request's pages its own writes reached, and why not all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvproto.explain.events import Kind, Page
from kvproto.explain.facts import Facts
from kvproto.explain.slice import START, Edge
from kvproto.explain.words import call, count, numbers, with_quote
from kvproto.trace.printable import shown


def number_read(facts: Facts, step: int, reader: str, amount: int) -> Edge | None:
    """A number variable of the reader that the step read and that equals the amount."""
    for edge in facts.slice.reads_of(step):
        value = facts.states[step - 1].get(edge.path)
        if f"[{reader}]" in edge.path and edge.source != START and type(value) is int and value == amount:
            return edge
    return None


def coverage(facts: Facts, pages: list[Page], reader: str, number: int, since: int) -> list[str]:
    """How many of the pages the reader's own writes reached, and from which step on that was settled."""
    if not facts.domain.flights:
        return []
    reached = {
        event.page: event.step
        for event in facts.domain.events
        if event.kind is Kind.WRITTEN and since <= event.step < number
        if event.page in pages and event.request == reader
    }
    posted = [f for f in facts.posted_for(reader, since, number) if f.target in pages]
    if len(reached) == len(pages):
        return []
    text = _reached(facts, pages, reader, reached)
    posts = sorted({f.posted for f in posted})
    if not posts:
        return [f"{text}: none was posted."]
    meant = {f.target for f in posted}
    if len(meant) < len(pages):
        by = f"step {posts[0]}, {call(facts.step(posts[0]))}, had posted {count(len(meant), 'write')}"
        parting = _parting(facts, reader, posts[0], len(meant), len(pages))
        return [f"{text}: {by} for {count(len(pages), 'page')}.", *parting]
    missing = [f for f in posted if f.landed is None or f.landed >= number]
    return [f"{text}; {count(len(missing), 'posted write')} had not landed yet."] if missing else []


def _reached(facts: Facts, pages: list[Page], reader: str, reached: Mapping[Page, int]) -> str:
    if len(pages) == 1:
        return f"No write of {reader} had reached {facts.pages(pages)}"
    what = f"{len(reached)} ({facts.pages(reached)}, at {numbers(reached.values())})" if reached else "none"
    return f"Of these {count(len(pages), 'page')} {reader}'s own writes had reached {what}"


def _parting(facts: Facts, reader: str, posted: int, amount: int, wanted: int) -> list[str]:
    """Where the two sides parted: the number that the posting step went by, or a flag raised on the way to it."""
    edge = number_read(facts, posted, reader, amount)
    if edge is not None and amount != wanted:
        sentence = f"Step {posted} went by {edge.path} = {amount}, set by {facts.at(edge.source)[:-1]}"
        return [with_quote(sentence, facts.step(edge.source).text)]
    return _flag_raised(facts, reader, posted)


def _flag_raised(facts: Facts, reader: str, posted: int) -> list[str]:
    """The flag of the reader that was raised on the way to posting too few writes."""
    past = facts.slice.past(posted)
    for number in sorted(past - {START}):
        step = facts.step(number)
        for path, (old, new) in step.delta.items():
            if old is False and new is True and f"[{reader}]" in path and _is_read(facts, path, number, past):
                sentence = f"The two sides parted at step {number}, when {call(step)} set {path} to {shown(new)}"
                return [with_quote(sentence, step.text)]
    return []


def _is_read(facts: Facts, path: str, number: int, steps: Iterable[int]) -> bool:
    return any(e.path == path and e.source == number and e.step in set(steps) for e in facts.slice.edges)
