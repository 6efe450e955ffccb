"""What a look-up has found is partly gone when it is fetched, and nobody compares.

A look-up says how much of a prompt is cached; pages are allocated, and the computation for them is skipped.  Before
the fetch something is evicted, or cannot be read.  The fetch brings less than was promised, and the pages that it
did not fill are used as they are.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Report,
    Scope,
    Set,
    action,
    eventually_always,
    flag,
    init,
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Page, Pages, Req, read, release


class Config(Params):
    """What stands between the two steps."""

    pinned: bool = flag(False, "what was found stays until it is fetched", kind="mitigation")
    compared: bool = flag(False, "pages that the fetch has not filled are computed", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request."""

    NEW = auto()
    FOUND = auto()
    FETCHED = auto()
    OVER = auto()


class State(Pages):
    """One request at a time has the pages; the cache has each page of its prompt, or not."""

    phase: Array(Req, Phase)
    cached: Array(Req, Set(Page))
    promised: Array(Req, Set(Page))


scheduler = Machine("scheduler", "looks up, allocates, runs")
cache = Machine("cache", "fetches, evicts")


@init
def all_cached(s):
    """Every prompt is in the cache."""
    for r in Req:
        for p in Page:
            s.cached[r].add(p)


@action(scheduler, fair="weak")
def look_up(s, r: Req):
    """The look-up for request {r} says what is cached; the rest is computed into its pages."""
    require(s.phase[r] == Phase.NEW and all(s.owner[p] is None for p in Page))
    s.promised[r] = set(s.cached[r])
    for p in Page:
        s.owner[p] = r
        if p not in s.cached[r]:
            s.content[p] = r
    s.phase[r] = Phase.FOUND


@action(cache)
def evict(s, r: Req, p: Page):
    """Page {p} of the prompt of request {r} is evicted, or cannot be read."""
    require(p in s.cached[r] and not (cfg.pinned and s.phase[r] == Phase.FOUND))
    s.cached[r].discard(p)


@action(cache, fair="weak")
def fetch(s, r: Req):
    """What is still cached for request {r} is fetched."""
    require(s.phase[r] == Phase.FOUND)
    for p in Page:
        if p in s.promised[r] and (p in s.cached[r] or cfg.compared):
            s.content[p] = r
    s.phase[r] = Phase.FETCHED


@action(scheduler, fair="weak")
def run(s, r: Req):
    """Request {r} runs on its pages, and is over."""
    require(s.phase[r] == Phase.FETCHED)
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has run is not looked up again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.lookup_then_get",
    "a fetch brings less than the look-up has promised",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "nobody compares", expect={"reads_own": 4}),
        Preset("fixed", "what is missing is computed", expect={}, compared=True),
        Preset("pinned", "what was found stays", expect={}, pinned=True),
    ],
    scopes=[Scope("small", "2 requests, 2 pages", Req=2, Page=2)],
    pools=[POOL],
    reports=[Report("LMCache/LMCache#1835", "LMCache", Mechanism.STATUS)],
)
