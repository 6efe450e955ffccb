"""A control channel: one queue a peer, in order, lossy; what repeats, what comes late, what overtakes.

Decode starts a room on every peer, stops it, and uses the room again once every peer has acknowledged the stop.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Model,
    Opt,
    Params,
    Preset,
    Queue,
    Record,
    Scope,
    Set,
    Sort,
    action,
    flag,
    invariant,
    leads_to,
    require,
    strong,
    weak,
)

Peer = Sort("Peer", doc="ranks of prefill")

LIFE = Int(0, 1)
"""The room is used twice."""


class Config(Params):
    """What a preset fixes."""

    ordered: bool = flag(True, "messages to one peer arrive in the order in which they were sent", kind="environment")
    loses: bool = flag(True, "a message may be lost", kind="environment")
    retries: bool = flag(True, "a stop is sent again until it is acknowledged", kind="mitigation")
    numbered: bool = flag(
        True,
        "messages carry the life of the room that they belong to",
        cites="0.5.22+ srt/disaggregation/common/conn.py:AckTarget",
        kind="mitigation",
    )
    remembers: bool = flag(False, "a peer ignores the start of a life that it has been told to stop", kind="mitigation")
    counts_peers: bool = flag(
        True,
        "the peers that acknowledged are remembered, not how many acknowledgements came",
        kind="mitigation",
    )
    stops_once: bool = flag(
        True,
        "a stop that is repeated is acknowledged again, and does nothing else",
        kind="mitigation",
    )


cfg = Config()


class Kind(Enum):
    """What decode tells a peer."""

    START = auto()
    STOP = auto()


class Msg(Record):
    """A message to a peer."""

    kind: Kind
    life: LIFE


class Room(Enum):
    """The room on the side of decode."""

    UNUSED = auto()
    RUNS = auto()
    STOPS = auto()  # waits for acknowledgements
    OVER = auto()


class State(Record):
    """One room of decode and its peers, with a queue to each and one back."""

    room: Room
    life: LIFE
    to: Array(Peer, Queue(Msg, 3))
    back: Array(Peer, Queue(LIFE, 2))  # acknowledgements
    acks: Set(Peer)
    count: Int(0, Peer)
    runs: Array(Peer, Opt(LIFE))  # the life that a peer works for
    stopped: Array(Peer, Set(LIFE))  # the lives that it has acknowledged
    too_soon: Bool  # a life was over before every peer had acknowledged its stop
    risen: Bool  # a peer has started a life that it had acknowledged
    twice: Bool  # a peer has stopped one life twice


decode = Machine("decode", "starts the room, stops it, and uses it again")
prefill = Machine("prefill", "starts and stops when it is told to")
network = Machine("network", "carries messages, and loses them")


@action(decode)
def start(s):
    """The room begins a life; every peer is told."""
    require(s.room == Room.UNUSED or (s.room == Room.OVER and s.life == 0))
    if s.room == Room.OVER:
        s.life = 1
    s.room = Room.RUNS
    s.acks.clear()
    s.count = 0
    for p in Peer:
        s.to[p].append(Msg(kind=Kind.START, life=s.life))


@action(decode)
def stop(s):
    """The room is stopped; every peer is told."""
    require(s.room == Room.RUNS and all(len(s.to[p]) < 3 for p in Peer))
    s.room = Room.STOPS
    for p in Peer:
        s.to[p].append(Msg(kind=Kind.STOP, life=s.life))


@action(decode)
def stop_again(s, p: Peer):
    """Peer {p} is told to stop once more."""
    require(cfg.retries and s.room == Room.STOPS and len(s.to[p]) == 0)
    require(not cfg.counts_peers or p not in s.acks)
    s.to[p].append(Msg(kind=Kind.STOP, life=s.life))


@action(prefill)
def receive(s, p: Peer, k: Int(0, 2)):
    """Peer {p} does what the message at place {k} of its queue says."""
    require(k < len(s.to[p]) and (not cfg.ordered or k == 0))
    m = s.to[p].pop(k)
    if m.kind == Kind.START:
        if not (cfg.remembers and m.life in s.stopped[p]):
            s.runs[p] = m.life
            if m.life in s.stopped[p]:
                s.risen = True
    else:
        if s.runs[p] == m.life or not cfg.stops_once:
            s.runs[p] = None
            if m.life in s.stopped[p] and not cfg.stops_once:
                s.twice = True
        s.stopped[p].add(m.life)
        if len(s.back[p]) < 2:
            s.back[p].append(m.life)


@action(decode)
def hear(s, p: Peer):
    """An acknowledgement of peer {p} arrives."""
    require(len(s.back[p]) > 0)
    life = s.back[p].pop(0)
    if s.room == Room.STOPS and (not cfg.numbered or life == s.life):
        s.acks.add(p)
        s.count = min(s.count + 1, len(Peer))


@action(network)
def lose(s, p: Peer, back: Bool):
    """The first message to peer {p} or, with `back`, from it is lost."""
    require(cfg.loses)
    if back:
        require(len(s.back[p]) > 0)
        s.back[p].pop(0)
    else:
        require(len(s.to[p]) > 0)
        s.to[p].pop(0)


@action(decode, fair="weak")
def conclude(s):
    """Decode has the acknowledgements that it wants; the room may be used again."""
    require(s.room == Room.STOPS)
    require(len(s.acks) == len(Peer) if cfg.counts_peers else s.count == len(Peer))
    s.room = Room.OVER
    if any(s.life not in s.stopped[p] for p in Peer):
        s.too_soon = True


@invariant("a life is over only when every peer has acknowledged the stop of this life")
def over_when_all_stopped(s):
    """Decode gives away what a peer may still be writing to."""
    return not s.too_soon


@invariant("what a peer has acknowledged it does not start again")
def stays_stopped(s):
    """Nobody will tell it to stop a second time."""
    return not s.risen


@invariant("a peer stops a life once")
def stops_once(s):
    """To stop is to give back what the life had; the second time it is somebody else's."""
    return not s.twice


@leads_to("a room that is stopped comes to its end")
def comes_to_an_end(s):
    """One lost message must not keep a room for ever, as long as not all are lost."""
    return s.room == Room.STOPS, s.room != Room.STOPS


model = Model(
    "blocks.control_channel",
    "control messages: in order to each peer, lossy, repeated, late",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset(
            "not-numbered",
            "a late acknowledgement counts for the next life: over_when_all_stopped",
            numbered=False,
        ),
        Preset(
            "counted",
            "two acknowledgements of one peer count as two peers: over_when_all_stopped",
            counts_peers=False,
        ),
        Preset("overtakes", "a stop is acknowledged before its start arrives: stays_stopped", ordered=False),
        Preset("not-idempotent", "a repeated stop is carried out again: stops_once", stops_once=False),
        Preset("no-retry", "a lost stop is never repeated: comes_to_an_end", retries=False),
        Preset("lossless", "nothing is lost, and nothing is sent again: all hold", loses=False, retries=False),
        Preset(
            "remembers",
            "messages overtake, and peers know what they stopped: all hold",
            ordered=False,
            remembers=True,
        ),
    ],
    scopes=[Scope("small", "1 room of 2 lives, 2 peers", Peer=2), Scope("one", "1 room of 2 lives, 1 peer", Peer=1)],
    fairness=[strong(receive, per="p"), strong(hear, per="p"), weak(stop_again, per="p")],
)
