"""A transfer fails, and the side that waits for it can leave its wait by success only.

The producer has given up, crashed, or lost the network.  The consumer logs it; its own deadline is declared and
never set.  The request keeps its pages and cannot be preempted.
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
    flag,
    leads_to,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Pages, Req, lend, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """How a failure reaches the request."""

    reported: bool = flag(False, "a failed transfer is reported to the scheduler", cites="#50984", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on the consumer."""

    NEW = auto()
    WAITS = auto()
    OVER = auto()


class State(Pages, Push):
    """One page a request."""

    phase: Array(Req, Phase)
    failed: Array(Req, Bool)


consumer = Machine("consumer", "waits for its pages")
producer = Machine("producer", "sends, or fails to")


@action(consumer)
def prealloc(s, r: Req):
    """Request {r} gets the lowest free page; the producer begins to send."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    post(s, r)
    s.phase[r] = Phase.WAITS


@action(producer)
def fail(s, r: Req):
    """The transfer of request {r} fails, and nothing of it comes any more."""
    require(not quiet(s, r))
    s.flying[r].clear()
    s.failed[r] = True


@action(consumer, fair="weak")
def succeed(s, r: Req):
    """The bytes of request {r} have come: it runs and is over."""
    require(s.phase[r] == Phase.WAITS and quiet(s, r) and not s.failed[r])
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@action(consumer, fair="weak")
def hear(s, r: Req):
    """The consumer hears that the transfer of request {r} has failed, and ends it."""
    require(cfg.reported and s.phase[r] == Phase.WAITS and s.failed[r])
    release(s, r)
    s.phase[r] = Phase.OVER


@leads_to("a request that waits for its bytes ends")
def waiting_ends(s, r: Req):
    """Success is not the only end there is."""
    return s.phase[r] == Phase.WAITS, s.phase[r] == Phase.OVER


model = Model(
    "patterns.no_consumer_deadline",
    "a failed transfer is waited for without an end",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "a failure is logged", expect={"pages_come_back": None, "waiting_ends": None}),
        Preset("fixed", "a failure is reported", expect={}, reported=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("vllm-project/vllm#35943", "vLLM", Mechanism.LEAK)],
)
