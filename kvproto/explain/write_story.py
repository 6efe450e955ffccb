"""Telling about writes: one that landed late, and a page that was freed under one."""

from __future__ import annotations

from kvproto.explain.events import Flight, Kind, Page
from kvproto.explain.facts import Facts
from kvproto.explain.words import call, count, numbers, with_quote


def late_landing(facts: Facts) -> list[str]:
    """The verdict rests on a landing in a page that was not the request's own any more."""
    for step in facts.slice.deciders():
        for flight in facts.domain.flights:
            if flight.landed == step and flight.late and flight.target is not None:
                return _landed_late(facts, flight, flight.target, step)
    return []


def _landed_late(facts: Facts, flight: Flight, page: Page, landed: int) -> list[str]:
    who, now = flight.request, flight.owner
    whose = f"{now}'s" if now is not None else "nobody's"
    told = [
        f"At {facts.at(landed)} a write of {who} landed in {facts.pages([page], pool=True)},"
        f" which was {whose} by then."
    ]
    told += posting(facts, [flight])
    freed = facts.freed(page, who, flight.posted, landed)
    if freed is not None:
        told.append(given_back(facts, who, [page], freed, 1))
    if now is not None:
        got = facts.given(page, now, landed)
        if got is not None:
            told.append(
                f"{_at(facts, got)} gave the page to {now}; nothing made it wait until the write had landed."
            )
        told.append(consequence(facts, page, landed, now))
    if freed is not None:
        told += trigger(facts, freed, [flight.posted])
    return told


def consequence(facts: Facts, page: Page, landed: int, owner: str) -> str:
    """What the landing did to the page of its new owner."""
    before, after = facts.content(page, landed - 1), facts.content(page, landed)
    event = facts.domain.last(Kind.WRITTEN, page, landed)
    if before == owner and event is not None:
        own = f"what {owner} had written there at step {event.step}"
        return f"The landing replaced {own}: the page now holds {after}'s content."
    return f"From step {landed} on {owner} owns a page that holds {after}'s content."


def _at(facts: Facts, number: int) -> str:
    text = facts.at(number)
    return text[:1].upper() + text[1:]


def posting(facts: Facts, flights: list[Flight]) -> list[str]:
    """When writes were posted, and who owned their pages then."""
    first = flights[0]
    if first.posted == 0:
        return []
    owned = all(f.target is None or facts.owner(f.target, f.posted) == first.request for f in flights)
    what = "The write was" if len(flights) == 1 else f"The {len(flights)} writes were"
    page = "page" if len(flights) == 1 else "pages"
    while_ = (
        f"while {first.request} owned the {page}"
        if owned
        else f"toward {page} that {first.request} did not own"
    )
    posts = sorted({f.posted for f in flights})
    by = f"at step {posts[0]}, {call(facts.step(posts[0]))}," if len(posts) == 1 else f"at {numbers(posts)},"
    return [f"{what} posted {by} {while_}."]


def given_back(facts: Facts, who: str, pages: list[Page], freed: int, writes: int) -> str:
    """The step that gave pages back too early."""
    what = "the page" if len(pages) == 1 else facts.pages(pages)
    way = "its write" if writes == 1 else count(writes, "write")
    sentence = f"{who} lost {what} at step {freed}, {call(facts.step(freed))}, with {way} still under way"
    return with_quote(sentence, facts.step(freed).text)


def trigger(facts: Facts, freed: int, avoid: list[int]) -> list[str]:
    """What had led to the release."""
    edge = facts.cause(freed, avoid)
    if edge is None or edge.source >= freed:
        return []
    sentence = f"What led to step {freed} was step {edge.source}, {call(facts.step(edge.source))}"
    return [with_quote(sentence, facts.step(edge.source).text)]


def freed_under_write(facts: Facts) -> list[str]:
    """The verdict rests on pages that are not the request's while writes of it can still land there."""
    blamed = set(facts.trace.blame)
    hanging = [
        flight
        for flight in facts.domain.flights
        if flight.ended is None and flight.late and flight.target is not None
        if _touches(facts, flight.target, blamed)
    ]
    if not hanging:
        return []
    who = hanging[0].request
    mine = [flight for flight in hanging if flight.request == who]
    pages = [flight.target for flight in mine if flight.target is not None]
    owners = {flight.owner for flight in mine}
    owner = "nobody" if owners == {None} else " and ".join(sorted(o or "nobody" for o in owners))
    belong = "belongs" if len(pages) == 1 else "belong"
    them = "it" if len(pages) == 1 else "them"
    told = [
        f"After step {facts.end} {facts.pages(pages, pool=True)} {belong} to {owner} while"
        f" {count(len(mine), 'write')} of {who} toward {them} can still land."
    ]
    told += posting(facts, mine)
    freed = facts.freed(pages[0], who, mine[0].posted, facts.end + 1)
    if freed is not None:
        told.append(given_back(facts, who, pages, freed, len(mine)))
        told += trigger(facts, freed, [mine[0].posted])
    return told


def _touches(facts: Facts, page: Page, paths: set[str]) -> bool:
    view = facts.trace.vocabulary.pool(page.pool)
    return view is not None and view.owned(page.label) in paths
