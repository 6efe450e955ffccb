"""Decode gives an aborted request's pages to the next one while writes to them are still posted.

Decode reserves pages and tells prefill where they are.  An abort frees them at once; nobody recalls what the network
card has been told, nor waits for it.  The pages go to another request, which is served, and the old write lands there.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
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
    """What was proposed, and what helps."""

    stops_unstarted: bool = flag(
        False, "an aborted request's writes are not posted any more", cites="#27372", kind="mitigation"
    )
    held: bool = flag(
        False, "pages of an aborted request are held until its writes have landed", cites="#35049", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    RESERVED = auto()
    ABORTED = auto()
    OVER = auto()


class State(Pages, Push):
    """One page a request."""

    phase: Array(Req, Phase)
    sent: Array(Req, Bool)  # prefill has posted the write


decode = Machine("decode", "reserves pages, reads them, frees them")
prefill = Machine("prefill", "posts writes to pages that decode has named")


@action(decode)
def prealloc(s, r: Req):
    """Decode reserves the lowest free page for request {r}."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    s.phase[r] = Phase.RESERVED


@action(prefill, fair="weak")
def send(s, r: Req):
    """Prefill posts the write of request {r}; of an abort it may not have heard yet."""
    aborted = s.phase[r] == Phase.ABORTED and not cfg.stops_unstarted
    require(not s.sent[r] and (s.phase[r] == Phase.RESERVED or aborted))
    post(s, r)
    s.sent[r] = True


@action(decode)
def abort(s, r: Req):
    """Decode drops request {r}."""
    require(s.phase[r] == Phase.RESERVED)
    s.phase[r] = Phase.ABORTED


@action(decode, fair="weak")
def free(s, r: Req):
    """The pages of request {r}, which was aborted, are free."""
    require(s.phase[r] == Phase.ABORTED and (not cfg.held or quiet(s, r)))
    release(s, r)
    s.phase[r] = Phase.OVER


@action(decode, fair="weak")
def finish(s, r: Req):
    """All writes of request {r} have landed: decode reads its page and is done with it."""
    require(s.phase[r] == Phase.RESERVED and s.sent[r] and quiet(s, r))
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has ended takes no page and is not aborted again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.freed_under_write",
    "pages of an aborted request are reused while writes to them are posted",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "freed at once", expect={"lands_in_own": 5, "reads_own": 9}),
        Preset(
            "stops-unstarted",
            "what was not posted yet is not posted any more; what was, lands",
            expect={"lands_in_own": 5, "reads_own": 9},
            stops_unstarted=True,
        ),
        Preset("fixed", "held until the writes have landed", expect={}, stops_unstarted=True, held=True),
        Preset("held-only", "held, and prefill not told that it is over", expect={}, held=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#24527", "SGLang", Mechanism.TARGET_FREED)],
)
