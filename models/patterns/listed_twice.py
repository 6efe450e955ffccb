"""A page stands twice in the list of pages that a request gives back.

A page leaves the sliding window, is freed, and comes back to the same request for later tokens.  The record of what
is to be offloaded lists it twice, and when the offload is done it is put into the free list twice.  Two requests
get it.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually_always,
    flag,
    init,
    invariant,
    leads_to,
    require,
)

Req = Sort("Req", labels="ABC", doc="requests of one page")
MOST = 2


class Config(Params):
    """How a list of pages is given back."""

    each_once: bool = flag(False, "a page that is listed twice is given back once", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request."""

    NEW = auto()
    RUNS = auto()
    SLID = auto()
    AGAIN = auto()
    OVER = auto()


class State(Record):
    """One page; `free` counts how often it stands in the free list."""

    phase: Array(Req, Phase)
    free: Int(0, MOST)
    listed: Array(Req, Int(0, MOST))  # in the record of what is offloaded


engine = Machine("engine", "gives pages out, takes them back")


@init
def page_is_free(s):
    """The page stands in the free list once."""
    s.free = 1


@action(engine)
def start(s, r: Req):
    """Request {r} gets the page, and the record lists it."""
    require(s.phase[r] == Phase.NEW and s.free > 0)
    s.free -= 1
    s.listed[r] = 1
    s.phase[r] = Phase.RUNS


@action(engine)
def slide(s, r: Req):
    """The window of request {r} moves on, and the page is free."""
    require(s.phase[r] == Phase.RUNS and s.free < MOST)
    s.free += 1
    s.phase[r] = Phase.SLID


@action(engine)
def again(s, r: Req):
    """Request {r} needs a page for later tokens, and gets the same one."""
    require(s.phase[r] == Phase.SLID and s.free > 0)
    s.free -= 1
    s.listed[r] += 1
    s.phase[r] = Phase.AGAIN


@action(engine, fair="weak")
def finish(s, r: Req):
    """The offload of request {r} is done: what its record lists goes into the free list."""
    require(s.phase[r] in (Phase.RUNS, Phase.SLID, Phase.AGAIN))
    holds = s.phase[r] in (Phase.RUNS, Phase.AGAIN)
    times = s.listed[r] if not cfg.each_once and s.phase[r] == Phase.AGAIN else (1 if holds else 0)
    s.free = min(s.free + times, MOST)
    s.listed[r] = 0
    s.phase[r] = Phase.OVER


def holders(s):
    """How many requests have the page."""
    return len([r for r in Req if s.phase[r] in (Phase.RUNS, Phase.AGAIN)])


@invariant("no page has two owners")
def one_owner(s):
    """They overwrite each other's tokens."""
    return holders(s) <= 1


@invariant("a page is free or lent, and that once")
def accounted_once(s):
    """Before two requests get it, the free list holds it twice."""
    return holders(s) + s.free <= 1


@leads_to("a page that is lent comes back")
def comes_back(s):
    """Giving it back once must not be giving it back never."""
    return s.free == 0, s.free > 0


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What is over holds no page, and gets none."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.listed_twice",
    "a page that stands twice in a list is freed twice",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "freed as often as it is listed", expect={"one_owner": 6, "accounted_once": 4}),
        Preset("fixed", "freed once", expect={}, each_once=True),
    ],
    scopes=[Scope("small", "3 requests", Req=3)],
    reports=[Report("vllm-project/vllm#42571", "vLLM", Mechanism.DOUBLE_OWNER)],
)
