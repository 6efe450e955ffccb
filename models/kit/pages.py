"""Pages of one pool: who has them, and whose bytes they hold.

class State(Pages): ...
model = Model(..., properties=[pages], pools=[POOL])
"""

from __future__ import annotations

from kvproto.lang import Array, Bool, Opt, Pool, Record, Sort, invariant, leads_to, require

Req = Sort("Req", labels="ABC", doc="requests")
Page = Sort("Page", doc="pages of the pool")
POOL = Pool("pool", Page, owner="owner", content="content")


class Pages(Record):
    """Pages are not cleared between owners."""

    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))
    foreign: Bool  # a request has read what it had not written
    stray: Bool  # a write has landed in a page that was not its request's


def lowest_free(s):
    """The free page with the lowest number, or None."""
    return next((p for p in Page if s.owner[p] is None), None)


def holds(s, r):
    """Whether the request has a page."""
    return any(s.owner[p] == r for p in Page)


def lend(s, r):
    """The free page with the lowest number belongs to the request now; without one the step cannot happen."""
    page = lowest_free(s)
    require(page is not None)
    s.owner[page] = r


def release(s, r):
    """All pages of the request are free, with what is in them."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


def write(s, r, p):
    """Bytes of the request reach the page."""
    s.content[p] = r
    if s.owner[p] != r:
        s.stray = True


def read(s, r):
    """The request reads all its pages; one that has none reads what is not its own."""
    if not holds(s, r):
        s.foreign = True
    for p in Page:
        if s.owner[p] == r and s.content[p] != r:
            s.foreign = True


def carry(s, r, p):
    """What the page holds now is taken for the bytes of the request, whoever has the page by now."""
    if s.content[p] != r:
        s.foreign = True


def page_of(s, r):
    """The request's page with the lowest number, or None."""
    return next((p for p in Page if s.owner[p] == r), None)


@invariant("no page is read before its own request has written it")
def reads_own(s):
    """What is read instead belongs to another customer, or to nobody."""
    return not s.foreign


@leads_to("every page comes back")
def pages_come_back(s, p: Page):
    """A fix that keeps pages for ever trades a leak of data for a leak of memory."""
    return s.owner[p] is not None, s.owner[p] is None
