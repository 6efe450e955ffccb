"""A prefix index: pages of prompts that are kept for the next request with the same beginning.

One prefix, one page.  A request finds it in the index, or computes it and puts it there.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Model,
    Opt,
    Params,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    flag,
    init,
    invariant,
    require,
)

Req = Sort("Req", labels="ABC", doc="requests whose prompts begin alike")
Page = Sort("Page", doc="pages of the pool")

FIND = "srt/mem_cache/radix_cache.py:RadixCache.match_prefix"
INSERT = "srt/mem_cache/radix_cache.py:RadixCache.insert"
EVICT = "srt/mem_cache/radix_cache.py:RadixCache.evict"
LOCK = "srt/mem_cache/radix_cache.py:RadixCache.inc_lock_ref"


class Config(Params):
    """What a preset fixes."""

    locks: bool = flag(
        True,
        "a request locks what it finds, and what is locked is not evicted",
        cites=LOCK,
        kind="mitigation",
    )
    unlocks_aborted: bool = flag(True, "an aborted request gives its lock back", kind="mitigation")
    publishes_computed: bool = flag(True, "a page enters the index after it has been computed", kind="mitigation")
    publishes_verified: bool = flag(True, "... and after it has been verified", kind="mitigation")
    corrupts: bool = flag(True, "what a request computes or is sent may be wrong", kind="environment")
    frees_duplicate: bool = flag(
        True,
        "a page whose prefix has come into the index meanwhile is freed",
        kind="mitigation",
    )


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    COMPUTES = auto()  # has a page of its own
    COMPUTED = auto()
    VERIFIED = auto()
    FOUND = auto()  # uses the page of the index
    OVER = auto()


class Bytes(Enum):
    """What is in a page."""

    NOTHING = auto()
    WRONG = auto()
    RIGHT = auto()


class State(Record):
    """A pool, and the index with its one entry."""

    phase: Array(Req, Phase)
    page: Array(Req, Opt(Page))  # the page that a request uses: its own, or that of the index
    free: Set(Page)
    entry: Opt(Page)  # the page of the prefix, if it is in the index
    locks: Set(Req)
    bytes: Array(Page, Bytes)
    empty_hit: Bool
    wrong_hit: Bool


index = Machine("index", "finds, keeps and evicts prefixes")
engine = Machine("engine", "computes, verifies and reads")


@init
def all_free(s):
    """Nothing is in the index."""
    for p in Page:
        s.free.add(p)


def lock(s, r):
    """Request `r` keeps the entry from being evicted."""
    if cfg.locks:
        s.locks.add(r)


def publish(s, r):
    """The page of `r` enters the index; if another one is there already, `r` goes on with that."""
    if s.entry is None:
        s.entry = s.page[r]
    elif s.entry != s.page[r]:
        if cfg.frees_duplicate:
            s.free.add(s.page[r])
        s.page[r] = s.entry
    lock(s, r)


@action(index, cites=FIND)
def find(s, r: Req):
    """Request {r} finds its prefix in the index."""
    require(s.phase[r] == Phase.NEW and s.entry is not None)
    s.page[r] = s.entry
    lock(s, r)
    s.phase[r] = Phase.FOUND


@action(engine)
def start(s, r: Req):
    """Request {r} does not find its prefix, and takes a page to compute it."""
    require(s.phase[r] == Phase.NEW and s.entry is None and s.free)
    page = next((p for p in Page if p in s.free), None)
    s.free.discard(page)
    s.bytes[page] = Bytes.NOTHING
    s.page[r] = page
    s.phase[r] = Phase.COMPUTES
    if not cfg.publishes_computed:
        publish(s, r)


@action(engine)
def compute(s, r: Req, wrong: Bool):
    """Request {r} has computed its page (`wrong`: or what looks like it)."""
    require(s.phase[r] == Phase.COMPUTES and (cfg.corrupts or not wrong))
    s.bytes[s.page[r]] = Bytes.WRONG if wrong else Bytes.RIGHT
    s.phase[r] = Phase.COMPUTED
    if not cfg.publishes_verified:
        publish(s, r)


def drop(s, r):
    """Request `r` is over; a page that only it knows is free."""
    if s.phase[r] in (Phase.COMPUTES, Phase.COMPUTED) and s.entry != s.page[r]:
        s.free.add(s.page[r])
    s.page[r] = None
    s.phase[r] = Phase.OVER


@action(engine, cites=INSERT)
def verify(s, r: Req):
    """The page of request {r} is looked at: right, and in the index, or the request is over."""
    require(s.phase[r] == Phase.COMPUTED)
    if s.bytes[s.page[r]] == Bytes.RIGHT:
        publish(s, r)
        s.phase[r] = Phase.VERIFIED
    else:
        s.locks.discard(r)
        drop(s, r)


@action(engine)
def read(s, r: Req):
    """Request {r} reads its prefix."""
    require(s.phase[r] in (Phase.FOUND, Phase.VERIFIED) and s.entry == s.page[r])
    if s.bytes[s.page[r]] == Bytes.NOTHING:
        s.empty_hit = True
    if s.bytes[s.page[r]] == Bytes.WRONG:
        s.wrong_hit = True


@action(engine)
def finish(s, r: Req):
    """Request {r} has its answer; its prefix stays in the index."""
    require(s.phase[r] in (Phase.FOUND, Phase.VERIFIED))
    s.locks.discard(r)
    drop(s, r)


@action(engine)
def abort(s, r: Req):
    """Request {r} is aborted."""
    require(s.phase[r] not in (Phase.NEW, Phase.OVER))
    if cfg.unlocks_aborted:
        s.locks.discard(r)
    drop(s, r)


@action(index, cites=EVICT)
def evict(s):
    """The pool is short of pages: what nobody has locked leaves the index."""
    require(s.entry is not None and not s.locks)
    s.free.add(s.entry)
    s.entry = None


@invariant("a request reads only prefixes that have been computed")
def hits_are_computed(s):
    """A page that is promised looks like one that is there."""
    return not s.empty_hit


@invariant("a request reads only prefixes that have been verified")
def hits_are_verified(s):
    """One wrong page in the index is wrong for everybody who comes later."""
    return not s.wrong_hit


@invariant("a prefix in use stays in the index")
def used_stays(s):
    """Else its page is lent to somebody else, and read on."""
    return all(s.page[r] == s.entry for r in Req if s.phase[r] in (Phase.FOUND, Phase.VERIFIED))


@invariant("only requests that are under way hold locks")
def locks_end(s):
    """A lock without a request is for ever, and the page with it."""
    return all(s.phase[r] not in (Phase.NEW, Phase.OVER) for r in s.locks)


@invariant("every page is free, in the index, or used by a request")
def no_page_lost(s):
    """Two requests may compute one prefix at a time, and only one of the pages is kept."""
    return all(p in s.free or s.entry == p or any(s.page[r] == p for r in Req) for p in Page)


model = Model(
    "blocks.prefix_index",
    "a prefix in an index: found, locked, evicted, published",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset(
            "published-early",
            "in the index when it is asked for, not when it is there: hits_are_computed",
            publishes_computed=False,
            corrupts=False,
        ),
        Preset(
            "published-unverified",
            "in the index before it is looked at: hits_are_verified",
            publishes_verified=False,
        ),
        Preset("not-locked", "evicted while it is read: used_stays", locks=False),
        Preset("lock-lost", "an aborted request keeps its lock: locks_end", unlocks_aborted=False),
        Preset("duplicate-lost", "the second page of one prefix is forgotten: no_page_lost", frees_duplicate=False),
    ],
    scopes=[
        Scope("small", "3 requests, 2 pages", Req=3, Page=2),
        Scope("two", "2 requests, 2 pages", Req=2, Page=2),
    ],
)
