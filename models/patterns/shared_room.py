"""Several samples of one prompt share a room, and the second finds it concluded.

A client asks for several samples; decode makes a request of each, and all inherit the room of the one.  The
transfer for the first marks the room as successful.  A sample that registers afterwards waits for a state that the
room has left.
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
    flag,
    invariant,
    leads_to,
    require,
)

Sample = Sort("Sample", doc="samples of one client's request")


class Config(Params):
    """What a room belongs to."""

    own_rooms: bool = flag(False, "every sample has a room of its own", kind="mitigation")


cfg = Config()


class Room(Enum):
    """What a room has come to."""

    FREE = auto()
    WAITS = auto()
    SUCCESS = auto()


class State(Record):
    """Without rooms of their own all samples use that of the first."""

    room: Array(Sample, Room)
    registered: Array(Sample, Bool)
    served: Array(Sample, Bool)


decode = Machine("decode", "registers samples, and serves those whose room has success")
prefill = Machine("prefill", "sends to rooms that wait")


def room_of(p):
    """The sample whose room it is."""
    return p if cfg.own_rooms else Sample(0)


@action(decode, fair="weak")
def register(s, p: Sample):
    """Sample {p} registers in its room."""
    require(not s.registered[p])
    s.registered[p] = True
    if s.room[room_of(p)] == Room.FREE:
        s.room[room_of(p)] = Room.WAITS


@action(prefill, fair="weak")
def transfer(s, p: Sample):
    """The transfer for the room that sample {p} opened is done: whoever waits in it is served, and it is concluded."""
    require(s.room[p] == Room.WAITS)
    for q in Sample:
        if s.registered[q] and room_of(q) == p:
            s.served[q] = True
    s.room[p] = Room.SUCCESS


@leads_to("a sample that registers is served")
def samples_served(s, p: Sample):
    """One that comes late waits until its time limit, five minutes."""
    return s.registered[p], s.served[p]


@invariant("a room that is concluded has somebody in it")
def concluded_has_waiter(s):
    """Who comes later is not served any more."""
    return all(any(s.registered[q] and room_of(q) == p for q in Sample) for p in Sample if s.room[p] == Room.SUCCESS)


model = Model(
    "patterns.shared_room",
    "samples of one request share a room that is concluded once",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "one room for all", expect={"samples_served": None}),
        Preset("fixed", "a room for each", expect={}, own_rooms=True),
    ],
    scopes=[Scope("small", "2 samples", Sample=2)],
    reports=[Report("sgl-project/sglang#26486", "SGLang", Mechanism.IDENTITY)],
)
