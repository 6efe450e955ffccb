"""A request that was put back finds its room successful from the first time, and waits for ever.

Decode runs out of pages and puts a request that has been transferred back into the queue.  Its new receiver looks
at the status under the same room number, which nobody has reset; the queue takes only receivers that wait.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Record,
    Report,
    action,
    eventually,
    flag,
    invariant,
    require,
)


class Config(Params):
    """What a second life starts with."""

    resets: bool = flag(False, "a request that is put back starts with a fresh status", kind="mitigation")


cfg = Config()


class Status(Enum):
    """What stands under the room number."""

    NONE = auto()
    WAITS = auto()
    SUCCESS = auto()


class Phase(Enum):
    """The request on decode."""

    QUEUED = auto()
    ADMITTED = auto()
    RUNS = auto()
    OVER = auto()


class State(Record):
    """One request, put back at most once."""

    status: Status
    phase: Phase
    put_back: Bool
    answers: Int(0, 2)


decode = Machine("decode", "admits receivers that wait, puts requests back")
prefill = Machine("prefill", "sends")


@action(decode, fair="weak")
def bootstrap(s):
    """The receiver has shaken hands: its status says that it waits, unless something stands there already."""
    require(s.phase == Phase.QUEUED and s.status == Status.NONE)
    s.status = Status.WAITS


@action(decode, fair="weak")
def admit(s):
    """A receiver that waits gets its pages."""
    require(s.phase == Phase.QUEUED and s.status == Status.WAITS)
    s.phase = Phase.ADMITTED


@action(prefill, fair="weak")
def transfer(s):
    """Prefill has sent everything."""
    require(s.phase == Phase.ADMITTED and s.status == Status.WAITS)
    s.status = Status.SUCCESS
    s.phase = Phase.RUNS


@action(decode)
def retract(s):
    """Decode is out of pages and puts the request back."""
    require(s.phase == Phase.RUNS and not s.put_back)
    s.phase = Phase.QUEUED
    s.put_back = True
    if cfg.resets:
        s.status = Status.NONE


@action(decode, fair="weak")
def finish(s):
    """The request has run."""
    require(s.phase == Phase.RUNS)
    s.phase = Phase.OVER
    s.answers = min(s.answers + 1, 2)


@eventually("the request is over")
def ends(s):
    """It is looked at on every pass, and skipped."""
    return s.phase == Phase.OVER


@invariant("a request is answered once, and from its own bytes")
def answered_once(s):
    """Else its client gets two answers, or one from pages that nobody wrote."""
    return s.answers <= 1 and (s.phase != Phase.OVER or s.status == Status.SUCCESS)


model = Model(
    "patterns.requeued_room",
    "a request that was put back meets the status of its first life",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "the status stays", expect={"ends": None}),
        Preset("fixed", "the status is reset", expect={}, resets=True),
    ],
    reports=[Report("sgl-project/sglang#6857", "SGLang", Mechanism.IDENTITY)],
)
