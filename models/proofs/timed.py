"""Deferred release with a limit of time: decode frees the pages of an aborted request when it has waited long enough.

How long is enough depends on two times that decode cannot see: how long after the abort prefill may still start a write
(`delta`), and how long a write may live (`life`).  All three are numbers without a bound, and so is the time itself.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Flights,
    Int,
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
    init,
    invariant,
    number,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests")
Page = Sort("Page", doc="pages of the decode pool")


class Config(Params):
    """Times in ticks."""

    hold: int = number(2, "time for which decode holds the pages of an aborted request", least=0)
    delta: int = number(1, "longest time after an abort until prefill starts no write any more", least=0)
    life: int = number(1, "longest time that a write may land after its start", least=0)
    horizon: int = number(4, "the time when we stop looking", least=1)
    enough: bool = flag(True, "hold is at least delta + life")
    abort_arrives: bool = flag(
        True, "prefill hears of the abort; else it may start a write at any time", kind="mitigation"
    )
    writes_end: bool = flag(True, "a write that has not landed in its life never does", kind="mitigation")
    strictly_after: bool = flag(
        True, "pages are free when more than hold has passed, not when hold has", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    SENDING = auto()
    READING = auto()
    ABORTED = auto()
    RELEASED = auto()  # aborted, and its pages are free
    OVER = auto()


class State(Record):
    """Of several writes of a request to a page only the last start counts: it may land when any of them may."""

    now: Int(0, Config.horizon)
    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))  # who wrote it last; stays when the page is freed
    lent: Array(Req, Set(Page))  # what the request was lent, given back or not
    flying: Array(Req, Set(Page))  # started, and a copy at least has not landed
    landed: Array(Req, Set(Page))  # where a write of the request has landed
    started: Array(Req, Array(Page, Int(0, Config.horizon)))  # the last start of a write
    aborted: Array(Req, Int(0, Config.horizon))  # the time of the abort


clock = Machine("clock", "lets time pass")
decode = Machine("decode", "lends pages, reads them, frees them")
prefill = Machine("prefill", "starts writes")
network = Machine("network", "lands writes, in any order, and copies of them")


def may_land(s, r, p):
    """Whether a write of the request may still land in the page."""
    return p in s.flying[r] and (s.now <= s.started[r][p] + cfg.life or not cfg.writes_end)


def free(s, r):
    """All pages of the request are free, with what is in them."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


@init
def times_fit(s):
    """What whoever sets the limit has to know."""
    s.now = 0
    require(cfg.hold >= cfg.delta + cfg.life or not cfg.enough)


@action(clock)
def tick(s, d: Int(1, Config.horizon)):
    """{d} ticks pass."""
    require(s.now + d <= cfg.horizon)
    s.now += d


@action(decode)
def reserve(s, r: Req, wanted: Set(Page)):
    """Decode lends the free pages {wanted} to request {r}."""
    require(s.phase[r] == Phase.NEW)
    require(any(p in wanted for p in Page))
    require(all(s.owner[p] is None for p in Page if p in wanted))
    for p in Page:
        if p in wanted:
            s.owner[p] = r
            s.lent[r].add(p)
    s.phase[r] = Phase.SENDING


@action(prefill)
def start(s, r: Req, p: Page):
    """Prefill starts a write to page {p}, which request {r} had when prefill last heard of it."""
    require(p in s.lent[r])
    late = s.now <= s.aborted[r] + cfg.delta or not cfg.abort_arrives
    require(s.phase[r] == Phase.SENDING or (s.phase[r] in (Phase.ABORTED, Phase.RELEASED) and late))
    s.flying[r].add(p)
    s.started[r][p] = s.now


@action(network)
def land(s, r: Req, p: Page, again: Bool):
    """A write of request {r} to page {p} lands, whatever became of the request; a copy of it may be left."""
    require(may_land(s, r, p))
    s.content[p] = r
    s.landed[r].add(p)
    if not again:
        s.flying[r].discard(p)


@action(decode)
def complete(s, r: Req):
    """Every page of request {r} is written, and nothing is under way: decode reads them."""
    require(s.phase[r] == Phase.SENDING)
    require(all(p in s.landed[r] for p in Page if s.owner[p] == r))
    require(not any(p in s.flying[r] for p in Page))
    s.phase[r] = Phase.READING


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; its pages are free."""
    require(s.phase[r] == Phase.READING)
    free(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted, and prefill is told."""
    require(s.phase[r] == Phase.SENDING)
    s.phase[r] = Phase.ABORTED
    s.aborted[r] = s.now


@action(decode)
def release(s, r: Req):
    """Decode has held the pages of aborted request {r} for long enough; they are free."""
    require(s.phase[r] == Phase.ABORTED and s.now >= s.aborted[r] + cfg.hold)
    require(s.now > s.aborted[r] + cfg.hold or not cfg.strictly_after)
    free(s, r)
    s.phase[r] = Phase.RELEASED


@invariant("a request reads only what it wrote last itself")
def reads_own(s):
    """Otherwise the answer is computed from another request's data."""
    return all(s.content[p] == r for r in Req for p in Page if s.phase[r] == Phase.READING and s.owner[p] == r)


@invariant("a write that may still land is to a page that its request still has")
def no_late_write(s):
    """Whoever has the page next loses what it writes there."""
    return all(s.owner[p] == r for r in Req for p in Page if may_land(s, r, p))


@sometimes("a request reads")
def read(s):
    """Refusing everything would be safe."""
    return any(s.phase[r] == Phase.READING and s.owner[p] == r for r in Req for p in Page)


@sometimes("a page of an aborted request goes to another one")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(
        s.phase[q] == Phase.RELEASED and p in s.lent[q] and s.owner[p] == r
        for r in Req
        for q in Req
        for p in Page
        if q != r
    )


@sometimes("a write is started after the abort, and may still land")
def starts_late(s):
    """Without that no limit of time would be too short."""
    return any(s.phase[r] == Phase.ABORTED and may_land(s, r, p) for r in Req for p in Page)


LATE = {"no_late_write": 6, "reads_own": 11}
ANY_TIME = {"no_late_write": 5, "reads_own": 10}

model = Model(
    "proofs.timed",
    "deferred release with a limit of time: how long is long enough",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("enough", "hold is at least delta + life", expect={}),
        Preset("short", "hold is one tick less", expect=LATE, enough=False, hold=1),
        Preset("at-the-limit", "pages are free as soon as hold has passed", expect=LATE, strictly_after=False),
        Preset("abort-lost", "prefill never hears of the abort", expect=ANY_TIME, abort_arrives=False),
        Preset("writes-stay", "a call that has ended leaves writes that live on", expect=ANY_TIME, writes_end=False),
    ],
    scopes=[Scope("small", "2 requests, 1 page, 4 ticks", Req=2, Page=1)],
    pools=[Pool("decode", Page, owner="owner", content="content")],
    flights=[Flights("flying")],
)
