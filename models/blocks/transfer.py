"""A call of a transfer engine: one write a page; what the call reports, and what its writes do before and after.

The switches are what engines were seen to do on one machine over TCP, without a network card: Mooncake 0.3.10 and
0.3.13 and NIXL 1.5.1, with a receiver that is stopped, a proxy that holds requests back, or memory looked at directly.
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
    leads_to,
    require,
)

Req = Sort("Req", labels="AB", doc="requests, one call each")
Page = Sort("Page", doc="target pages; a request takes all of them")

CALL = "mooncake:mooncake-integration/transfer_engine/transfer_engine_py.cpp:batchTransferSync"
STATUS = "mooncake:mooncake-transfer-engine/src/multi_transport.cpp:getBatchTransferStatus"


class Config(Params):
    """What engines were seen to do; all off is the engine that callers hope for."""

    early_success: bool = flag(
        False,
        "a write counts as done once it has left the sender",
        cites="note: measured: Mooncake TCP, framing v1: success with 0 of 64 KiB applied, the receiver being stopped",
        kind="environment",
    )
    siblings_go_on: bool = flag(
        False,
        "the first write that fails ends the call; its siblings go on",
        cites=(STATUS, "note: measured: Mooncake TCP: 1 bad address of 1000, 999 pages landed after the error"),
        kind="environment",
    )
    times_out: bool = flag(
        False,
        "the call ends at its time limit with everything still on its way",
        cites=(CALL, "note: measured: Mooncake TCP: an error after 5 s with 0 bytes applied, all 64 MiB later"),
        kind="environment",
    )
    resubmits: bool = flag(
        False,
        "after a failure the whole batch is posted again, next to what is left of the first attempt",
        cites=(CALL, "note: read in the code, not run: it needs several network contexts"),
        kind="environment",
    )
    cancels_in_name: bool = flag(
        False,
        "a cancelled call is over for its caller, and its writes go on",
        cites="note: measured: NIXL over UCX: the handle is released without an error, and everything lands",
        kind="environment",
    )
    torn: bool = flag(
        False,
        "a page is written in two parts, and the connection may be cut between them",
        cites="note: measured: Mooncake TCP: a killed sender left 3.9 to 7.8 MB of 64 MiB, a clean prefix",
        kind="environment",
    )
    stalls: bool = flag(
        False,
        "the receiver may stop, and what is on its way to it then neither lands nor fails",
        cites="note: measured: NIXL over UCX: in progress for as long as the receiver is stopped, and without a limit",
        kind="environment",
    )
    reads_early: bool = flag(
        False,
        "the reader does not wait for the call's success: not the engine's fault",
        kind="environment",
    )


cfg = Config()


class Call(Enum):
    """What a caller knows of its call."""

    NONE = auto()
    RUNS = auto()
    SUCCESS = auto()
    ERROR = auto()


class Bytes(Enum):
    """How much of a page a write has reached."""

    WHOLE = auto()
    HALF = auto()


class State(Record):
    """One batch for each request, toward pages that serve one request after the other."""

    owner: Array(Page, Opt(Req))
    call: Array(Req, Call)
    flying: Array(Req, Set(Page))  # writes of the call, or of its last attempt
    orphans: Array(Req, Set(Page))  # writes that nobody waits for
    applied: Array(Req, Set(Page))
    failed: Array(Req, Bool)  # some write of this attempt has failed
    again: Array(Req, Bool)  # this is the second attempt
    content: Array(Page, Opt(Req))
    part: Array(Page, Bytes)
    twice: Bool  # a write was applied a second time
    stopped: Bool  # the receiver takes nothing, for good or for a while
    foreign: Bool  # a reader met another request's bytes


caller = Machine("caller", "takes the pages, posts the batch, gives the pages back")
engine = Machine("engine", "reports success or an error")
network = Machine("network", "lands writes, in any order")
reader = Machine("reader", "reads the pages of the request that has them")


def post_all(s, r):
    """A write to each page is on its way."""
    for p in Page:
        s.flying[r].add(p)


@action(caller)
def post(s, r: Req):
    """Request {r} takes the pages, and a write to each of them is posted."""
    require(s.call[r] == Call.NONE and all(s.owner[p] is None for p in Page))
    for p in Page:
        s.owner[p] = r
    s.call[r] = Call.RUNS
    post_all(s, r)


def takes(s):
    """Whether the receiver takes what comes."""
    return not (cfg.stalls and s.stopped)


def apply(s, r, p):
    """The whole of a page takes effect."""
    if p in s.applied[r]:
        s.twice = True
    s.content[p] = r
    s.part[p] = Bytes.WHOLE
    s.applied[r].add(p)


@action(network, fair="weak")
def land(s, r: Req, p: Page):
    """The write of request {r} to page {p} lands."""
    require(p in s.flying[r] and takes(s))
    apply(s, r, p)
    s.flying[r].discard(p)


@action(network, fair="weak")
def land_late(s, r: Req, p: Page):
    """The write of request {r} to page {p}, which nobody waits for, lands."""
    require(cfg.resubmits and p in s.orphans[r] and takes(s))
    apply(s, r, p)
    s.orphans[r].discard(p)


@action(network)
def fail(s, r: Req, p: Page):
    """The write of request {r} to page {p} fails; with `torn`, when the first half has landed."""
    require(s.call[r] == Call.RUNS and p in s.flying[r] and takes(s))
    require(not s.failed[r] and not (cfg.resubmits and s.again[r]))
    s.flying[r].discard(p)
    s.failed[r] = True
    if cfg.torn:
        s.content[p] = r
        s.part[p] = Bytes.HALF


@action(network)
def stop_receiver(s, stopped: Bool):
    """The receiver takes nothing any more (`stopped`), or goes on."""
    require(cfg.stalls and s.stopped != stopped)
    s.stopped = stopped


@action(engine, cites=STATUS, fair="weak")
def succeed(s, r: Req):
    """All writes of request {r} are done, as far as the engine knows: success."""
    require(s.call[r] == Call.RUNS and not s.failed[r] and (cfg.early_success or not s.flying[r]))
    s.call[r] = Call.SUCCESS


@action(engine, cites=STATUS, fair="weak")
def report_error(s, r: Req):
    """The call of request {r} ends with an error."""
    require(s.call[r] == Call.RUNS and s.failed[r] and not cfg.resubmits)
    require(cfg.siblings_go_on or not s.flying[r])
    s.call[r] = Call.ERROR


@action(engine, cites=CALL, fair="weak")
def time_out(s, r: Req):
    """The call of request {r} is over its time limit."""
    require(cfg.times_out and s.call[r] == Call.RUNS and s.flying[r])
    s.call[r] = Call.ERROR


@action(caller)
def cancel(s, r: Req):
    """The caller cancels the call of request {r}, and is told that it is over."""
    require(cfg.cancels_in_name and s.call[r] == Call.RUNS and s.flying[r])
    s.call[r] = Call.ERROR


@action(engine, cites=CALL, fair="weak")
def resubmit(s, r: Req):
    """A write of request {r} has failed: the batch is posted again."""
    require(cfg.resubmits and s.call[r] == Call.RUNS and s.failed[r])
    s.orphans[r] = set(s.flying[r])
    post_all(s, r)
    s.failed[r] = False
    s.again[r] = True


def has_pages(s, r):
    """Whether the pages serve request `r`."""
    return all(s.owner[p] == r for p in Page)


@action(reader)
def read(s, r: Req):
    """The pages of request {r} are read."""
    require(has_pages(s, r) and (s.call[r] == Call.SUCCESS or (cfg.reads_early and s.call[r] == Call.RUNS)))
    if any(s.content[p] not in (None, r) for p in Page):
        s.foreign = True


@action(caller)
def give_back(s, r: Req):
    """The call of request {r} is over, and the pages are free for the next one."""
    require(has_pages(s, r) and s.call[r] in (Call.SUCCESS, Call.ERROR))
    for p in Page:
        s.owner[p] = None


@invariant("success means that every page has been applied")
def success_means_applied(s):
    """The reader starts at once."""
    return all(len(s.applied[r]) == len(Page) for r in Req if s.call[r] == Call.SUCCESS)


@invariant("an error means that nothing of the call is on its way")
def error_means_quiet(s):
    """The caller gives the pages to somebody else."""
    return all(not s.flying[r] and not s.orphans[r] for r in Req if s.call[r] == Call.ERROR)


@invariant("no page is written twice by one call")
def applied_once(s):
    """The second copy comes when it likes, also after the call's success."""
    return not s.twice


@invariant("a page that is given back is written in whole or not at all")
def pages_change_whole(s):
    """Nothing on the receiver's side says where in the page the old bytes begin."""
    return all(s.part[p] == Bytes.WHOLE for p in Page if s.owner[p] is None)


@leads_to("a call comes to its end")
def call_ends(s, r: Req):
    """A caller that waits holds the pages, and a thread."""
    return s.call[r] == Call.RUNS, s.call[r] != Call.RUNS


@invariant("a reader meets nobody else's bytes")
def reads_nothing_foreign(s):
    """What the others lead to, once the pages are given away."""
    return not s.foreign


model = Model(
    "blocks.transfer",
    "a batch of page writes: what its call reports, and when they land",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "a call ends when its writes have ended: every property holds"),
        Preset(
            "success-before-applied",
            "success when the bytes have left: success_means_applied",
            early_success=True,
        ),
        Preset(
            "siblings-go-on",
            "one bad write ends the call, the others land later: error_means_quiet",
            siblings_go_on=True,
        ),
        Preset("time-out", "the call gives up, its writes do not: error_means_quiet", times_out=True),
        Preset("cancelled", "the call is cancelled, its writes are not: error_means_quiet", cancels_in_name=True),
        Preset("resubmitted", "two attempts land side by side: applied_once", resubmits=True),
        Preset("torn", "a cut leaves half a page: pages_change_whole", torn=True),
        Preset("stalled", "the receiver stops, and the call waits for it: call_ends", stalls=True),
        Preset(
            "stalled-time-out",
            "the call does not wait, and everything lands when the receiver goes on: error_means_quiet",
            base="stalled",
            times_out=True,
        ),
        Preset(
            "reads-early",
            "the reader does not wait, and the pages were somebody else's: reads_nothing_foreign",
            scope="reuse",
            reads_early=True,
        ),
    ],
    scopes=[
        Scope("call", "1 request, 2 pages: what the engine promises its caller", Req=1, Page=2),
        Scope("reuse", "2 requests, one after the other in the same 2 pages: what comes of it", Req=2, Page=2),
    ],
    pools=[Pool("target", Page, owner="owner", content="content")],
    flights=[Flights("flying"), Flights("orphans")],
)
