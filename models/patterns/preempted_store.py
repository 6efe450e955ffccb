"""A store job runs after its request was preempted, and stores another request's bytes under its key.

Pages of a request are to be copied to a shared store, later, under keys made from the request's tokens.  Preemption
frees the pages before the job runs.  What the job then stores is wrong for as long as the store keeps it: every
later prompt with that prefix loads it.
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
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Page, Pages, Req, lowest_free, release


class Config(Params):
    """What keeps a page for its job."""

    job_holds: bool = flag(False, "a store job holds the page by itself", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request, with a prompt of its own."""

    NEW = auto()
    RUNS = auto()
    OVER = auto()


class State(Pages):
    """The store has an entry for the prompt of every request."""

    phase: Array(Req, Phase)
    job: Array(Req, Opt(Page))  # the page that is to be stored
    stored: Array(Req, Opt(Req))  # whose bytes lie under the key


scheduler = Machine("scheduler", "runs, preempts and ends requests")
worker = Machine("worker", "stores, one job at a time")


@action(scheduler)
def run(s, r: Req):
    """Request {r} runs in the lowest free page, and a job to store it is queued."""
    page = lowest_free(s)
    require(s.phase[r] == Phase.NEW and page is not None)
    s.owner[page] = r
    s.content[page] = r
    s.job[r] = page
    s.phase[r] = Phase.RUNS


@action(scheduler, fair="weak")
def leave(s, r: Req):
    """Request {r} is preempted or over: its page is free, unless its job still holds it."""
    require(s.phase[r] == Phase.RUNS)
    s.phase[r] = Phase.OVER
    if not cfg.job_holds or s.job[r] is None:
        release(s, r)


@action(worker, fair="weak")
def store(s, r: Req):
    """The job of request {r} stores what its page holds."""
    require(s.job[r] is not None)
    s.stored[r] = s.content[s.job[r]]
    s.job[r] = None
    if cfg.job_holds and s.phase[r] == Phase.OVER:
        release(s, r)


@action(scheduler)
def load(s, r: Req):
    """A later request with the prompt of {r} finds it in the store."""
    require(s.stored[r] is not None)
    if s.stored[r] != r:
        s.foreign = True


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has left does not run again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.preempted_store",
    "a queued store job reads a page that preemption has given away",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "the job holds nothing", expect={"reads_own": 5}),
        Preset("fixed", "the job holds its page", expect={}, job_holds=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("vllm-project/vllm#52360", "vLLM", Mechanism.SOURCE_FREED)],
)
