"""An object's pin and its count are lowered by two paths, and its memory is freed while its key is in the index.

A look-up pins objects, the fetch counts them.  What is not needed is trimmed, which lowers the count; the loop at
the end unpins and lowers the count of all objects, trimmed ones too.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
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
    flag,
    init,
    invariant,
    leads_to,
    require,
)

Req = Sort("Req", labels="AB", doc="requests that look for the same object")


class Config(Params):
    """Who lowers what."""

    drops: bool = flag(True, "the last loop drops the count of what was fetched")
    trims_once: bool = flag(False, "the last loop leaves out what was trimmed", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request."""

    NEW = auto()
    PINNED = auto()
    FETCHED = auto()
    TRIMMED = auto()
    OVER = auto()


class State(Record):
    """The object: in the index from the start, with the count that the index holds."""

    phase: Array(Req, Phase)
    pins: Int(0, Req)
    count: Int(0, Req + 1)
    indexed: Bool
    freed: Bool
    invalid_hit: Bool


cache = Machine("cache", "looks up, fetches, trims, lets go")


@init
def cached(s):
    """The object lies in the cache; the index counts for one."""
    s.indexed = True
    s.count = 1


def let_go(s):
    """Nobody pins and nobody counts: the memory is released."""
    if s.pins == 0 and s.count == 0:
        s.freed = True


@action(cache, fair="weak")
def look_up(s, r: Req):
    """Request {r} finds the key in the index and pins the object."""
    require(s.phase[r] == Phase.NEW and s.indexed)
    if s.freed:
        s.invalid_hit = True
    s.pins += 1
    s.phase[r] = Phase.PINNED


@action(cache, fair="weak")
def fetch(s, r: Req):
    """Request {r} fetches the object, which adds a count."""
    require(s.phase[r] == Phase.PINNED)
    s.count = min(s.count + 1, len(Req) + 1)
    s.phase[r] = Phase.FETCHED


@action(cache)
def trim(s, r: Req):
    """Request {r} does not need the object: its count is dropped."""
    require(s.phase[r] == Phase.FETCHED and s.count > 0)
    s.count -= 1
    s.phase[r] = Phase.TRIMMED


@action(cache, fair="weak")
def end(s, r: Req):
    """The last loop of request {r} unpins the object and drops its count."""
    require(s.phase[r] in (Phase.FETCHED, Phase.TRIMMED))
    s.pins -= 1
    if cfg.drops and s.count > 0 and not (cfg.trims_once and s.phase[r] == Phase.TRIMMED):
        s.count -= 1
    s.phase[r] = Phase.OVER
    let_go(s)


@action(cache)
def evict(s):
    """The object leaves the index, and its count with it."""
    require(s.indexed and s.pins == 0 and s.count > 0)
    s.indexed = False
    s.count -= 1
    let_go(s)


@invariant("what is in the index is there")
def indexed_is_live(s):
    """The next request that hits the key gets an invalid object."""
    return not (s.indexed and s.freed)


@invariant("no request finds what is freed")
def hits_are_valid(s):
    """What comes of it."""
    return not s.invalid_hit


@leads_to("an object that has left the index is freed")
def evicted_is_freed(s):
    """A count that is never dropped keeps the memory."""
    return not s.indexed, s.freed


@invariant("what is pinned stays in the index")
def pinned_stays(s):
    """That is what a pin is for."""
    return s.indexed or s.pins == 0


model = Model(
    "patterns.pin_and_count",
    "a pin and a count are dropped twice",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "trimmed, and dropped again", expect={"indexed_is_live": 4, "hits_are_valid": 5}),
        Preset(
            "never-dropped", "the loop only unpins", expect={"evicted_is_freed": None}, trims_once=True, drops=False
        ),
        Preset("fixed", "each dropped once", expect={}, trims_once=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    reports=[Report("LMCache/LMCache#2772", "LMCache", Mechanism.DOUBLE_OWNER)],
)
