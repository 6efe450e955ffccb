"""Decode reads a metadata slot that holds the record of the request before.

The first token and what belongs to it travel through a small slot of its own pool on decode, by a write of its own.
The slot goes to another request while the write for the first one is still on its way, and the record that decode
reads is the wrong one.  The report shows the wrong first token and the check against it; the order of steps is
ours.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Machine,
    Mechanism,
    Model,
    Params,
    Pool,
    Preset,
    Report,
    Scope,
    action,
    eventually_always,
    flag,
    require,
)

from ..kit import pages, push
from ..kit.pages import Page, Pages, Req, carry, lowest_free, page_of, release
from ..kit.push import FLIGHTS, Push, post, quiet


class Config(Params):
    """The check that was added, and the hold that would make it needless."""

    room_check: bool = flag(
        False, "the record names its room, and decode aborts on another one", cites="#17430", kind="mitigation"
    )
    held: bool = flag(False, "a slot is held until its write has landed", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    WAITS = auto()
    ANSWERED = auto()
    ABORTED = auto()
    OVER = auto()


class State(Pages, Push):
    """The pool is that of metadata slots."""

    phase: Array(Req, Phase)


decode = Machine("decode", "takes slots, reads records, frees slots")


@action(decode)
def enter(s, r: Req):
    """Request {r} takes the lowest free slot, and prefill writes its record there."""
    slot = lowest_free(s)
    require(s.phase[r] == Phase.NEW and slot is not None)
    s.owner[slot] = r
    s.content[slot] = None
    post(s, r)
    s.phase[r] = Phase.WAITS


@action(decode, fair="weak")
def conclude(s, r: Req):
    """There is a record in the slot of request {r}: decode answers with its first token."""
    slot = page_of(s, r)
    require(s.phase[r] == Phase.WAITS and slot is not None and s.content[slot] is not None)
    if cfg.room_check and s.content[slot] != r:
        s.phase[r] = Phase.ABORTED
    else:
        carry(s, r, slot)
        s.phase[r] = Phase.ANSWERED


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted while its record is on its way."""
    require(s.phase[r] == Phase.WAITS)
    s.phase[r] = Phase.ABORTED


@action(decode, fair="weak")
def free(s, r: Req):
    """The slot of request {r} is free."""
    require(s.phase[r] in (Phase.ANSWERED, Phase.ABORTED) and not (cfg.held and not quiet(s, r)))
    release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What has ended takes no slot and is not aborted again."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.metadata_slot",
    "a metadata slot is reused while a record is on its way to it",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "neither checked nor held", expect={"lands_in_own": 4, "reads_own": 6}),
        Preset("checked", "another room's record is refused", expect={"lands_in_own": 4}, room_check=True),
        Preset("fixed", "checked, and held", expect={}, room_check=True, held=True),
    ],
    scopes=[Scope("small", "2 requests, 1 slot", Req=2, Page=1)],
    pools=[Pool("slots", Page, owner="owner", content="content")],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#17259", "SGLang", Mechanism.IDENTITY, established=False)],
)
