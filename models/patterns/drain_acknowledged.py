"""Pages of an aborted request wait for prefill's word that nothing is under way, and the word is lost, or false.

Decode holds the pages until prefill acknowledges the abort.  Prefill forgets where to send the acknowledgement when
its scheduler clears the room, or when a second decode rank aborts the same room; or it acknowledges although a call
that failed has left writes behind.  For the last one there is only a time limit.
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
    Report,
    Scope,
    Set,
    action,
    eventually_always,
    flag,
    init,
    invariant,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Page, Pages, Req, carry
from ..kit.push import FLIGHTS, Push, quiet


class Config(Params):
    """The mends, all on; the limit that a failed call needs."""

    keeps_address: bool = flag(
        True, "the addresses for acknowledgements outlive the room", cites="#38961", kind="mitigation"
    )
    one_each: bool = flag(True, "an address for each rank that aborts", cites="#38961", kind="mitigation")
    poisons: bool = flag(
        True, "after a failed call nothing is acknowledged any more", cites="#36707", kind="mitigation"
    )
    long_limit: bool = flag(True, "the time limit is longer than a write can live", kind="mitigation")


cfg = Config()


class Room(Enum):
    """A transfer on prefill."""

    OPEN = auto()
    FAILED = auto()
    CLEARED = auto()


class Held(Enum):
    """The page on a decode rank."""

    WANTED = auto()
    HELD = auto()
    FREE = auto()


class State(Pages, Push):
    """One request; page p lies on decode rank p.  Every chunk writes to all ranks."""

    held: Array(Page, Held)
    room: Room
    chunks: Int(0, 2)  # that the worker has not finished
    calling: Bool
    poisoned: Bool  # a call has failed, and its writes may still land
    aborts: Set(Page)  # on their way to prefill
    addresses: Set(Page)  # to whom an acknowledgement goes
    acks: Set(Page)  # on their way to decode


decode = Machine("decode", "ranks with a page each")
scheduler = Machine("scheduler", "prefill's; clears rooms that have failed")
worker = Machine("worker", "prefill's; writes chunk after chunk, takes aborts, acknowledges")


@init
def reserved(s):
    """The request has its page on every rank, and two chunks to be sent."""
    for p in Page:
        s.owner[p] = Req(0)
    s.chunks = 2


@action(worker, fair="weak")
def begin(s):
    """The worker posts the writes of a chunk."""
    require(s.chunks > 0 and not s.calling and s.room == Room.OPEN)
    for p in Page:
        s.flying[Req(0)].add(p)
    s.calling = True


@action(worker, fair="weak")
def skip(s):
    """The room has failed: what is left of the request is not sent."""
    require(s.chunks > 0 and not s.calling and s.room != Room.OPEN)
    s.chunks = 0


@action(worker, fair="weak")
def succeed(s):
    """All writes of the call have landed."""
    require(s.calling and quiet(s, Req(0)))
    s.calling = False
    s.chunks -= 1


@action(worker)
def fail(s):
    """The call fails; writes that it has posted are still under way."""
    require(s.calling and s.flying[Req(0)])
    s.calling = False
    s.chunks -= 1
    s.room = Room.FAILED
    if cfg.poisons:
        s.poisoned = True


@action(decode)
def abort(s, p: Page):
    """Rank {p} aborts: it holds its page, and tells prefill."""
    require(s.held[p] == Held.WANTED)
    s.held[p] = Held.HELD
    s.aborts.add(p)


@action(worker, fair="weak")
def receive_abort(s, p: Page):
    """The abort of rank {p} reaches prefill, with the address for the acknowledgement."""
    require(p in s.aborts)
    s.aborts.discard(p)
    if s.room == Room.OPEN:
        s.room = Room.FAILED
    if not cfg.one_each:
        s.addresses.clear()
    s.addresses.add(p)


@action(scheduler, fair="weak")
def clear(s):
    """The scheduler sees that the room has failed, and clears it."""
    require(s.room == Room.FAILED)
    s.room = Room.CLEARED
    if not cfg.keeps_address:
        s.addresses.clear()


@action(worker, fair="weak")
def acknowledge(s):
    """Nothing is outstanding: everybody whose address is known is told."""
    require(s.addresses and s.chunks == 0 and not s.calling and not s.poisoned)
    s.acks |= s.addresses
    s.addresses.clear()


@action(decode, fair="weak")
def receive_ack(s, p: Page):
    """Rank {p} frees its page."""
    require(p in s.acks)
    s.acks.discard(p)
    if s.held[p] == Held.HELD:
        s.held[p] = Held.FREE
        s.owner[p] = None


@action(decode, fair="weak")
def limit(s, p: Page):
    """Rank {p} has held its page for as long as it may; a call has failed, and no acknowledgement will come."""
    require(cfg.poisons and s.held[p] == Held.HELD and s.poisoned and not (cfg.long_limit and s.flying[Req(0)]))
    s.held[p] = Held.FREE
    s.owner[p] = None


@action(decode, fair="weak")
def finish(s, p: Page):
    """Nothing is under way to rank {p}, which has not aborted: it reads its page, or hears that the room has failed."""
    require(s.held[p] == Held.WANTED and s.chunks == 0 and not s.calling and quiet(s, Req(0)))
    if s.room == Room.OPEN:
        carry(s, Req(0), p)
    s.held[p] = Held.FREE
    s.owner[p] = None


@invariant("no room fails before a rank has aborted or a call was made")
def fails_for_a_reason(s):
    """Else requests fail that nobody has given up."""
    return s.room == Room.OPEN or s.chunks < 2 or any(s.held[p] != Held.WANTED for p in Page)


@eventually_always("a page is held for a time, and that once")
def held_once(s, p: Page):
    """What is free is not aborted again."""
    return s.held[p] != Held.HELD


model = Model(
    "patterns.drain_acknowledged",
    "an acknowledgement that nothing is under way is lost, or false",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("fixed", "everybody is told, and nothing false", expect={}),
        Preset(
            "cleared",
            "the address goes with the room",
            expect={"pages_come_back": None, "held_once": None},
            keeps_address=False,
        ),
        Preset(
            "overwritten",
            "the second rank's address replaces the first's",
            expect={"pages_come_back": None, "held_once": None},
            one_each=False,
        ),
        Preset("false-ack", "acknowledged after a failed call", expect={"lands_in_own": 8}, poisons=False),
        Preset("short-limit", "the limit ends before a write does", expect={"lands_in_own": 5}, long_limit=False),
    ],
    scopes=[Scope("small", "1 request, 2 decode ranks, 2 chunks", Req=1, Page=2)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#38961", "SGLang", Mechanism.TARGET_FREED)],
)
