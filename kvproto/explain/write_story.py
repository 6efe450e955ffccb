"""Telling about writes: landed late, with the wrong bytes, still under way, or a page that was freed under one."""

from __future__ import annotations

from kvproto.explain.events import Flight, Kind, Page
from kvproto.explain.facts import Facts
from kvproto.explain.pending import not_taken
from kvproto.explain.words import call, capital, count, numbers, with_quote


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
        f"At {facts.at(landed)} a write of {who} landed in {facts.pages([page], pool=True)}, which was {whose} by then."
    ]
    told += posting(facts, [flight])
    freed = facts.lost(page, who, landed)
    if freed is not None:
        told.append(given_back(facts, who, [page], freed, 1 if flight.posted < freed else 0))
    if now is not None:
        got = facts.given(page, now, landed)
        effect = consequence(facts, page, landed, now, flight.slice)
        gave = f"{facts.at(got)} gave the page to {now}; " if got else ""
        told.append(capital(f"{gave}{effect}."))
    return told + before_release(facts, flight, freed, landed)


def before_release(facts: Facts, flight: Flight, freed: int | None, end: int) -> list[str]:
    """What had led to the release of a page under (or before) a write, and what had not arrived by its end."""
    told = trigger(facts, freed, [flight.posted]) if freed is not None else []
    if flight.posted:
        told += not_taken(facts, flight, min(max(flight.posted, freed or 0), end), end)
    return told + (further(facts, freed, [flight.posted]) if freed is not None else [])


def consequence(facts: Facts, page: Page, landed: int, owner: str, part: str) -> str:
    """What the landing did to the page of its new owner."""
    before, after = facts.content(page, landed - 1, part), facts.content(page, landed, part)
    event = facts.domain.last(Kind.WRITTEN, page, landed, part=part)
    whose = f"{after}'s content" if after is not None else "nothing"
    if before == owner and event is not None:
        own = f"what {owner} had written there at step {event.step}"
        return f"the landing replaced {own}: the page now holds {whose}"
    return f"from step {landed} on {owner} owns a page that holds {whose}"


def wrong_source(facts: Facts) -> list[str]:
    """The verdict rests on a landing that brought what its request had not computed."""
    for step in facts.slice.deciders():
        for flight in facts.domain.flights:
            if flight.landed == step and flight.source is not None and flight.target is not None:
                brought = facts.content(flight.target, step, flight.slice)
                if brought != flight.request:
                    return _brought(facts, flight, flight.target, flight.source, brought)
    return []


def _brought(facts: Facts, flight: Flight, target: Page, source: Page, brought: str | None) -> list[str]:
    landed, who = flight.landed or 0, flight.request
    what = f"{brought}'s content" if brought is not None else "nothing"
    told = [
        f"At {facts.at(landed)} a write of {who} landed in {facts.pages([target], pool=True)}"
        f" and brought {what}, which its source, {facts.pages([source], pool=True)}, held by then."
    ]
    told += posting(facts, [flight], source=True)
    freed = facts.lost(source, who, landed)
    if freed is not None:
        told.append(given_back(facts, who, [source], freed, 1 if flight.posted < freed else 0))
    told += _refilled(facts, source, brought, freed or flight.posted, landed)
    return told + before_release(facts, flight, freed, landed)


def _refilled(facts: Facts, source: Page, brought: str | None, after: int, landed: int) -> list[str]:
    """How the source page came to hold what it holds."""
    if brought is None:
        cleared = facts.domain.last(Kind.CLEARED, source, landed)
        return [f"{capital(facts.at(cleared.step))} cleared it."] if cleared and cleared.step > after else []
    got = facts.given(source, brought, landed)
    filled = facts.domain.last(Kind.WRITTEN, source, landed, brought)
    if got is None or filled is None:
        return []
    if got == filled.step:
        return [f"{capital(facts.at(got))} gave it to {brought} and filled it."]
    return [f"{capital(facts.at(got))} gave it to {brought}, which filled it at step {filled.step}."]


def posting(facts: Facts, flights: list[Flight], *, source: bool = False) -> list[str]:
    """When writes were posted, who owned their pages then, and whether their call is over."""
    first = flights[0]
    if first.posted == 0:
        return []
    pages = [flight.source if source else flight.target for flight in flights]
    owned = all(p is None or facts.owner(p, f.posted) == first.request for p, f in zip(pages, flights, strict=True))
    what = "The write was" if len(flights) == 1 else f"The {len(flights)} writes were"
    page = ("source " if source else "") + ("page" if len(flights) == 1 else "pages")
    while_ = f"while {first.request} owned the {page}"
    if not owned:
        way, one = "from" if source else "toward", "a " if len(flights) == 1 else ""
        while_ = f"{way} {one}{page} that {first.request} did not own"
    posts = sorted({f.posted for f in flights})
    by = f"at step {posts[0]}, {call(facts.step(posts[0]))}," if len(posts) == 1 else f"at {numbers(posts)},"
    return [f"{what} posted {by} {while_}{_moved(facts, first)}."]


def _moved(facts: Facts, flight: Flight) -> str:
    """The step that put a write aside while it was still on its way."""
    if not flight.left:
        return ""
    step = flight.left[-1]
    return f"; step {step}, {call(facts.step(step))}, left it under way"


def given_back(facts: Facts, who: str, pages: list[Page], freed: int, writes: int) -> str:
    """The step that gave pages back too early."""
    what = "the page" if len(pages) == 1 else facts.pages(pages)
    sentence = f"{who} lost {what} at step {freed}, {call(facts.step(freed))}"
    if writes:
        sentence += f", with {'its write' if writes == 1 else count(writes, 'write')} still under way"
    return with_quote(sentence, facts.step(freed).text)


def trigger(facts: Facts, freed: int, avoid: list[int]) -> list[str]:
    """What had led to the release."""
    edge = facts.cause(freed, avoid)
    if edge is None or edge.source >= freed:
        return []
    sentence = f"What led to step {freed} was step {edge.source}, {call(facts.step(edge.source))}"
    return [with_quote(sentence, facts.step(edge.source).text)]


def further(facts: Facts, freed: int, avoid: list[int]) -> list[str]:
    """What had led to what led to the release: the first step of another machine behind it."""
    edge = facts.cause(freed, avoid)
    if edge is None or edge.source >= freed or facts.step(edge.source).lane != facts.step(freed).lane:
        return []
    step = facts.cause_elsewhere(edge.source, avoid)
    if step is None:
        return []
    sentence = f"Behind step {edge.source} was step {step}, {call(facts.step(step))}"
    return [with_quote(sentence, facts.step(step).text)]


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
    freed = facts.lost(pages[0], who, facts.end + 1)
    if freed is not None:
        told.append(given_back(facts, who, pages, freed, len(mine) if mine[0].posted < freed else 0))
    return told + before_release(facts, mine[0], freed, facts.end)


def still_flying(facts: Facts) -> tuple[list[str], list[str]]:
    """The verdict looks at writes that are still under way; what is told of them, and the sets that they are in."""
    blamed = set(facts.trace.blame)
    mine = [f for f in facts.domain.flights if f.ended is None and f.target is not None and f.way_path in blamed]
    if not mine:
        return [], []
    mine = [flight for flight in mine if flight.way_path == mine[0].way_path]
    pages = facts.pages((f.target for f in mine if f.target is not None), pool=True)
    what = f"a write of {mine[0].request}" if len(mine) == 1 else f"{len(mine)} writes of {mine[0].request}"
    told = [f"After step {facts.end} {what} toward {pages} {'is' if len(mine) == 1 else 'are'} still under way."]
    return told + posting(facts, mine), [mine[0].way_path]


def _touches(facts: Facts, page: Page, paths: set[str]) -> bool:
    view = facts.trace.vocabulary.pool(page.pool)
    return view is not None and view.owned(page.label) in paths
