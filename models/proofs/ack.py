"""The acknowledgement of a deferred release: prefill counts its chunks in hand, and says when there are none.

Workers of prefill take chunks, look whether the room has failed, and write.  The control thread hears of an abort in
three steps: it marks the room as failed, notes whom to tell, and tells them once nothing is counted.  Decode frees the
pages when it is told.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Flights,
    Machine,
    Model,
    Opt,
    Params,
    Pool,
    Preset,
    Record,
    Scope,
    Set,
    Sort,
    action,
    flag,
    invariant,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests, a room each")
Page = Sort("Page", doc="pages of the decode pool; each is a chunk of its own")


class Config(Params):
    """What the four known mistakes get wrong."""

    counts_first: bool = flag(
        True, "a chunk counts from when it is taken, before the room is looked at", kind="mitigation"
    )
    failed_is_terminal: bool = flag(
        True, "a room that has failed stays so, whatever is reported later", kind="mitigation"
    )
    drains_first: bool = flag(True, "the acknowledgement waits until nothing is counted", kind="mitigation")
    calls_are_clean: bool = flag(
        True, "a call that reports success has left no copy of a write behind", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    SHARED = auto()
    READING = auto()
    HELD = auto()
    OVER = auto()


class Room(Enum):
    """What prefill says of a room."""

    OPEN = auto()
    FAILED = auto()
    SUCCESS = auto()


class Notice(Enum):
    """An abort on its way through the control thread."""

    NONE = auto()
    SENT = auto()
    MARKED = auto()
    NOTED = auto()


class Chunk(Enum):
    """A chunk on prefill."""

    NONE = auto()
    QUEUED = auto()
    TAKEN = auto()
    CHECKED = auto()
    CALLED = auto()
    DONE = auto()


class State(Record):
    """Both sides, and the network between them."""

    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))  # who wrote it last; stays when the page is freed
    room: Array(Req, Room)
    chunk: Array(Req, Array(Page, Chunk))
    counted: Array(Req, Set(Page))  # chunks in hand
    flying: Array(Req, Set(Page))  # writes of which a copy at least has not landed
    landed: Array(Req, Set(Page))
    notice: Array(Req, Notice)
    poisoned: Set(Req)  # a call has failed, and nobody knows what it has left behind
    told: Set(Req)  # the acknowledgement is on its way


decode = Machine("decode", "lends pages, holds them, frees them")
control = Machine("control", "the thread of prefill that hears of aborts")
worker = Machine("worker", "threads of prefill that write")
network = Machine("network", "lands writes, and copies of them")


def free(s, r):
    """All pages of the request are free, with what is in them."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


@action(decode)
def reserve(s, r: Req, wanted: Set(Page)):
    """Decode lends the free pages {wanted} to request {r}; prefill queues a chunk for each."""
    require(s.phase[r] == Phase.NEW)
    require(any(p in wanted for p in Page))
    require(all(s.owner[p] is None for p in Page if p in wanted))
    for p in Page:
        if p in wanted:
            s.owner[p] = r
            s.chunk[r][p] = Chunk.QUEUED
    s.phase[r] = Phase.SHARED


@action(worker)
def take(s, r: Req, p: Page):
    """A worker takes the chunk of request {r} for page {p} from the queue."""
    require(s.chunk[r][p] == Chunk.QUEUED)
    s.chunk[r][p] = Chunk.TAKEN
    if cfg.counts_first:
        s.counted[r].add(p)


@action(worker)
def look(s, r: Req, p: Page):
    """The worker looks at the room of request {r}, and drops the chunk for page {p} if it has failed."""
    require(s.chunk[r][p] == Chunk.TAKEN)
    if s.room[r] == Room.FAILED:
        s.chunk[r][p] = Chunk.NONE
        s.counted[r].discard(p)
    else:
        s.chunk[r][p] = Chunk.CHECKED


@action(worker)
def call(s, r: Req, p: Page):
    """The call for page {p} of request {r} begins: the write is under way."""
    require(s.chunk[r][p] == Chunk.CHECKED)
    s.chunk[r][p] = Chunk.CALLED
    s.counted[r].add(p)
    s.flying[r].add(p)


@action(network)
def land(s, r: Req, p: Page, again: Bool):
    """A write of request {r} to page {p} lands, whatever became of the request; a copy of it may be left."""
    require(p in s.flying[r])
    s.content[p] = r
    s.landed[r].add(p)
    if not again:
        s.flying[r].discard(p)


@action(worker)
def succeed(s, r: Req, p: Page):
    """The call for page {p} of request {r} reports success: the write has landed."""
    require(s.chunk[r][p] == Chunk.CALLED and p in s.landed[r])
    require(p not in s.flying[r] or not cfg.calls_are_clean)
    s.chunk[r][p] = Chunk.DONE
    s.counted[r].discard(p)


@action(worker)
def fail(s, r: Req, p: Page):
    """The call for page {p} of request {r} fails, and may leave the write under way."""
    require(s.chunk[r][p] == Chunk.CALLED)
    s.chunk[r][p] = Chunk.DONE
    s.counted[r].discard(p)
    s.poisoned.add(r)
    s.room[r] = Room.FAILED


@action(worker)
def conclude(s, r: Req):
    """All chunks of request {r} are written: prefill reports success."""
    require(s.phase[r] != Phase.NEW and s.room[r] != Room.SUCCESS)
    require(all(s.chunk[r][p] in (Chunk.NONE, Chunk.DONE) for p in Page))
    require(s.room[r] == Room.OPEN or not cfg.failed_is_terminal)
    s.room[r] = Room.SUCCESS


@action(decode)
def complete(s, r: Req):
    """Prefill has reported success: decode reads the pages of request {r}."""
    require(s.phase[r] == Phase.SHARED and s.room[r] == Room.SUCCESS)
    s.phase[r] = Phase.READING


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; its pages are free."""
    require(s.phase[r] == Phase.READING)
    free(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def abort(s, r: Req):
    """Request {r} is aborted; decode holds its pages and tells prefill."""
    require(s.phase[r] == Phase.SHARED)
    s.phase[r] = Phase.HELD
    s.notice[r] = Notice.SENT


@action(control)
def mark(s, r: Req):
    """The abort of request {r} arrives: its room is marked as failed."""
    require(s.notice[r] == Notice.SENT)
    s.room[r] = Room.FAILED
    s.notice[r] = Notice.MARKED


@action(control)
def note(s, r: Req):
    """It is noted whom to tell about request {r}."""
    require(s.notice[r] == Notice.MARKED)
    s.notice[r] = Notice.NOTED


@action(control)
def acknowledge(s, r: Req):
    """Nothing of request {r} is in hand, and decode is told so; a poisoned room is never acknowledged."""
    require(s.notice[r] == Notice.NOTED and r not in s.poisoned)
    require(not cfg.drains_first or not any(p in s.counted[r] for p in Page))
    s.notice[r] = Notice.NONE
    s.told.add(r)


@action(decode)
def release(s, r: Req):
    """Decode is told that prefill writes nothing more for request {r}, and frees its pages."""
    require(s.phase[r] == Phase.HELD and r in s.told)
    free(s, r)
    s.phase[r] = Phase.OVER


@invariant("a request reads only what it wrote last itself")
def reads_own(s):
    """Otherwise the answer is computed from another request's data."""
    return all(s.content[p] == r for r in Req for p in Page if s.phase[r] == Phase.READING and s.owner[p] == r)


@invariant("every write under way is to a page that its request still has")
def no_late_write(s):
    """Whoever has the page next loses what it writes there."""
    return all(s.owner[p] == r for r in Req for p in Page if p in s.flying[r])


@sometimes("a request reads")
def read(s):
    """Refusing everything would be safe."""
    return any(s.phase[r] == Phase.READING and s.owner[p] == r for r in Req for p in Page)


@sometimes("a page of an aborted request goes to another one")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(
        r in s.told and s.chunk[r][p] == Chunk.NONE and s.owner[p] == q
        for r in Req
        for q in Req
        for p in Page
        if q != r
    )


@sometimes("an abort arrives while a write is under way")
def drains(s):
    """Without that there would be nothing to wait for."""
    return any(s.notice[r] == Notice.NOTED and p in s.flying[r] for r in Req for p in Page)


SPOILS = {"no_late_write": 9, "reads_own": 18}

model = Model(
    "proofs.ack",
    "the acknowledgement of a deferred release: counted chunks, an abort in three steps",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "decode frees what nobody writes to any more", expect={}),
        Preset(
            "counted-late",
            "a chunk counts only when its call begins",
            expect=SPOILS,
            counts_first=False,
        ),
        Preset(
            "failed-then-open",
            "a later report overwrites the failure",
            expect={"no_late_write": 8, "reads_own": 7},
            failed_is_terminal=False,
        ),
        Preset(
            "not-drained",
            "acknowledged as soon as the room has failed",
            expect=SPOILS,
            drains_first=False,
        ),
        Preset(
            "copies-left",
            "a call reports success and leaves a copy",
            expect=SPOILS,
            calls_are_clean=False,
        ),
    ],
    scopes=[
        Scope("small", "2 requests, 1 page", Req=2, Page=1),
        Scope("pages", "2 requests, 2 pages", Req=2, Page=2),
    ],
    pools=[Pool("decode", Page, owner="owner", content="content")],
    flights=[Flights("flying")],
)
