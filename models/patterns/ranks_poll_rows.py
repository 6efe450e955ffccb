"""Ranks agree that the pages have come, and each looks for its own metadata row.

All ranks reduce over one question: have the pages come?  Then each looks at a row of its own, which another write
fills.  One rank has its row and takes the request out of its queue, another has not and keeps it; from then on the
ranks' queues differ, and a reduction compares one request with another.
"""

from __future__ import annotations

from kvproto.lang import (
    Array,
    Bool,
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
    eventually,
    flag,
    init,
    invariant,
    require,
)

Req = Sort("Req", labels="AB", doc="requests, in the same order in every queue")
Rank = Sort("Rank", doc="ranks of decode")


class Config(Params):
    """What ranks agree on."""

    agree_on_rows: bool = flag(False, "the reduction is over pages and row together", kind="mitigation")


cfg = Config()


class State(Record):
    """Rows arrive one by one, on each rank by themselves; the pages have come."""

    row: Array(Rank, Array(Req, Bool))
    queued: Array(Rank, Array(Req, Bool))
    mixed: Bool  # a reduction has compared two requests


decode = Machine("decode", "polls, all ranks together")
network = Machine("network", "lands rows")


@init
def all_queued(s):
    """Every rank has every request in its queue."""
    for d in Rank:
        for r in Req:
            s.queued[d][r] = True


@action(network, fair="weak")
def land(s, d: Rank, r: Req):
    """The row of request {r} lands on rank {d}."""
    require(not s.row[d][r])
    s.row[d][r] = True


def first(s, d):
    """The request at the head of a rank's queue, or None."""
    return next((r for r in Req if s.queued[d][r]), None)


@action(decode, fair="weak")
def poll(s):
    """All ranks look at the heads of their queues at once."""
    require(any(s.queued[d][r] for d in Rank for r in Req))
    if any(first(s, d) != first(s, e) for d in Rank for e in Rank):
        s.mixed = True
    for r in Req:
        ready = all(s.row[d][r] for d in Rank)
        for d in Rank:
            if first(s, d) == r and s.row[d][r] and (ready or not cfg.agree_on_rows):
                s.queued[d][r] = False


@invariant("a reduction is over one request")
def reduces_one(s):
    """The ranks hang, or one takes the status of another request for its own."""
    return not s.mixed


@eventually("all queues are empty")
def all_polled(s):
    """A rank that waits for the others must not wait for ever."""
    return all(not s.queued[d][r] for d in Rank for r in Req)


model = Model(
    "patterns.ranks_poll_rows",
    "ranks agree on the pages and not on the row",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "each rank looks for its own row", expect={"reduces_one": 3}),
        Preset("fixed", "the row is part of what is agreed", expect={}, agree_on_rows=True),
    ],
    scopes=[Scope("small", "2 requests, 2 ranks", Req=2, Rank=2)],
    reports=[Report("sgl-project/sglang#26394", "SGLang", Mechanism.RANKS)],
)
