"""Telling about a read of page content that was not the reader's own."""

from __future__ import annotations

from kvproto.explain.coverage import coverage, number_read
from kvproto.explain.events import Flight, Kind, Page, PageRead
from kvproto.explain.facts import Facts
from kvproto.explain.slice import START
from kvproto.explain.words import call, joined, numbers, with_quote
from kvproto.explain.write_story import before_release

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
    pages = _together(facts, reads, reader, number)
    got = [s for s in (facts.given(page, reader, number) for page in pages) if s is not None]
    if got and len(told) < 5 and not (len(pages) == 1 and _came_late(facts, reads[0])):
        told += _acquired(facts, pages, reader, number, got)
    if got:
        told += coverage(facts, pages, reader, number, min(got))
    told += _permission(facts, reader, number, got)
    return told


def _came_late(facts: Facts, read: PageRead) -> bool:
    """What was read is a late write, which is told together with how the reader got the page."""
    flight = facts.domain.landing(read.written, read.page, read.slice)
    return flight is not None and flight.late and flight.owner == read.reader


def _together(facts: Facts, reads: list[PageRead], reader: str, number: int) -> list[Page]:
    """The pages that were read; those that the reader got together with them too, if the verdict read only some."""
    pages = list(dict.fromkeys(read.page for read in reads))
    if number != facts.slice.verdict:
        return pages
    steps = {facts.given(page, reader, number) for page in pages}
    more = [e.page for e in facts.domain.events if e.kind is Kind.GIVEN and e.step in steps and e.request == reader]
    return list(dict.fromkeys([*(page for page in more if page.pool == pages[0].pool), *pages]))


def _what(facts: Facts, reads: list[PageRead], reader: str, number: int) -> str:
    verdict = number == facts.slice.verdict
    pages = facts.pages((r.page for r in reads), pool=True)
    parts = []
    for content in sorted(dict.fromkeys(r.content for r in reads), key=lambda c: (c is None, c != reader)):
        some = [r for r in reads if r.content == content]
        which = "it" if len(reads) == 1 else "all"
        if len(some) < len(reads):
            which = facts.parts(some)
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
        flight = facts.domain.landing(read.written, read.page, read.slice)
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
    sentence = f"{content} had written {facts.parts(reads)} at {numbers(writes - {START})}"
    steps = sorted(step for step in freed if step is not None)
    if len(steps) == 1:
        sentence += f" and given {them} back at step {steps[0]}, {call(facts.step(steps[0]))}"
    elif steps:
        sentence += f" and given {them} back at {numbers(steps)}"
    return [f"{sentence}; nobody has cleared or written {them} since."]


def _late(facts: Facts, flight: Flight, read: PageRead, reader: str) -> list[str]:
    page, who = read.page, flight.request
    freed = facts.lost(page, who, read.written)
    got = facts.given(page, flight.owner, read.written) if flight.owner is not None else None
    by = f", {call(facts.step(flight.posted))}," if flight.posted else ""
    sentence = (
        f"{who}'s write to {facts.pages([page])} was posted at step {flight.posted}{by}"
        f" and landed late, at step {read.written}"
    )
    lost = f"{who} had lost the page at step {freed}, {call(facts.step(freed))}" if freed is not None else ""
    gained = f"{flight.owner} had got it at step {got}" if got is not None else ""
    both = ", and ".join(filter(None, [lost, gained]))
    told = [f"{sentence}: {both}." if both else f"{sentence}."]
    replaced = facts.domain.last(Kind.WRITTEN, page, read.written, part=read.slice)
    if replaced is not None and facts.content(page, read.written - 1, read.slice) == reader:
        own = f"what {reader} itself had written to {facts.pages([page])} at step {replaced.step}"
        told.append(f"The late write replaced {own}.")
    return told + before_release(facts, flight, freed, read.written)


def _copied(facts: Facts, flight: Flight, read: PageRead, content: str) -> list[str]:
    """The write itself was the reader's, but its source page had been given to somebody else."""
    sentence = f"{flight.request}'s own write brought it into {facts.pages([read.page])}, at step {read.written}"
    source = flight.source
    if source is None:
        return [f"{sentence}."]
    filled = facts.domain.last(Kind.WRITTEN, source, read.written)
    where = f", from {facts.pages([source], pool=True)}"
    told = [f"{sentence}{where}" + (f", which {content} had filled at step {filled.step}." if filled else ".")]
    freed = facts.lost(source, flight.request, read.written)
    if freed is not None:
        got = facts.given(source, content, read.written)
        then = f"; {content} got it at step {got}" if got is not None else ""
        way = "still under way" if flight.posted < freed else "still to come"
        told.append(
            f"{flight.request} had lost this source page at step {freed}, {call(facts.step(freed))},"
            f" with the write (posted at step {flight.posted}) {way}{then}."
        )
    return told + before_release(facts, flight, freed, read.written)


def _acquired(facts: Facts, pages: list[Page], reader: str, number: int, got: list[int]) -> list[str]:
    """When the reader got its pages, and the number that it asked for if a variable says so."""
    steps = sorted(set(got))
    if len(steps) > 1:
        return [f"{reader} had got these pages at {numbers(steps)}."]
    step = steps[0]
    mine = [page for page in pages if facts.given(page, reader, number) == step]
    text = f"{reader} had got {facts.pages(mine)} at step {step}, {call(facts.step(step))}"
    asked = number_read(facts, step, reader, len(mine))
    if asked is not None and len(mine) > 1:
        text += f", for {asked.path} = {len(mine)} (set at step {asked.source})"
    return [f"{text}."]


def _permission(facts: Facts, reader: str, number: int, told: list[int]) -> list[str]:
    """The step that made the read possible, and the one of another machine behind it, if nothing was said of them."""
    if number == facts.slice.verdict:
        return []
    edge = facts.cause(number, told)
    if edge is None or f"[{reader}]" not in edge.path:
        return []
    sentence = f"What let the read happen was step {edge.source}, {call(facts.step(edge.source))}"
    said = [with_quote(sentence, facts.step(edge.source).text)]
    behind = facts.cause_elsewhere(edge.source, told)
    if behind is not None and facts.step(edge.source).lane == facts.step(number).lane:
        sentence = f"Behind it was step {behind}, {call(facts.step(behind))}"
        said.append(with_quote(sentence, facts.step(behind).text))
    return said
