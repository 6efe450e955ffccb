"""Prefill fails a request and does not tell decode, which waits until its time limit.

Decode holds a page and waits for bytes that will not come.  Under many aborts decode fills with dead requests, new
ones wait behind them, and are aborted for that.
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
    eventually,
    flag,
    leads_to,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Pages, Req, lend, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """Whom prefill tells."""

    told: bool = flag(False, "prefill tells decode of every failure", cites="#36612", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    WAITS = auto()
    OVER = auto()


class Source(Enum):
    """The same request on prefill."""

    IDLE = auto()
    SENT = auto()
    FAILED = auto()


class State(Pages, Push):
    """No time limits: they are the last resort, and hide that nobody was told."""

    phase: Array(Req, Phase)
    source: Array(Req, Source)
    notices: Set(Req)  # of failures, on their way to decode


decode = Machine("decode", "reserves and waits")
prefill = Machine("prefill", "sends or fails")


@action(decode, fair="weak")
def prealloc(s, r: Req):
    """Decode reserves the lowest free page for request {r}."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    s.phase[r] = Phase.WAITS


@action(prefill, fair="weak")
def send(s, r: Req):
    """Prefill sends request {r}."""
    require(s.phase[r] == Phase.WAITS and s.source[r] == Source.IDLE)
    post(s, r)
    s.source[r] = Source.SENT


@action(prefill)
def fail(s, r: Req):
    """Prefill aborts request {r}, or fails it, before anything is sent."""
    require(s.source[r] == Source.IDLE and s.phase[r] != Phase.OVER)
    s.source[r] = Source.FAILED
    if cfg.told:
        s.notices.add(r)


@action(decode, fair="weak")
def hear(s, r: Req):
    """Decode hears that request {r} has failed, and frees its page."""
    require(cfg.told and r in s.notices and s.phase[r] == Phase.WAITS)
    s.notices.discard(r)
    release(s, r)
    s.phase[r] = Phase.OVER


@action(decode, fair="weak")
def finish(s, r: Req):
    """The bytes of request {r} have come: it runs and is over."""
    require(s.phase[r] == Phase.WAITS and s.source[r] == Source.SENT and quiet(s, r))
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@leads_to("a request that waits for its bytes ends")
def waiting_ends(s, r: Req):
    """Without a time limit: what one side knows the other has to hear."""
    return s.phase[r] == Phase.WAITS, s.phase[r] == Phase.OVER


@eventually("every request has its turn")
def all_served(s):
    """One that waits for nothing keeps the others out."""
    return all(s.phase[r] == Phase.OVER for r in Req)


model = Model(
    "patterns.abort_not_told",
    "prefill fails a request, decode waits for it",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "nobody is told", expect={"pages_come_back": None, "waiting_ends": None, "all_served": None}),
        Preset("fixed", "decode is told", expect={}, told=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#28651", "SGLang", Mechanism.HANG)],
)
