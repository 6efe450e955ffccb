"""A request is aborted while the worker still loads its pages, and the scheduler frees them.

Scheduler and worker are two actors: the worker reports what it has loaded, later.  Pages of a request that is
aborted in between have to be kept until the report comes; if the report has come just before, there is no second
one to wait for.
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
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Pages, Req, lend, read, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """The fix, and the race that its review found."""

    held: bool = flag(False, "an abort during a load keeps the pages until the report", kind="mitigation")
    remembers: bool = flag(False, "an abort after the report knows that it has come", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request as the scheduler sees it."""

    NEW = auto()
    LOADING = auto()
    LOADED = auto()
    HELD = auto()
    OVER = auto()


class State(Pages, Push):
    """One page a request."""

    phase: Array(Req, Phase)
    asked: Array(Req, Bool)  # the worker has a load to report
    reports: Set(Req)


scheduler = Machine("scheduler", "gives pages to requests and takes them back")
worker = Machine("worker", "loads pages and reports what is loaded")


@action(scheduler)
def schedule(s, r: Req):
    """Request {r} gets the lowest free page, and the worker is told to load it."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    post(s, r)
    s.asked[r] = True
    s.phase[r] = Phase.LOADING


@action(worker, fair="weak")
def report(s, r: Req):
    """The worker has loaded the page of request {r} and says so."""
    require(s.asked[r] and quiet(s, r))
    s.asked[r] = False
    s.reports.add(r)


@action(scheduler, fair="weak")
def collect(s, r: Req):
    """The scheduler takes the report on request {r}; pages that were kept for it are free."""
    require(r in s.reports)
    s.reports.discard(r)
    if s.phase[r] == Phase.LOADING:
        s.phase[r] = Phase.LOADED
    elif s.phase[r] == Phase.HELD:
        release(s, r)
        s.phase[r] = Phase.OVER


@action(scheduler)
def abort(s, r: Req):
    """Request {r} is aborted before it has run."""
    require(s.phase[r] in (Phase.LOADING, Phase.LOADED))
    if cfg.held and not (cfg.remembers and s.phase[r] == Phase.LOADED):
        s.phase[r] = Phase.HELD
    else:
        release(s, r)
        s.phase[r] = Phase.OVER


@action(scheduler, fair="weak")
def run(s, r: Req):
    """Request {r} runs on what was loaded, and is over."""
    require(s.phase[r] == Phase.LOADED)
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has ended is not loaded and not aborted again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.abort_while_loading",
    "the scheduler frees pages that the worker is loading",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "freed at once", expect={"lands_in_own": 3, "reads_own": 8}),
        Preset(
            "mirror",
            "kept for a report that has come already",
            expect={"pages_come_back": None, "over_once": None},
            held=True,
        ),
        Preset("fixed", "kept only while a report is to come", expect={}, held=True, remembers=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("vllm-project/vllm#32255", "vLLM", Mechanism.TARGET_FREED)],
)
