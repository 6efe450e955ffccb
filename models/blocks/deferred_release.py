"""Deferred release: decode keeps the pages of an aborted transfer until prefill says that it writes no more.

The acknowledgement comes from two threads of prefill: one marks the room as failed and notes whom to tell, the other
works off the queue of chunks and counts what it has in hand.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Model,
    Params,
    Preset,
    Record,
    Scope,
    Set,
    action,
    choice,
    flag,
    init,
    invariant,
    leads_to,
    number,
    require,
)

ACK = "srt/disaggregation/common/conn.py:CommonKVManager._maybe_ack_drained_abort"
CONTROL = "srt/disaggregation/mooncake/conn.py:MooncakeKVManager.start_prefill_thread"
WORKER = "srt/disaggregation/mooncake/conn.py:MooncakeKVManager.transfer_worker"
RESOLVE = "srt/disaggregation/decode.py:DecodeTransferQueue.resolve_deferred_releases"

LIFE = Int(0, 1)
"""The room is used twice."""


class Limit(Enum):
    """How long decode waits for the acknowledgement."""

    SHORT = auto()  # any moment may be too late
    LONG = auto()  # longer than anything can take that may still write
    NONE = auto()


class Config(Params):
    """What a preset fixes."""

    counts_early: bool = flag(
        True,
        "a chunk counts from when it is taken, before the room is looked at",
        cites=WORKER,
        kind="mitigation",
    )
    marks_first: bool = flag(True, "the room is marked as failed before it is noted whom to tell", kind="mitigation")
    poisons: bool = flag(
        True,
        "a room with a failed call is never acknowledged, for nobody knows what it left behind",
        cites="0.5.22+ srt/disaggregation/common/conn.py:CommonKVManager.poison_deferred_ack_room",
        kind="mitigation",
    )
    numbered: bool = flag(
        True,
        "an acknowledgement counts only for the hold that asked for it",
        cites="0.5.22+ srt/disaggregation/common/conn.py:AckTarget",
        kind="mitigation",
    )
    limit: Limit = choice(Limit.LONG, "the time limit of a hold", cites=RESOLVE)
    chunks: int = number(2, "chunks of a transfer", least=1, most=2)


cfg = Config()


class Hold(Enum):
    """The pages, as decode sees them."""

    SHARED = auto()  # prefill may write to them
    HELD = auto()  # aborted; prefill may still write to them
    FREE = auto()


class Worker(Enum):
    """The thread of prefill that sends chunks."""

    IDLE = auto()
    TAKEN = auto()
    LOOKED = auto()  # has seen that the room has not failed
    WRITES = auto()


class Notice(Enum):
    """The abort on its way through the control thread of prefill."""

    NONE = auto()
    SENT = auto()
    HALF = auto()
    NOTED = auto()


class State(Record):
    """One room, its pages on decode and its two threads on prefill."""

    life: LIFE
    hold: Hold
    queue: Int(0, 2)  # chunks that no worker has taken
    worker: Worker
    counted: Bool  # the worker's chunk counts as in hand
    failed: Bool
    target: Bool  # it is noted whom to tell
    notice: Notice
    poisoned: Bool
    orphan: Bool  # a failed call has left writes on their way
    acks: Set(LIFE)  # acknowledgements on their way, with the life they are of
    false_ack: Bool
    freed_early: Bool
    mistaken: Bool


decode = Machine("decode", "holds pages and frees them")
control = Machine("control", "the thread of prefill that hears of aborts")
worker = Machine("worker", "the thread of prefill that writes")
network = Machine("network", "lands what a failed call left, and brings acknowledgements")


@init
def transfer_begins(s):
    """The chunks of the transfer are queued."""
    s.queue = cfg.chunks


def quiet(s):
    """Whether nothing writes to the pages, nor will."""
    never = s.failed or (s.queue == 0 and s.worker == Worker.IDLE)
    return never and not s.orphan and s.worker not in (Worker.LOOKED, Worker.WRITES)


def acknowledge_if_drained(s):
    """Whoever is to be told is told once, unless the room is poisoned."""
    if s.target and not s.counted:
        s.target = False
        if not s.poisoned:
            s.acks.add(s.life)
            if not quiet(s):
                s.false_ack = True


@action(decode)
def abort(s):
    """Decode aborts the transfer, holds its pages, and tells prefill."""
    require(s.hold == Hold.SHARED)
    s.hold = Hold.HELD
    s.notice = Notice.SENT


@action(control, cites=CONTROL, fair="weak")
def begin_notice(s):
    """The abort arrives: the room is marked as failed (or, the wrong way round, noted first)."""
    require(s.notice == Notice.SENT)
    if cfg.marks_first:
        s.failed = True
    else:
        s.target = True
    s.notice = Notice.HALF


@action(control, cites=CONTROL, fair="weak")
def finish_notice(s):
    """It is noted whom to tell (or, the wrong way round, the room marked)."""
    require(s.notice == Notice.HALF)
    if cfg.marks_first:
        s.target = True
    else:
        s.failed = True
    s.notice = Notice.NOTED


@action(control, cites=ACK, fair="weak")
def acknowledge(s):
    """If nothing is in hand, the acknowledgement goes out at once."""
    require(s.notice == Notice.NOTED)
    s.notice = Notice.NONE
    acknowledge_if_drained(s)


@action(worker, cites=WORKER, fair="weak")
def take(s):
    """The worker takes a chunk."""
    require(s.worker == Worker.IDLE and s.queue > 0)
    s.queue -= 1
    s.worker = Worker.TAKEN
    s.counted = cfg.counts_early


@action(worker, cites=WORKER, fair="weak")
def look(s):
    """The worker looks at the room, and drops the chunk if it has failed."""
    require(s.worker == Worker.TAKEN)
    if s.failed:
        s.worker = Worker.IDLE
        s.counted = False
        acknowledge_if_drained(s)
    else:
        s.worker = Worker.LOOKED


@action(worker, fair="weak")
def begin(s):
    """The call begins."""
    require(s.worker == Worker.LOOKED)
    s.worker = Worker.WRITES
    s.counted = True


@action(worker, fair="weak")
def end(s):
    """The call has written everything."""
    require(s.worker == Worker.WRITES)
    s.worker = Worker.IDLE
    s.counted = False
    acknowledge_if_drained(s)


@action(worker, cites=WORKER)
def fail(s):
    """The call fails and leaves writes on their way."""
    require(s.worker == Worker.WRITES)
    s.worker = Worker.IDLE
    s.orphan = True
    s.failed = True
    s.poisoned = cfg.poisons
    s.counted = False
    acknowledge_if_drained(s)


@action(network, fair="weak")
def land_late(s):
    """What the failed call left lands."""
    require(s.orphan)
    s.orphan = False


@action(network, fair="weak")
def bring(s, life: LIFE):
    """An acknowledgement of life {life} arrives, and decode frees the pages that it holds."""
    require(life in s.acks)
    s.acks.discard(life)
    if s.hold == Hold.HELD and (not cfg.numbered or life == s.life):
        s.hold = Hold.FREE
        if life != s.life:
            s.mistaken = True


@action(decode, cites=RESOLVE, fair="weak")
def expire(s):
    """The time limit of the hold is over, and decode frees the pages."""
    require(s.hold == Hold.HELD and cfg.limit != Limit.NONE)
    require(quiet(s) or cfg.limit == Limit.SHORT)
    if not quiet(s):
        s.freed_early = True
    s.hold = Hold.FREE


@action(decode)
def use_again(s):
    """The room begins another life; prefill has forgotten the first."""
    require(s.hold == Hold.FREE and s.life == 0)
    require(s.notice == Notice.NONE and s.queue == 0 and s.worker == Worker.IDLE and not s.orphan)
    s.life = 1
    s.hold = Hold.SHARED
    s.queue = cfg.chunks
    s.failed = False
    s.target = False
    s.poisoned = False


@invariant("an acknowledgement means that nothing writes to the pages any more")
def ack_means_quiet(s):
    """Decode frees them because of it."""
    return not s.false_ack


@invariant("a time limit frees no page that is still written to")
def limit_means_quiet(s):
    """A limit proves nothing; it has to be longer than everything that it waits for."""
    return not s.freed_early


@invariant("an acknowledgement frees what it was asked for")
def ack_fits(s):
    """One that comes late would free the pages of the room's next life."""
    return not s.mistaken


@leads_to("held pages are free in the end")
def holds_end(s):
    """What is never acknowledged, and has no limit, is missing until the engine restarts."""
    return s.hold == Hold.HELD, s.hold != Hold.HELD


model = Model(
    "blocks.deferred_release",
    "pages of an aborted transfer: held until acknowledged, or for a time",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset(
            "counted-at-begin",
            "acknowledged between the look at the room and the call: ack_means_quiet",
            counts_early=False,
        ),
        Preset(
            "noted-first",
            "acknowledged between two chunks, and the room not yet marked: ack_means_quiet",
            marks_first=False,
        ),
        Preset("not-poisoned", "acknowledged after a failed call: ack_means_quiet", poisons=False),
        Preset("short-limit", "the limit ends before a call does: limit_means_quiet", limit=Limit.SHORT),
        Preset("not-numbered", "a late acknowledgement frees the next life's pages: ack_fits", numbered=False),
        Preset("no-limit", "a poisoned room is never acknowledged: holds_end", limit=Limit.NONE),
    ],
    scopes=[
        Scope("small", "2 chunks", chunks=2),
        Scope("one-chunk", "1 chunk: the order of mark and note does not matter", chunks=1),
    ],
)
