"""A push that waits for a handshake sends from a page that its request has lost meanwhile.

The bytes are ready, the handshake is not: a callback remembers the page and posts the write later.  The request's
lease ends in between, the page goes to another request, and its bytes reach the first one.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Report,
    Scope,
    action,
    eventually_always,
    flag,
    leads_to,
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Page, Pages, Req, carry, lowest_free, page_of, release


class Config(Params):
    """What the callback may look at, and what the lease waits for."""

    rechecks: bool = flag(
        False, "the write is refused if the request has lost its page, and decode is told", kind="mitigation"
    )
    held: bool = flag(False, "a lease does not end while a write is posted", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on prefill."""

    NEW = auto()
    READY = auto()
    POSTED = auto()
    SENT = auto()
    REFUSED = auto()


class State(Pages):
    """The pool is prefill's."""

    phase: Array(Req, Phase)
    remembered: Array(Req, Opt(Page))  # by the callback


prefill = Machine("prefill", "computes, leases pages, ends leases")
connector = Machine("connector", "shakes hands and posts writes")
network = Machine("network", "reads the source when it comes to it")


@action(prefill)
def compute(s, r: Req):
    """Prefill computes request {r} into the lowest free page; the write waits for the handshake."""
    page = lowest_free(s)
    require(s.phase[r] == Phase.NEW and page is not None)
    s.owner[page] = r
    s.content[page] = r
    s.remembered[r] = page
    s.phase[r] = Phase.READY


@action(prefill, fair="weak")
def expire(s, r: Req):
    """The lease of request {r} ends, or it is reported done: its page is free."""
    require(page_of(s, r) is not None and not (cfg.held and s.phase[r] == Phase.POSTED))
    release(s, r)


@action(connector, fair="weak")
def shake_hands(s, r: Req):
    """The handshake for request {r} is done, and the callback posts its write."""
    require(s.phase[r] == Phase.READY)
    if cfg.rechecks and page_of(s, r) is None:
        s.phase[r] = Phase.REFUSED
    else:
        s.phase[r] = Phase.POSTED


@action(network, fair="weak")
def send(s, r: Req):
    """The page that the callback of request {r} remembered is read and sent."""
    require(s.phase[r] == Phase.POSTED)
    carry(s, r, s.remembered[r])
    s.phase[r] = Phase.SENT


@leads_to("decode gets the bytes, or hears that it will not")
def decode_hears(s, r: Req):
    """A write that is refused in silence leaves decode waiting."""
    return s.phase[r] == Phase.READY, s.phase[r] in (Phase.SENT, Phase.REFUSED)


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has been sent, or refused, is not computed again."""
    return s.phase[r] in (Phase.NEW, Phase.SENT, Phase.REFUSED)


model = Model(
    "patterns.deferred_push",
    "a write that waited for a handshake is posted from a page that was given away",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "the callback asks nobody", expect={"reads_own": 5}),
        Preset("checked-once", "asked when it is posted, not while it is read", expect={"reads_own": 5}, rechecks=True),
        Preset("held-only", "held while posted, not while it waits", expect={"reads_own": 5}, held=True),
        Preset("fixed", "asked when it is posted, held until it is sent", expect={}, rechecks=True, held=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("vllm-project/vllm#55470", "vLLM", Mechanism.SOURCE_FREED)],
)
