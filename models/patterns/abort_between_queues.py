"""An abort takes a request out of a queue and leaves its pages behind.

Decode has a request's bytes, and the request waits for its place in the running batch.  An abort at that point
removes it from the queue; nobody frees its pages, since that is what the running batch does.
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
    action,
    eventually_always,
    flag,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Pages, Req, lend, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """What an abort does to a request that waits."""

    frees_waiting: bool = flag(False, "an abort frees the pages of a request that waits to run", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    RECEIVES = auto()
    WAITS = auto()
    RUNS = auto()
    OVER = auto()


class State(Pages, Push):
    """One page a request."""

    phase: Array(Req, Phase)


decode = Machine("decode", "queues, runs and aborts requests")


@action(decode)
def prealloc(s, r: Req):
    """Request {r} gets the lowest free page, and its bytes are on their way."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    post(s, r)
    s.phase[r] = Phase.RECEIVES


@action(decode, fair="weak")
def receive(s, r: Req):
    """Everything of request {r} has come: it waits to run."""
    require(s.phase[r] == Phase.RECEIVES and quiet(s, r))
    s.phase[r] = Phase.WAITS


@action(decode, fair="weak")
def run(s, r: Req):
    """Request {r} joins the running batch."""
    require(s.phase[r] == Phase.WAITS)
    read(s, r)
    s.phase[r] = Phase.RUNS


@action(decode, fair="weak")
def leave(s, r: Req):
    """Request {r} leaves the running batch, finished or aborted, and its page is free."""
    require(s.phase[r] == Phase.RUNS)
    release(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted while it waits."""
    require(s.phase[r] == Phase.WAITS)
    if cfg.frees_waiting:
        release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has ended takes no page and is not aborted again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.abort_between_queues",
    "a request that waits to run is aborted, its pages stay",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "only the running batch frees", expect={"pages_come_back": None}),
        Preset("fixed", "the abort frees", expect={}, frees_waiting=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#9817", "SGLang", Mechanism.LEAK)],
)
