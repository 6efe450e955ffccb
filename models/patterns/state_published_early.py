"""Boundary states of a recurrent model are published when a chunk is scheduled; a retry finds one that was never
written.

Chunked prefill of a model with recurrent state keeps a state at the end of each chunk.  It enters the index when
the chunk is scheduled and is written when it runs.  The client aborts a long prefill and repeats the prompt; the
repetition starts from the deepest state in the index.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
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
    invariant,
    require,
)

Chunk = Sort("Chunk", doc="chunks of the prompt, with a state at the end of each")


class Config(Params):
    """When a state is published."""

    after_run: bool = flag(False, "a state enters the index when it is written", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """The prompt."""

    FIRST = auto()
    ABORTED = auto()
    AGAIN = auto()
    OVER = auto()


class State(Record):
    """The first attempt, and what the second finds."""

    phase: Phase
    scheduled: Set(Chunk)
    written: Set(Chunk)
    indexed: Set(Chunk)
    garbage: Bool  # the second attempt has started from a state that was never written


scheduler = Machine("scheduler", "schedules chunks ahead of the worker")
worker = Machine("worker", "runs chunks in order")
client = Machine("client", "aborts, and asks again")


@action(scheduler, fair="weak")
def schedule(s, c: Chunk):
    """Chunk {c} is scheduled."""
    require(s.phase == Phase.FIRST and c not in s.scheduled and all(b in s.scheduled for b in Chunk if b < c))
    s.scheduled.add(c)
    if not cfg.after_run:
        s.indexed.add(c)


@action(worker, fair="weak")
def run(s, c: Chunk):
    """Chunk {c} runs, and the state at its end is written."""
    require(s.phase == Phase.FIRST and c in s.scheduled and c not in s.written)
    require(all(b in s.written for b in Chunk if b < c))
    s.written.add(c)
    s.indexed.add(c)


@action(client)
def abort(s):
    """The client gives up."""
    require(s.phase == Phase.FIRST)
    s.phase = Phase.ABORTED


@action(client, fair="weak")
def retry(s):
    """The client asks again; the prompt goes on from the deepest state in the index."""
    require(s.phase == Phase.ABORTED)
    deepest = max((int(c) + 1 for c in s.indexed), default=0)
    if any(int(c) + 1 == deepest and c not in s.written for c in Chunk):
        s.garbage = True
    s.phase = Phase.AGAIN


@action(worker, fair="weak")
def finish(s):
    """The prompt is computed to its end."""
    require(s.phase == Phase.AGAIN or (s.phase == Phase.FIRST and len(s.written) == len(Chunk)))
    s.phase = Phase.OVER


@invariant("no prompt starts from a state that was never written")
def starts_from_written(s):
    """A state sums up all before it: one that is wrong ruins everything after it."""
    return not s.garbage


@eventually_always("the prompt is computed, and that is the end of it")
def ends(s):
    """With or without a retry."""
    return s.phase == Phase.OVER


@invariant("chunks are scheduled in order, and run in order, and only then")
def in_order(s):
    """A state sums up all chunks before it."""
    if any(c not in s.scheduled for c in s.written):
        return False
    return all(b in s.scheduled and (b in s.written or c not in s.written) for c in s.scheduled for b in Chunk if b < c)


model = Model(
    "patterns.state_published_early",
    "a recurrent state is in the index before it is written",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "published when scheduled", expect={"starts_from_written": 3}),
        Preset("fixed", "published when written", expect={}, after_run=True),
    ],
    scopes=[Scope("small", "3 chunks", Chunk=3)],
    reports=[Report("vllm-project/vllm#56525", "vLLM", Mechanism.PUBLISHED_EARLY)],
)
