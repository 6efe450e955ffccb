"""Jobs are counted by a request's id, and a request comes back under the same id.

A request is preempted while a job that stores its pages is queued; its count goes with it.  Resumed under the same
id it starts a new count, which the old job lowers when it is done: too early to zero, or below it, and then the
pages never come back.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Set,
    Sort,
    action,
    eventually_always,
    flag,
    init,
    invariant,
    require,
)

Life = Sort("Life", doc="the request before and after its preemption")


class Config(Params):
    """What a count belongs to."""

    by_job: bool = flag(False, "a job knows the life that it belongs to", cites="#52372", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """The request, in the life it is in."""

    RUNS = auto()
    FINISHED = auto()
    FREED = auto()


class State(Record):
    """A life has a job at most, and pages of its own, which the job reads."""

    life: Life
    phase: Phase
    asked: Array(Life, Bool)
    queued: Set(Life)  # jobs that are not done
    count: Int(-1, 2)


scheduler = Machine("scheduler", "preempts, resumes, ends, frees")
worker = Machine("worker", "stores")


@init
def none_counted(s):
    """Nothing is queued."""
    s.count = 0


@action(scheduler)
def store(s):
    """A job to store the pages of the request is queued."""
    require(s.phase == Phase.RUNS and not s.asked[s.life])
    s.asked[s.life] = True
    s.queued.add(s.life)
    s.count += 1


@action(scheduler)
def preempt(s):
    """The request is preempted and resumed under its id; the count starts anew, the job of its first life goes on."""
    require(s.phase == Phase.RUNS and int(s.life) == 0)
    s.life = Life(1)
    s.count = 0


@action(worker, fair="weak")
def done(s, f: Life):
    """The job of life {f} is done; the count of the id is lowered."""
    require(f in s.queued)
    s.queued.discard(f)
    if not (cfg.by_job and f != s.life) and s.count > -1:
        s.count -= 1


@action(scheduler, fair="weak")
def finish(s):
    """The request has its answer; its pages wait for the jobs."""
    require(s.phase == Phase.RUNS)
    s.phase = Phase.FINISHED


@action(scheduler, fair="weak")
def free(s):
    """No job is counted: the pages are free."""
    require(s.phase == Phase.FINISHED and s.count == 0)
    s.phase = Phase.FREED


@invariant("no page is freed while a job reads it")
def frees_when_quiet(s):
    """The job stores what the next request writes there."""
    return s.phase != Phase.FREED or s.life not in s.queued


@eventually_always("the pages come back, and that once")
def pages_come_back(s):
    """Below zero the count never says that all is done."""
    return s.phase == Phase.FREED


model = Model(
    "patterns.counted_by_id",
    "jobs of an earlier life are counted for the later one",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "counted by id", expect={"frees_when_quiet": 6, "pages_come_back": None}),
        Preset("fixed", "counted by job", expect={}, by_job=True),
    ],
    scopes=[Scope("small", "2 lives", Life=2)],
    reports=[Report("vllm-project/vllm#51637", "vLLM", Mechanism.IDENTITY)],
)
