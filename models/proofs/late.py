"""Late writes: a request ends while writes to its pages are under way, and the pages go to another one.

A posted write cannot be recalled.  It may land more than once, for a transport that resubmits leaves copies behind.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Flights,
    Machine,
    Model,
    Opt,
    Params,
    Pool,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    flag,
    invariant,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests")
Page = Sort("Page", doc="pages of the decode pool")


class Config(Params):
    """What a preset fixes."""

    deferred_release: bool = flag(
        True, "pages of an aborted request are held until writes to them have landed", kind="mitigation"
    )
    waits_for_copies: bool = flag(
        True, "a transfer is complete when no copy of its writes is left, not when each has landed", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    SENDING = auto()
    READING = auto()
    ABORTED = auto()
    OVER = auto()


class State(Record):
    """One decode pool and the writes under way to it."""

    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))  # who wrote it last; stays when the page is freed
    flying: Array(Req, Set(Page))  # posted, and a copy at least has not landed
    landed: Array(Req, Set(Page))  # where a write of the request has landed


decode = Machine("decode", "lends pages, reads them, frees them")
prefill = Machine("prefill", "posts writes")
network = Machine("network", "lands posted writes, in any order, and copies of them")


def drained(s, r):
    """Whether nothing of the request is under way."""
    return not any(p in s.flying[r] for p in Page)


def free(s, r):
    """All pages of the request are free, with what is in them."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


@action(decode)
def reserve(s, r: Req, wanted: Set(Page)):
    """Decode lends the free pages {wanted} to request {r}."""
    require(s.phase[r] == Phase.NEW)
    require(any(p in wanted for p in Page))
    require(all(s.owner[p] is None for p in Page if p in wanted))
    for p in Page:
        if p in wanted:
            s.owner[p] = r
    s.phase[r] = Phase.SENDING


@action(prefill)
def post(s, r: Req, p: Page):
    """Prefill posts a write to page {p} of request {r}."""
    require(s.phase[r] == Phase.SENDING and s.owner[p] == r)
    s.flying[r].add(p)


@action(network)
def land(s, r: Req, p: Page, again: Bool):
    """The write of request {r} to page {p} lands, whatever became of the request; a copy of it may be left."""
    require(p in s.flying[r])
    s.content[p] = r
    s.landed[r].add(p)
    if not again:
        s.flying[r].discard(p)


@action(decode)
def complete(s, r: Req):
    """Every page of request {r} is written: decode reads them."""
    require(s.phase[r] == Phase.SENDING)
    require(all(p in s.landed[r] for p in Page if s.owner[p] == r))
    require(drained(s, r) or not cfg.waits_for_copies)
    s.phase[r] = Phase.READING


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; its pages are free."""
    require(s.phase[r] == Phase.READING)
    free(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted; prefill posts nothing more for it."""
    require(s.phase[r] == Phase.SENDING)
    s.phase[r] = Phase.ABORTED
    if not cfg.deferred_release:
        free(s, r)


@action(decode)
def release(s, r: Req):
    """The last write of aborted request {r} has landed; its pages are free."""
    require(cfg.deferred_release and s.phase[r] == Phase.ABORTED and drained(s, r))
    free(s, r)
    s.phase[r] = Phase.OVER


@invariant("a request reads only what it wrote last itself")
def reads_own(s):
    """Otherwise the answer is computed from another request's data."""
    return all(s.content[p] == r for r in Req for p in Page if s.phase[r] == Phase.READING and s.owner[p] == r)


@invariant("every write under way is to a page that its request still has")
def no_late_write(s):
    """Whoever has the page next loses what it writes there."""
    return all(s.owner[p] == r for r in Req for p in Page if p in s.flying[r])


@sometimes("a request reads")
def read(s):
    """Refusing everything would be safe."""
    return any(s.phase[r] == Phase.READING and s.owner[p] == r for r in Req for p in Page)


@sometimes("a page goes from one request to another, with what is in it")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(s.owner[p] == r and s.content[p] == q for r in Req for q in Req for p in Page if q != r)


@sometimes("a request ends while a write is under way")
def ends_early(s):
    """Without that there would be no late write to guard against."""
    return any(s.phase[r] == Phase.ABORTED and p in s.flying[r] for r in Req for p in Page)


model = Model(
    "proofs.late",
    "late writes: pages of requests that end while writes are under way",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("deferred", "held until drained, without a limit of time", expect={}),
        Preset("at-once", "freed at once", expect={"no_late_write": 3, "reads_own": 8}, deferred_release=False),
        Preset(
            "copies-ignored",
            "complete when each write has landed, though a copy may be left",
            expect={"no_late_write": 5, "reads_own": 10},
            waits_for_copies=False,
        ),
    ],
    scopes=[
        Scope("small", "2 requests, 1 page", Req=2, Page=1),
        Scope("pages", "2 requests, 2 pages", Req=2, Page=2),
        Scope("three", "3 requests, 2 pages", Req=3, Page=2),
    ],
    pools=[Pool("decode", Page, owner="owner", content="content")],
    flights=[Flights("flying")],
)
