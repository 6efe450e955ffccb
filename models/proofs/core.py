"""The core of the protocol under the measures of the presets of `sglang`, with any number of requests and pages.

What `sglang` follows step by step is left to chance here: prefill may refuse or cut any prompt, any transfer may fail
with writes under way, and the limit of time of a held page may be over at any moment, for a limit proves nothing.
Prompts are longer than a page is: whoever sends less than the prompt sends fewer pages.
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

Req = Sort("Req", labels="ABCD", doc="requests")
Page = Sort("Page", doc="pages of the decode pool")


class Config(Params):
    """Named as in `sglang`; what it splits by releases is one switch here."""

    unequal_lengths: bool = flag(False, "prefill may cut a prompt, and serve it", kind="environment")
    reject_at_admission: bool = flag(False, "a refused prompt is answered, and nothing is sent", kind="mitigation")
    deferred_release: bool = flag(False, "pages of a failed transfer are held", kind="mitigation")
    no_release_timeout: bool = flag(False, "... until its writes have landed, however long", kind="mitigation")
    token_count_check: bool = flag(False, "decode compares what was sent with what it reserved", kind="mitigation")
    checksum: bool = flag(False, "decode verifies all pages once, before the first read", kind="mitigation")
    carried_tags: bool = flag(False, "a tag that comes with each page is checked at every read", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    RESERVED = auto()
    SENDING = auto()
    COMMITTED = auto()
    DECODING = auto()
    FAILED = auto()
    OVER = auto()


class State(Record):
    """The decode pool and the writes under way to it."""

    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))
    content: Array(Page, Opt(Req))  # who wrote it last; stays when the page is freed
    sent: Array(Req, Set(Page))
    flying: Array(Req, Set(Page))  # sent, and a copy at least has not landed
    misread: Bool  # a request has read what it did not write last


router = Machine("router", "sends both legs, and may drop them")
prefill = Machine("prefill", "computes the prompt, refuses it, or cuts it")
network = Machine("network", "lands writes, in any order, and copies of them")
decode = Machine("decode", "lends pages, compares, reads, frees")


def drained(s, r):
    """Whether nothing of the request is under way."""
    return not any(p in s.flying[r] for p in Page)


def clean(s, r):
    """Whether all pages of the request hold what it wrote last."""
    return all(s.content[p] == r for p in Page if s.owner[p] == r)


def free(s, r):
    """All pages of the request are free, with what is in them."""
    for p in Page:
        if s.owner[p] == r:
            s.owner[p] = None


def fail(s, r):
    """The request has failed; its pages are free at once, unless they are held."""
    if cfg.deferred_release:
        s.phase[r] = Phase.FAILED
    else:
        free(s, r)
        s.phase[r] = Phase.OVER


def send_part(s, r, part):
    """Prefill sends the pages `part` as if they were the prompt."""
    require(any(p in part for p in Page))
    require(all(s.owner[p] == r for p in Page if p in part))
    for p in Page:
        if p in part:
            s.sent[r].add(p)
            s.flying[r].add(p)
    s.phase[r] = Phase.SENDING


@action(decode)
def reserve(s, r: Req, wanted: Set(Page)):
    """Decode lends the free pages {wanted} to the prompt of request {r}."""
    require(s.phase[r] == Phase.NEW)
    require(any(p in wanted for p in Page))
    require(all(s.owner[p] is None for p in Page if p in wanted))
    for p in Page:
        if p in wanted:
            s.owner[p] = r
    s.phase[r] = Phase.RESERVED


@action(prefill)
def send(s, r: Req):
    """Prefill sends the whole prompt of request {r}."""
    require(s.phase[r] == Phase.RESERVED)
    for p in Page:
        if s.owner[p] == r:
            s.sent[r].add(p)
            s.flying[r].add(p)
    s.phase[r] = Phase.SENDING


@action(prefill)
def reject(s, r: Req, part: Set(Page)):
    """The prompt of request {r} is too long for prefill: it is refused, or a placeholder {part} is sent."""
    require(s.phase[r] == Phase.RESERVED)
    if cfg.reject_at_admission:
        fail(s, r)
    else:
        send_part(s, r, part)


@action(prefill)
def cut(s, r: Req, part: Set(Page)):
    """The prompt of request {r} is too long for prefill: it is cut to {part}."""
    require(cfg.unequal_lengths and s.phase[r] == Phase.RESERVED)
    send_part(s, r, part)


@action(network)
def land(s, r: Req, p: Page, again: Bool):
    """A write of request {r} to page {p} lands, whatever became of the request; a copy of it may be left."""
    require(p in s.flying[r])
    s.content[p] = r
    if not again:
        s.flying[r].discard(p)


@action(decode)
def commit(s, r: Req):
    """All that prefill has sent for request {r} has landed."""
    require(s.phase[r] == Phase.SENDING and drained(s, r))
    if not cfg.token_count_check or all(p in s.sent[r] for p in Page if s.owner[p] == r):
        s.phase[r] = Phase.COMMITTED
    else:
        fail(s, r)


@action(decode)
def begin(s, r: Req):
    """Request {r} joins the batch, if its checksum is right."""
    require(s.phase[r] == Phase.COMMITTED)
    if not cfg.checksum or clean(s, r):
        s.phase[r] = Phase.DECODING
    else:
        fail(s, r)


@action(decode)
def read(s, r: Req):
    """Request {r} reads its pages for the next token, if their tags are right."""
    require(s.phase[r] == Phase.DECODING)
    if not clean(s, r):
        if cfg.carried_tags:
            fail(s, r)
        else:
            s.misread = True


@action(router)
def abort(s, r: Req):
    """Request {r} is aborted, or its transfer fails with writes under way."""
    require(s.phase[r] == Phase.RESERVED or s.phase[r] == Phase.SENDING)
    fail(s, r)


@action(decode)
def release(s, r: Req):
    """The held pages of request {r} are free."""
    require(cfg.deferred_release and s.phase[r] == Phase.FAILED)
    require(drained(s, r) or not cfg.no_release_timeout)
    free(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; its pages are free."""
    require(s.phase[r] == Phase.DECODING)
    free(s, r)
    s.phase[r] = Phase.OVER


@invariant("a request reads only what it wrote last itself")
def reads_own(s):
    """Otherwise the answer is computed from another request's data, or from none."""
    return not s.misread


@invariant("every write under way is to a page that its request still has")
def no_late_write(s):
    """Whoever has the page next loses what it writes there."""
    return all(s.owner[p] == r for r in Req for p in Page if p in s.flying[r])


@sometimes("a request reads")
def reads(s):
    """Refusing everything would be safe."""
    return any(s.phase[r] == Phase.DECODING and s.owner[p] == r for r in Req for p in Page)


@sometimes("a page goes from one request to another, with what is in it")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(s.owner[p] == r and s.content[p] == q for r in Req for q in Req for p in Page if q != r)


PLACEHOLDER = {"no_late_write": 3, "reads_own": 6}
AT_ONCE = {"no_late_write": 3, "reads_own": 10}
FOR_A_TIME = {"no_late_write": 4, "reads_own": 11}
ASTRAY = {"no_late_write": 4}

model = Model(
    "proofs.core",
    "what the presets of sglang promise, for any number of requests and pages",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("0.5.19", "placeholders are sent, pages are free at once", expect=PLACEHOLDER),
        Preset("0.5.20", "no placeholders", base="0.5.19", expect=AT_ONCE, reject_at_admission=True),
        Preset("0.5.21", "and pages are held, for a time", base="0.5.20", expect=FOR_A_TIME, deferred_release=True),
        Preset("hardened", "and the checksum", base="0.5.21", expect=FOR_A_TIME, checksum=True),
        Preset(
            "tagged", "0.5.21 and tags: writes go astray, reads do not", base="0.5.21", expect=ASTRAY, carried_tags=True
        ),
        Preset("drained", "pages are held until drained", base="0.5.21", expect={}, no_release_timeout=True),
        Preset(
            "incident-patched",
            "door and count, pages free at once",
            base="0.5.20",
            expect=AT_ONCE,
            token_count_check=True,
        ),
        Preset(
            "patched", "door, count, and pages held until drained", base="drained", expect={}, token_count_check=True
        ),
        Preset(
            "drained-cut",
            "drained, and prompts may be cut",
            base="drained",
            expect={"reads_own": 6},
            unequal_lengths=True,
        ),
        Preset("patched-cut", "patched, and prompts may be cut", base="patched", expect={}, unequal_lengths=True),
        Preset("tagged-cut", "tagged, and prompts may be cut", base="tagged", expect=ASTRAY, unequal_lengths=True),
    ],
    scopes=[Scope("small", "2 requests, 2 pages", Req=2, Page=2), Scope("page", "2 requests, 1 page", Req=2, Page=1)],
    pools=[Pool("decode", Page, owner="owner", content="content")],
    flights=[Flights("flying")],
)
