"""A page pool: pages are lent and come back, and their bytes stay when the owner goes."""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bag,
    Bool,
    Machine,
    Model,
    Opt,
    Params,
    Pool,
    Preset,
    Record,
    Scope,
    Sort,
    action,
    flag,
    init,
    invariant,
    require,
)

Req = Sort("Req", labels="ABC", doc="requests of one page each")
Page = Sort("Page", doc="pages of the pool")

MOST_COPIES = 2
"""A page is freed twice at most: by the path that ends its request, and by the second one."""


class Config(Params):
    """What a preset fixes."""

    clears: bool = flag(True, "a page is cleared when it is lent", kind="mitigation")
    frees_once: bool = flag(
        True,
        "the path that frees a page takes it from the request, so that none frees it again",
        kind="mitigation",
    )
    frees_unwritten: bool = flag(
        True,
        "a request that ends before it has written gives its page back too",
        kind="mitigation",
    )
    writes_first: bool = flag(True, "a request reads only after it has written", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    HOLDS = auto()
    WRITTEN = auto()
    OVER = auto()


class State(Record):
    """The free list is a list and not a set: nothing in it says that a page stands there once."""

    phase: Array(Req, Phase)
    page: Array(Req, Opt(Page))
    free: Bag(Page, MOST_COPIES)
    owner: Array(Page, Opt(Req))  # who took it last and is not over
    content: Array(Page, Opt(Req))  # whose bytes it holds; None: cleared
    wrong_read: Bool  # a request has read a page that it did not write last


pool = Machine("pool", "lends the lowest free page")
request = Machine("request", "writes its page and reads it")


@init
def all_free(s):
    """Every page stands in the free list once."""
    for p in Page:
        s.free.add(p)


def give_back(s, r):
    """The page of `r` goes back to the free list."""
    page = s.page[r]
    if s.free.count(page) < MOST_COPIES:
        s.free.add(page)
    if cfg.frees_once:
        s.page[r] = None


@action(pool)
def lend(s, r: Req):
    """Request {r} gets the lowest free page."""
    require(s.phase[r] == Phase.NEW and len(s.free) > 0)
    page = next((p for p in Page if p in s.free), None)
    s.free.discard(page)
    s.page[r] = page
    s.owner[page] = r
    if cfg.clears:
        s.content[page] = None
    s.phase[r] = Phase.HOLDS


@action(request)
def write(s, r: Req):
    """Request {r} writes its page."""
    require(s.phase[r] == Phase.HOLDS)
    s.content[s.page[r]] = r
    s.phase[r] = Phase.WRITTEN


@action(request)
def read(s, r: Req):
    """Request {r} reads its page."""
    require(s.phase[r] == Phase.WRITTEN or (not cfg.writes_first and s.phase[r] == Phase.HOLDS))
    if s.content[s.page[r]] != r:
        s.wrong_read = True


@action(pool)
def end(s, r: Req):
    """Request {r} is over, written or not."""
    require(s.phase[r] in (Phase.HOLDS, Phase.WRITTEN))
    if s.owner[s.page[r]] == r:
        s.owner[s.page[r]] = None
    if cfg.frees_unwritten or s.phase[r] == Phase.WRITTEN:
        give_back(s, r)
    else:
        s.page[r] = None
    s.phase[r] = Phase.OVER


@action(pool)
def clean_up(s, r: Req):
    """The clean-up finds that request {r} is over and has a page, and frees it."""
    require(not cfg.frees_once and s.phase[r] == Phase.OVER and s.page[r] is not None)
    give_back(s, r)
    s.page[r] = None


def places(s, p):
    """How often page `p` is free or held by a request that is not over."""
    return s.free.count(p) + (1 if s.owner[p] is not None else 0)


@invariant("no page is lent or free twice")
def no_page_twice(s):
    """Two requests that hold one page overwrite each other, and both believe that it is theirs."""
    return all(places(s, p) <= 1 for p in Page)


@invariant("every page is free or lent")
def no_page_lost(s):
    """A page that nobody gives back is missing until the engine restarts."""
    return all(places(s, p) >= 1 for p in Page)


@invariant("a request reads only what it has written")
def reads_own(s):
    """Its page holds what the owner before it left there."""
    return not s.wrong_read


@invariant("a page that its owner has not written holds nobody else's bytes")
def bytes_end_with_the_owner(s):
    """Without clearing, only the order of write and read stands between a request and the bytes of another."""
    return all(s.content[s.page[r]] in (None, r) for r in Req if s.phase[r] == Phase.HOLDS)


model = Model(
    "blocks.page_pool",
    "a pool lends pages; their bytes stay when the owner goes",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset("double-free", "two paths free the page of one request: no_page_twice", frees_once=False),
        Preset("leak", "a request that ends early keeps its page: no_page_lost", frees_unwritten=False),
        Preset("reads-early", "read before written: reads_own", writes_first=False),
        Preset("not-cleared", "the next owner gets the bytes: bytes_end_with_the_owner", clears=False),
        Preset(
            "reads-leftovers",
            "not cleared and read before written: the reader gets another request's bytes",
            base="not-cleared",
            writes_first=False,
        ),
    ],
    scopes=[
        Scope("small", "2 requests, 1 page", Req=2, Page=1),
        Scope("three", "3 requests, 2 pages: a page that is free twice gets two owners", Req=3, Page=2),
    ],
    pools=[Pool("pool", Page, owner="owner", content="content")],
)
