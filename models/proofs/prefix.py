"""A prefix index: what is in it is read by every later request whose prompt begins alike.

One page holds a prefix.  A request finds the page in the index, or gets one, has it filled by a transfer and puts it
into the index.  What a transfer brings may be wrong.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Model,
    Opt,
    Params,
    Preset,
    Record,
    Scope,
    Sort,
    action,
    flag,
    invariant,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests")
Page = Sort("Page", doc="pages of the decode pool")
Prefix = Sort("Prefix", doc="beginnings of prompts")


class Config(Params):
    """When a page enters the index, and what keeps it."""

    publishes_filled: bool = flag(
        True, "a page enters the index after it is filled, not when it is lent", kind="mitigation"
    )
    publishes_verified: bool = flag(True, "... and after it has been verified", kind="mitigation")
    locks: bool = flag(True, "a page that a request uses is not lent again, in the index or not", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    ASKS = auto()
    FILLS = auto()
    FILLED = auto()
    READS = auto()
    OVER = auto()


class State(Record):
    """The pool, the index, and what requests want."""

    phase: Array(Req, Phase)
    wants: Array(Req, Opt(Prefix))
    fills: Array(Req, Opt(Page))  # the page that is filled for the request
    reads: Array(Req, Opt(Page))  # the page that it reads: its own, or one of the index
    entry: Array(Prefix, Opt(Page))  # the index
    holds: Array(Page, Opt(Prefix))  # the prefix that the bytes of the page are of; None: of none


router = Machine("router", "sends requests")
index = Machine("index", "finds, keeps and evicts pages")
transfer = Machine("transfer", "fills pages")
engine = Machine("engine", "verifies and reads")


def publish(s, k, p):
    """Page `p` is in the index under prefix `k`, unless there is one already."""
    if s.entry[k] is None:
        s.entry[k] = p


@action(router)
def arrive(s, r: Req, k: Prefix):
    """Request {r} arrives; its prompt begins with {k}."""
    require(s.phase[r] == Phase.NEW)
    s.wants[r] = k
    s.phase[r] = Phase.ASKS


@action(index)
def hit(s, r: Req, k: Prefix, p: Page):
    """The index has page {p} for prefix {k}, and request {r} reads it."""
    require(s.phase[r] == Phase.ASKS and s.wants[r] == k and s.entry[k] == p)
    s.reads[r] = p
    s.phase[r] = Phase.READS


@action(index)
def miss(s, r: Req, k: Prefix, p: Page):
    """The index has no page for prefix {k}: request {r} gets page {p}, to be filled."""
    require(s.phase[r] == Phase.ASKS and s.wants[r] == k and s.entry[k] is None)
    require(all(s.entry[q] != p for q in Prefix) and all(s.fills[q] != p for q in Req))
    require(all(s.reads[q] != p for q in Req) or not cfg.locks)
    s.fills[r] = p
    s.phase[r] = Phase.FILLS
    if not cfg.publishes_filled:
        publish(s, k, p)


@action(transfer)
def fill(s, r: Req, k: Prefix, p: Page, right: Bool):
    """A transfer fills page {p} for request {r}, with the bytes of prefix {k} or with others."""
    require(s.phase[r] == Phase.FILLS and s.fills[r] == p and s.wants[r] == k)
    if right:
        s.holds[p] = k
    else:
        s.holds[p] = None
    s.phase[r] = Phase.FILLED
    if cfg.publishes_filled and not cfg.publishes_verified:
        publish(s, k, p)


@action(engine)
def verify(s, r: Req, k: Prefix, p: Page):
    """Page {p} is found to hold prefix {k}: request {r} reads it."""
    require(s.phase[r] == Phase.FILLED and s.fills[r] == p and s.wants[r] == k and s.holds[p] == k)
    s.fills[r] = None
    s.reads[r] = p
    s.phase[r] = Phase.READS
    if cfg.publishes_filled and cfg.publishes_verified:
        publish(s, k, p)


@action(engine)
def end(s, r: Req):
    """Request {r} is over, served or not."""
    require(s.phase[r] not in (Phase.NEW, Phase.OVER))
    s.fills[r] = None
    s.reads[r] = None
    s.phase[r] = Phase.OVER


@action(index)
def evict(s, k: Prefix):
    """The index gives the page of prefix {k} up."""
    require(s.entry[k] is not None)
    s.entry[k] = None


@invariant("a request reads bytes of its own prefix")
def reads_own(s):
    """Otherwise the answer is computed from another prompt's data, or from none."""
    return all(s.holds[p] == k for r in Req for p in Page for k in Prefix if s.reads[r] == p and s.wants[r] == k)


@invariant("what is in the index holds the prefix under which it is found")
def index_is_right(s):
    """It is read by every later request whose prompt begins alike."""
    return all(s.holds[p] == k for k in Prefix for p in Page if s.entry[k] == p)


@sometimes("two requests read one page")
def shared(s):
    """Without sharing there is nothing to spread."""
    return any(s.reads[q] == p and s.reads[r] == p for p in Page for q in Req for r in Req if q != r)


@sometimes("a page is lent that holds another prefix")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(
        s.fills[r] == p and s.wants[r] == k and s.holds[p] == other
        for r in Req
        for p in Page
        for k in Prefix
        for other in Prefix
        if other != k
    )


model = Model(
    "proofs.prefix",
    "a prefix index: nothing enters it that has not been verified, and what is used is not lent again",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "published when verified, locked while used", expect={}),
        Preset(
            "at-lending", "published when lent", expect={"index_is_right": 2, "reads_own": 4}, publishes_filled=False
        ),
        Preset(
            "unverified",
            "published when filled",
            expect={"index_is_right": 3, "reads_own": 5},
            publishes_verified=False,
        ),
        Preset("unlocked", "what was evicted is lent again though it is read", expect={"reads_own": 8}, locks=False),
    ],
    scopes=[
        Scope("small", "3 requests, 2 pages, 2 prefixes", Req=3, Page=2, Prefix=2),
        Scope("page", "3 requests, 1 page, 2 prefixes", Req=3, Page=1, Prefix=2),
    ],
)
