"""Telling about a read of page content that was not the reader's own."""

from __future__ import annotations

from collections.abc import Iterable

from kvproto.explain.events import Flight, Kind, Page, PageRead
from kvproto.explain.facts import Facts
from kvproto.explain.slice import START, Edge
from kvproto.explain.words import call, count, joined, numbers, with_quote
from kvproto.explain.write_story import trigger
from kvproto.trace.printable import shown

GROUPS = 2
"""Foreign writers told about; more would leave no room for the cause."""


def wrong_read(facts: Facts) -> list[str]:
    """The verdict, or a step that decided it, read pages whose content was not the reader's."""
    verdict = facts.slice.verdict
    for number in (verdict, *facts.slice.deciders()):
        reads = [r for r in facts.domain.reads if r.step == number and r.reader is not None]
        # A landing reads its source page in order to copy it, which is the business of the write.
        copied = {f.source for f in facts.domain.flights if f.landed == number}
        reads = [r for r in reads if r.page not in copied]
        wrong = sorted((r for r in reads if not r.own), key=lambda r: r.content is None)
        if wrong:
            group = [r for r in reads if r.reader == wrong[0].reader and r.page.pool == wrong[0].page.pool]
            return _tell(facts, group, wrong[0].reader or "", number)
    return []


def _tell(facts: Facts, reads: list[PageRead], reader: str, number: int) -> list[str]:
    told = [_what(facts, reads, reader, number)]
    foreign = dict.fromkeys(r.content for r in reads if r.content not in (None, reader))
    for content in list(foreign)[:GROUPS]:
        told += _origin(facts, [r for r in reads if r.content == content], content or "", reader)
    pages = [r.page for r in reads]
    got = [s for s in (facts.given(page, reader, number) for page in pages) if s is not None]
    if got and len(told) < 5:
        told += _acquired(facts, pages, reader, number, got)
    if got:
        told += _coverage(facts, pages, reader, number, min(got))
    told += _permission(facts, reader, number, got)
    return told


def _what(facts: Facts, reads: list[PageRead], reader: str, number: int) -> str:
    verdict = number == facts.slice.verdict
    pages = facts.pages((r.page for r in reads), pool=True)
    parts = []
    for content in sorted(dict.fromkeys(r.content for r in reads), key=lambda c: (c is None, c != reader)):
        some = [r for r in reads if r.content == content]
        which = "it" if len(reads) == 1 else "all"
        if len(some) < len(reads):
            which = facts.pages(r.page for r in some)
        parts.append(f"{which} {_held(some, content, verdict)}")
    if verdict:
        start = f"After step {facts.end} {reader} owns {pages}"
        return f"{start}, and the property looks inside: {joined(parts)}."
    was = "was" if len(reads) == 1 else "were"
    sentence = f"At {facts.at(number)} {pages} {was} read for {reader}: {joined(parts)}."
    return sentence + _not_owned(facts, reads)


def _not_owned(facts: Facts, reads: list[PageRead]) -> str:
    """A read of pages that are not the reader's (any more) is worth a remark of its own."""
    lost = [read for read in reads if read.owner != read.reader]
    if not lost:
        return ""
    owners = joined(sorted({read.owner or "nobody" for read in lost}))
    pages = "It" if len(reads) == 1 else facts.pages(read.page for read in lost).replace("page", "Page", 1)
    return f" {pages} belonged to {owners} by then."


def _held(reads: list[PageRead], content: str | None, now: bool) -> str:
    if content is not None:
        return f"{'holds' if now and len(reads) == 1 else 'hold' if now else 'held'} {content}'s content"
    cleared = [r.written for r in reads if r.written != START]
    if cleared:
        return f"had been empty since {numbers(cleared)}"
    return "had never been written"


def _origin(facts: Facts, reads: list[PageRead], content: str, reader: str) -> list[str]:
    """How content of another request came into the reader's pages: kept, written late, or copied."""
    kept: list[PageRead] = []
    for read in reads:
        flight = facts.domain.landing(read.written, read.page)
        if flight is not None and flight.request != content:
            return _copied(facts, flight, read, content)
        if flight is not None and flight.late:
            return _late(facts, flight, read, reader)
        kept.append(read)
    return _kept(facts, kept, content)


def _kept(facts: Facts, reads: list[PageRead], content: str) -> list[str]:
    pages = [r.page for r in reads]
    them = "it" if len(pages) == 1 else "them"
    writes = {r.written for r in reads}
    if writes == {START}:
        return [f"{content}'s content was in {facts.pages(pages)} from the start."]
    freed = {facts.freed(r.page, content, r.written, r.step) for r in reads}
    sentence = f"{content} had written {facts.pages(pages)} at {numbers(writes - {START})}"
    steps = sorted(step for step in freed if step is not None)
    if len(steps) == 1:
        sentence += f" and given {them} back at step {steps[0]}, {call(facts.step(steps[0]))}"
    elif steps:
        sentence += f" and given {them} back at {numbers(steps)}"
    return [f"{sentence}; nobody has cleared or written {them} since."]


def _late(facts: Facts, flight: Flight, read: PageRead, reader: str) -> list[str]:
    page, who = read.page, flight.request
    freed = facts.freed(page, who, flight.posted, read.written)
    got = facts.given(page, flight.owner, read.written) if flight.owner is not None else None
    sentence = (
        f"{who}'s write to {facts.pages([page])} was posted at step {flight.posted}"
        f" and landed late, at step {read.written}"
    )
    if freed is not None:
        sentence += f": {who} had lost the page at step {freed}, {call(facts.step(freed))}"
    if got is not None:
        sentence += f", and {flight.owner} had got it at step {got}"
    told = [f"{sentence}."]
    replaced = facts.domain.last(Kind.WRITTEN, page, read.written)
    if replaced is not None and facts.content(page, read.written - 1) == reader:
        own = f"what {reader} itself had written to {facts.pages([page])} at step {replaced.step}"
        told.append(f"The late write replaced {own}.")
    if freed is not None:
        told += trigger(facts, freed, [flight.posted])
    return told


def _copied(facts: Facts, flight: Flight, read: PageRead, content: str) -> list[str]:
    """The write itself was the reader's, but its source page had been given to somebody else."""
    sentence = (
        f"{flight.request}'s own write brought it into {facts.pages([read.page])}, at step {read.written}"
    )
    source = flight.source
    if source is None:
        return [f"{sentence}."]
    filled = facts.domain.last(Kind.WRITTEN, source, read.written)
    where = f", from {facts.pages([source], pool=True)}"
    told = [
        f"{sentence}{where}" + (f", which {content} had filled at step {filled.step}." if filled else ".")
    ]
    freed = facts.freed(source, flight.request, flight.posted, read.written)
    if freed is not None:
        got = facts.given(source, content, read.written)
        then = f"; {content} got it at step {got}" if got is not None else ""
        told.append(
            f"{flight.request} had lost this source page at step {freed}, {call(facts.step(freed))},"
            f" with the write (posted at step {flight.posted}) still under way{then}."
        )
        told += trigger(facts, freed, [flight.posted])
    return told


def _acquired(facts: Facts, pages: list[Page], reader: str, number: int, got: list[int]) -> list[str]:
    """When the reader got its pages, and the number that it asked for if a variable says so."""
    steps = sorted(set(got))
    if len(steps) > 1:
        return [f"{reader} had got these pages at {numbers(steps)}."]
    step = steps[0]
    mine = [page for page in pages if facts.given(page, reader, number) == step]
    text = f"{reader} had got {facts.pages(mine)} at step {step}, {call(facts.step(step))}"
    asked = _number_read(facts, step, reader, len(mine))
    if asked is not None and len(mine) > 1:
        text += f", for {asked.path} = {len(mine)} (set at step {asked.source})"
    return [f"{text}."]


def _number_read(facts: Facts, step: int, reader: str, amount: int) -> Edge | None:
    """A number variable of the reader that the step read and that equals the amount."""
    for edge in facts.slice.reads_of(step):
        value = facts.states[step - 1].get(edge.path)
        if f"[{reader}]" in edge.path and edge.source != START and type(value) is int and value == amount:
            return edge
    return None


def _coverage(facts: Facts, pages: list[Page], reader: str, number: int, since: int) -> list[str]:
    """How many of the pages the reader's own writes reached, and from which step on that was settled."""
    reached = {
        event.page: event.step
        for event in facts.domain.events
        if event.kind is Kind.WRITTEN and since <= event.step < number
        if event.page in pages and event.request == reader
    }
    posted = [f for f in facts.posted_for(reader, since, number) if f.target in pages]
    if len(reached) == len(pages) or not facts.domain.flights:
        return []
    what = "none"
    if reached:
        what = f"{len(reached)} ({facts.pages(reached)}, at {numbers(reached.values())})"
    text = f"Of these {count(len(pages), 'page')} {reader}'s own writes had reached {what}"
    posts = sorted({f.posted for f in posted})
    if not posts:
        return [f"{text}: none was posted."]
    if len(posted) < len(pages):
        by = f"step {posts[0]}, {call(facts.step(posts[0]))}, had posted {count(len(posted), 'write')}"
        return [f"{text}: {by} for {count(len(pages), 'page')}.", *_parting(facts, reader, posts[0])]
    missing = [f for f in posted if f.landed is None or f.landed >= number]
    return [f"{text}; {count(len(missing), 'posted write')} had not landed yet."] if missing else []


def _parting(facts: Facts, reader: str, posted: int) -> list[str]:
    """The flag of the reader that was raised on the way to posting too few writes."""
    past = facts.slice.past(posted)
    for number in sorted(past - {START}):
        step = facts.step(number)
        for path, (old, new) in step.delta.items():
            if old is False and new is True and f"[{reader}]" in path and _is_read(facts, path, number, past):
                sentence = (
                    f"The two sides parted at step {number}, when {call(step)} set {path} to {shown(new)}"
                )
                return [with_quote(sentence, step.text)]
    return []


def _is_read(facts: Facts, path: str, number: int, steps: Iterable[int]) -> bool:
    return any(e.path == path and e.source == number and e.step in set(steps) for e in facts.slice.edges)


def _permission(facts: Facts, reader: str, number: int, told: list[int]) -> list[str]:
    """The step that made the read possible, if nothing has been said about it."""
    if number == facts.slice.verdict:
        return []
    edge = facts.cause(number, told)
    if edge is None or f"[{reader}]" not in edge.path:
        return []
    sentence = f"What let the read happen was step {edge.source}, {call(facts.step(edge.source))}"
    return [with_quote(sentence, facts.step(edge.source).text)]
