"""Bounded batches: how a limit on what one call sends enters into the limit of time of a deferred release.

Prefill sends a chunk in batches.  It looks at the room, and what it has seen holds for the next batch only, or for all
that are left.  A short call alone bounds nothing: what counts is the time from the last look to the last write that
starts because of it.  Any number of transfers; the pages of a transfer are free or they are not.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Int,
    Machine,
    Model,
    Params,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    choice,
    flag,
    init,
    invariant,
    number,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="transfers")


class Counted(Enum):
    """What whoever sets the limit takes for the time from a look at the room to the last write."""

    BATCH = auto()
    CHUNK = auto()


class Config(Params):
    """Times in ticks."""

    hold: int = number(3, "time for which decode holds the pages of an aborted request", least=0)
    notice: int = number(1, "longest time until prefill knows of an abort", least=0)
    batch: int = number(1, "longest time from a look at the room to the last start of a write of one batch", least=0)
    chunk: int = number(2, "the same for all batches of a chunk", least=0)
    life: int = number(1, "longest time that a write may land after its start", least=0)
    horizon: int = number(5, "the time when we stop looking", least=1)
    counted: Counted = choice(Counted.BATCH, "hold is at least notice + life, and this time")
    rechecks: bool = flag(
        True, "prefill looks at the room before each batch, not only before the first", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """The pages of a transfer, as decode sees them."""

    SHARED = auto()
    HELD = auto()
    FREE = auto()


class State(Record):
    """Of the writes of a transfer only the last start counts: they may land when any of them may."""

    now: Int(0, Config.horizon)
    phase: Array(Req, Phase)
    aborted: Array(Req, Int(0, Config.horizon))  # the time of the abort
    seen: Set(Req)  # prefill has looked at the room, and it had not failed
    looked: Array(Req, Int(0, Config.horizon))  # the time of the last look
    flying: Set(Req)  # some writes have started
    started: Array(Req, Int(0, Config.horizon))  # the last start


clock = Machine("clock", "lets time pass")
decode = Machine("decode", "holds pages and frees them")
prefill = Machine("prefill", "looks at rooms and starts writes")


def may_land(s, r):
    """Whether a write of the transfer may still land."""
    return r in s.flying and s.now <= s.started[r] + cfg.life


@init
def times_fit(s):
    """What whoever sets the limit has to know."""
    s.now = 0
    require(cfg.batch <= cfg.chunk)
    if cfg.counted == Counted.BATCH:
        require(cfg.hold >= cfg.notice + cfg.batch + cfg.life)
    else:
        require(cfg.hold >= cfg.notice + cfg.chunk + cfg.life)


@action(clock)
def tick(s, d: Int(1, Config.horizon)):
    """{d} ticks pass."""
    require(s.now + d <= cfg.horizon)
    s.now += d


@action(prefill)
def look(s, r: Req):
    """Prefill looks at the room of transfer {r}, and knows of no abort."""
    require(s.phase[r] == Phase.SHARED or s.now <= s.aborted[r] + cfg.notice)
    s.seen.add(r)
    s.looked[r] = s.now


@action(prefill)
def start(s, r: Req):
    """Prefill starts a write of transfer {r}, because of its last look at the room."""
    require(r in s.seen)
    require(s.now <= s.looked[r] + (cfg.batch if cfg.rechecks else cfg.chunk))
    s.flying.add(r)
    s.started[r] = s.now


@action(decode)
def abort(s, r: Req):
    """Transfer {r} is aborted, and prefill is told."""
    require(s.phase[r] == Phase.SHARED)
    s.phase[r] = Phase.HELD
    s.aborted[r] = s.now


@action(decode)
def release(s, r: Req):
    """Decode has held the pages of transfer {r} for longer than the limit; they are free."""
    require(s.phase[r] == Phase.HELD and s.now > s.aborted[r] + cfg.hold)
    s.phase[r] = Phase.FREE


@invariant("no write may land in pages that are free")
def no_late_write(s):
    """Whoever has the pages next loses what it writes there."""
    return all(s.phase[r] != Phase.FREE for r in Req if may_land(s, r))


@sometimes("pages are free after an abort")
def freed(s):
    """Holding them for ever would be safe."""
    return any(s.phase[r] == Phase.FREE for r in Req)


@sometimes("a write is started after the abort, and may still land")
def starts_late(s):
    """Without that no limit of time would be too short."""
    return any(s.phase[r] == Phase.HELD and may_land(s, r) for r in Req)


model = Model(
    "proofs.batches",
    "bounded batches: a short call does not make a chunk short unless the room is looked at between calls",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("rechecked", "the room is looked at before each batch; one batch is counted", expect={}),
        Preset(
            "not-rechecked",
            "the room is looked at once, and one batch is counted",
            expect={"no_late_write": 7},
            rechecks=False,
        ),
        Preset(
            "summed",
            "the room is looked at once, and all batches of the chunk are counted",
            expect={},
            base="not-rechecked",
            counted=Counted.CHUNK,
            hold=4,
        ),
    ],
    # Transfers have nothing to do with each other, so that one of them is enough to find out what holds of each.
    scopes=[Scope("small", "1 transfer, 5 ticks", Req=1)],
)
