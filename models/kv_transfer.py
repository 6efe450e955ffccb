"""The benchmark protocol: requests reserve pages on decode, prefill posts writes, the network lands them.

One-shot requests, one pool.  Its state counts are known from four other model checkers, so it is the yardstick of the
engine, in size and in speed.  With `deferred_release` off it has the late-write bug: an aborted request gives
its pages back while writes toward them are still under way.
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
    number,
    require,
)

Req = Sort("Req", labels="ABCDEFGH", doc="requests")
Page = Sort("Page", doc="pages of the decode pool")


class Config(Params):
    """What a preset or a scope fixes."""

    deferred_release: bool = flag(True, "an aborted request keeps its pages until writes toward them have landed")
    pages_per_request: int = number(2, "pages that every request reserves", least=1)


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    RESERVED = auto()
    PREFILL = auto()
    TRANSFER = auto()
    DONE = auto()
    DECODING = auto()
    FINISHED = auto()
    ABORTED = auto()


class State(Record):
    """One decode pool and the writes under way toward it."""

    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    mark: Array(Page, Opt(Req))  # last writer; stays when the page is freed
    flying: Array(Req, Set(Page))  # posted, not yet landed
    stray: Bool  # some write landed in a page that belonged to another request


prefill = Machine("prefill", "computes the prompt and posts page writes")
network = Machine("network", "lands posted writes, in any order")
decode = Machine("decode", "owns the page pool and reads it")


def free_pages(s, r):
    """Give every page of `r` back; its content stays."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


@action(decode)
def reserve(s, r: Req):
    """Decode reserves the lowest-numbered free pages for request {r}."""
    require(s.phase[r] == Phase.NEW)
    require(sum(s.owner[p] is None for p in Page) >= cfg.pages_per_request)
    taken = 0
    for p in Page:
        if taken < cfg.pages_per_request and s.owner[p] is None:
            s.owner[p] = r
            taken += 1
    s.phase[r] = Phase.RESERVED


@action(prefill)
def start(s, r: Req):
    """Prefill computes the prompt of request {r}."""
    require(s.phase[r] == Phase.RESERVED)
    s.phase[r] = Phase.PREFILL


@action(prefill)
def post(s, r: Req):
    """Prefill posts one write to each page of request {r}."""
    require(s.phase[r] == Phase.PREFILL)
    s.flying[r] = {p for p in Page if s.owner[p] == r}
    s.phase[r] = Phase.TRANSFER


@action(network)
def land(s, r: Req, p: Page):
    """The write of request {r} to page {p} lands, whatever became of the request."""
    require(p in s.flying[r])
    if s.owner[p] not in (None, r):
        s.stray = True
    s.mark[p] = r
    s.flying[r].discard(p)


@action(prefill)
def complete(s, r: Req):
    """All writes of request {r} have landed: prefill reports success."""
    require(s.phase[r] == Phase.TRANSFER and not s.flying[r])
    s.phase[r] = Phase.DONE


@action(decode)
def attend(s, r: Req):
    """Decode reads the pages of request {r}."""
    require(s.phase[r] == Phase.DONE)
    s.phase[r] = Phase.DECODING


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; decode frees its pages."""
    require(s.phase[r] == Phase.DECODING)
    free_pages(s, r)
    s.phase[r] = Phase.FINISHED


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted; its pages are freed at once unless release is deferred and writes are under way."""
    require(s.phase[r] not in (Phase.FINISHED, Phase.ABORTED))
    if not (cfg.deferred_release and s.flying[r]):
        free_pages(s, r)
    s.phase[r] = Phase.ABORTED


@action(decode)
def release(s, r: Req):
    """The last write of aborted request {r} has landed; decode frees its pages."""
    require(cfg.deferred_release)
    require(s.phase[r] == Phase.ABORTED and not s.flying[r])
    require(any(s.owner[p] == r for p in Page))
    free_pages(s, r)


@invariant("a decoding request owns only pages that it wrote last")
def own_data(s):
    """Otherwise the answer is computed from somebody else's KV, or from none."""
    return all(s.mark[p] == r for r in Req for p in Page if s.phase[r] == Phase.DECODING and s.owner[p] == r)


@invariant("no write lands in a page that belongs to another request")
def no_stray(s):
    """A stray write silently replaces the KV of a request that did nothing wrong."""
    return not s.stray


model = Model(
    "kv_transfer",
    "KV-cache transfer between a prefill and a decode worker: the benchmark protocol",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("safe", "deferred release", deferred_release=True),
        Preset("vulnerable", "pages are freed at once on abort", deferred_release=False),
    ],
    scopes=[
        Scope("S", "3 requests, 6 pages, 2 each", Req=3, Page=6, pages_per_request=2),
        Scope("M", "4 requests, 6 pages, 3 each", Req=4, Page=6, pages_per_request=3),
        Scope("L", "5 requests, 6 pages, 3 each", Req=5, Page=6, pages_per_request=3),
        Scope("XL", "5 requests, 6 pages, 2 each", Req=5, Page=6, pages_per_request=2),
    ],
    pools=[Pool("decode", Page, owner="owner", content="mark")],
    flights=[Flights("flying")],
)
