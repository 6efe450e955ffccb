"""A cancelled request is declared complete although its transfer still runs.

A transfer that is in flight cannot be cancelled, and one that is stuck pins its pages for ever.  Declaring the request
complete cures the hang and gives the pages away under the transfer.  Only the engine's own word that it is done proves
that; until then the client may be told, and the pages stay apart until the process restarts.
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
    Set,
    action,
    eventually_always,
    flag,
    invariant,
    leads_to,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Page, Pages, Req, lend, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """The cure that was proposed, and the later one."""

    forced: bool = flag(False, "a cancelled request is complete at once, pages and all", kind="mitigation")
    quarantine: bool = flag(
        False,
        "the client is told at once, the pages stay apart until the transfer is done or the process restarts",
        kind="mitigation",
    )


cfg = Config()


class Phase(Enum):
    """A request as its engine sees it."""

    NEW = auto()
    RUNS = auto()
    CANCELLED = auto()
    APART = auto()
    OVER = auto()


class State(Pages, Push):
    """One page a request."""

    phase: Array(Req, Phase)
    told: Array(Req, Bool)  # the client knows that its request is over
    stuck: Array(Req, Set(Page))  # transfers that come to no end


engine = Machine("engine", "gives pages to requests")
client = Machine("client", "cancels")


@action(engine)
def start(s, r: Req):
    """Request {r} gets the lowest free page, and its transfer begins."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    post(s, r)
    s.phase[r] = Phase.RUNS


@action(push.network)
def stick(s, r: Req, p: Page):
    """The transfer of request {r} hangs."""
    require(p in s.flying[r])
    s.flying[r].discard(p)
    s.stuck[r].add(p)


@action(client)
def cancel(s, r: Req):
    """The client gives request {r} up."""
    require(s.phase[r] == Phase.RUNS)
    s.phase[r] = Phase.CANCELLED


@action(engine, fair="weak")
def conclude(s, r: Req):
    """Cancelled, request {r} is over: its transfer is done, or the engine says so all the same."""
    require(s.phase[r] == Phase.CANCELLED)
    require(cfg.forced or cfg.quarantine or (quiet(s, r) and not s.stuck[r]))
    s.told[r] = True
    if cfg.quarantine:
        s.phase[r] = Phase.APART
    else:
        release(s, r)
        s.phase[r] = Phase.OVER


@action(engine, fair="weak")
def retire(s, r: Req):
    """The transfer of request {r}, which is over for its client, is done: its page is free."""
    require(cfg.quarantine and s.phase[r] == Phase.APART and quiet(s, r) and not s.stuck[r])
    release(s, r)
    s.phase[r] = Phase.OVER


@action(engine, fair="weak")
def finish(s, r: Req):
    """Request {r} has its bytes and is served."""
    require(s.phase[r] == Phase.RUNS and quiet(s, r) and not s.stuck[r])
    read(s, r)
    release(s, r)
    s.told[r] = True
    s.phase[r] = Phase.OVER


@action(engine, fair="weak")
def restart(s):
    """What cannot be proved to be over ends with the process: every request, every transfer."""
    require(cfg.quarantine and any(s.stuck[r] for r in Req))
    for r in Req:
        s.flying[r].clear()
        s.stuck[r].clear()
        release(s, r)
        if s.phase[r] != Phase.NEW:
            s.told[r] = True
            s.phase[r] = Phase.OVER


@leads_to("a client that cancels is told that its request is over")
def cancelled_is_told(s, r: Req):
    """The hang that the wrong cure was for."""
    return s.phase[r] == Phase.CANCELLED, s.told[r]


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What its client has been told stays true."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


@invariant("what hangs can write only to pages of its own request")
def hangs_in_own(s):
    """A transfer that hangs is not over: it may go on at any time."""
    return all(s.owner[p] == r for r in Req for p in s.stuck[r])


model = Model(
    "patterns.forced_complete",
    "a cancelled request is declared complete while its transfer runs",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset(
            "waits",
            "waits for a transfer that hangs",
            expect={"cancelled_is_told": None, "pages_come_back": None, "over_once": None},
        ),
        Preset(
            "bug",
            "complete at once",
            expect={"lands_in_own": 4, "hangs_in_own": 4, "reads_own": 7, "pages_come_back": None, "over_once": None},
            forced=True,
        ),
        Preset("fixed", "over for the client, apart until it is proved", expect={}, quarantine=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("NVIDIA/TensorRT-LLM#12314", "TensorRT-LLM", Mechanism.TARGET_FREED)],
)
