"""Pages stand in the prefix index when they are scheduled, and not when they are written.

A request that is scheduled publishes the hashes of the pages that it is about to fill.  If it is aborted before it
runs, the entry stays on a page that was never written; and even without an abort, another request finds it before
the writer has run.
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
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually,
    flag,
    invariant,
    require,
)

Req = Sort("Req", labels="ABC", doc="requests with the same prompt of one page")


class Config(Params):
    """When an entry is made, and when it goes."""

    drops: bool = flag(False, "an abort takes its entry out of the index", kind="mitigation")
    next_step: bool = flag(False, "an entry is made in the scheduling step after", kind="mitigation")
    after_run: bool = flag(False, "an entry is made when the page is written", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request."""

    NEW = auto()
    WRITER = auto()
    READER = auto()
    OVER = auto()


class State(Record):
    """The one page of the prompt, in the index or not."""

    phase: Array(Req, Phase)
    indexed: Bool
    written: Bool
    unwritten_read: Bool


scheduler = Machine("scheduler", "admits requests, and keeps the index")
worker = Machine("worker", "runs what was scheduled")


@action(scheduler, fair="weak")
def schedule(s, r: Req):
    """Request {r} finds the page in the index and will read it; else it will write it."""
    require(s.phase[r] == Phase.NEW and (s.indexed or all(s.phase[q] != Phase.WRITER for q in Req)))
    if s.indexed:
        s.phase[r] = Phase.READER
    else:
        s.phase[r] = Phase.WRITER
        s.indexed = not cfg.after_run and not cfg.next_step


@action(scheduler)
def publish(s):
    """A scheduling step later the page enters the index; with several steps under way its writer has not run yet."""
    require(cfg.next_step and not cfg.after_run and not s.indexed and any(s.phase[r] == Phase.WRITER for r in Req))
    s.indexed = True


@action(scheduler)
def abort(s, r: Req):
    """Request {r} is aborted before it has run; its page keeps its hash."""
    require(s.phase[r] == Phase.WRITER)
    s.phase[r] = Phase.OVER
    if cfg.drops:
        s.indexed = False


@action(worker, fair="weak")
def write(s, r: Req):
    """Request {r} runs and writes the page."""
    require(s.phase[r] == Phase.WRITER)
    s.phase[r] = Phase.OVER
    s.written = True
    s.indexed = True


@action(worker, fair="weak")
def read(s, r: Req):
    """Request {r} runs on the page that it has found."""
    require(s.phase[r] == Phase.READER)
    s.phase[r] = Phase.OVER
    if not s.written:
        s.unwritten_read = True


@invariant("what is found in the index is written when it is read")
def hits_are_written(s):
    """The page holds what its last owner left."""
    return not s.unwritten_read


@eventually("every request is over")
def all_end(s):
    """Nobody waits for an entry that is never made."""
    return all(s.phase[r] == Phase.OVER for r in Req)


@invariant("a page that is not in the index has one writer at most")
def one_writer(s):
    """The second would compute what the first computes."""
    return len([r for r in Req if s.phase[r] == Phase.WRITER]) <= 1


model = Model(
    "patterns.published_before_run",
    "pages enter the prefix index when they are scheduled",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "at once", expect={"hits_are_written": 3}),
        Preset("drops", "at once, and out again on abort", expect={"hits_are_written": 3}, drops=True),
        Preset(
            "next-step", "in the step after, and out again", expect={"hits_are_written": 4}, drops=True, next_step=True
        ),
        Preset("fixed", "when it is written", expect={}, after_run=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    reports=[Report("vllm-project/vllm#43569", "vLLM", Mechanism.PUBLISHED_EARLY)],
)
