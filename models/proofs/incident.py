"""The incident's chain: prefill sends less than the prompt, decode reads all that it has reserved for it.

Memory is counted in slots of one token each.  Prefill may refuse a prompt that its pool cannot hold by swapping it for
a placeholder, or cut it to what fits; decode hears of neither.  What prefill makes of a prompt begins where the prompt
begins, so two of them that have equally many tokens have the same ones: the checks compare sets and need no numbers.
Pages are told by their first slots (`starts`): as many pages means the same first slots.
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
    init,
    invariant,
    require,
    sometimes,
)

Req = Sort("Req", labels="ABCD", doc="requests")
Slot = Sort("Slot", doc="slots of the decode pool, one token each")


class Config(Params):
    """What a preset fixes."""

    aborts: bool = flag(True, "requests are aborted while their writes are under way")
    truncates: bool = flag(False, "prefill may cut a prompt to what its pool holds, and serve it")
    door: bool = flag(False, "a refused request is retired at admission, and decode is told", kind="mitigation")
    token_count_check: bool = flag(
        False, "decode compares the tokens that were sent with those that it reserved for", kind="mitigation"
    )
    page_count_check: bool = flag(
        False, "decode compares the pages that were sent with those that it reserved", kind="mitigation"
    )
    deferred_release: bool = flag(
        False, "memory of an aborted request is held until writes to it have landed", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    RESERVED = auto()
    SENDING = auto()
    READING = auto()
    FAILED = auto()
    OVER = auto()


class State(Record):
    """The decode pool and the writes under way to it."""

    starts: Set(Slot)  # slots that begin a page
    phase: Array(Req, Phase)
    owner: Array(Slot, Opt(Req))
    content: Array(Slot, Opt(Req))  # who wrote it last; stays when the slot is freed
    sent: Array(Req, Set(Slot))  # what prefill has posted for the request
    flying: Array(Req, Set(Slot))  # posted, and a copy at least has not landed


router = Machine("router", "sends both legs, and may drop them")
prefill = Machine("prefill", "computes the prompt, refuses it, or cuts it")
network = Machine("network", "lands posted writes, in any order, and copies of them")
decode = Machine("decode", "lends memory, compares, reads")


def drained(s, r):
    """Whether nothing of the request is under way."""
    return not any(k in s.flying[r] for k in Slot)


def free(s, r):
    """All memory of the request is free, with what is in it."""
    for k in Slot:
        if s.owner[k] == r:
            s.owner[k] = None


def counts_agree(s, r):
    """What the count checks that are on can see."""
    tokens = all(k in s.sent[r] for k in Slot if s.owner[k] == r)
    pages = all(k in s.sent[r] for k in Slot if s.owner[k] == r and k in s.starts)
    return (tokens or not cfg.token_count_check) and (pages or not cfg.page_count_check)


@init
def pages_begin(s, starts: Set(Slot)):
    """Any slots may begin pages: pages of any size."""
    s.starts = starts


@action(decode)
def reserve(s, r: Req, wanted: Set(Slot)):
    """Decode lends the free slots {wanted} to the prompt of request {r}."""
    require(s.phase[r] == Phase.NEW)
    require(any(k in wanted and k in s.starts for k in Slot))
    require(all(s.owner[k] is None for k in Slot if k in wanted))
    for k in Slot:
        if k in wanted:
            s.owner[k] = r
    s.phase[r] = Phase.RESERVED


@action(prefill)
def send(s, r: Req):
    """Prefill has computed the prompt of request {r} and posts all of it."""
    require(s.phase[r] == Phase.RESERVED)
    for k in Slot:
        if s.owner[k] == r:
            s.sent[r].add(k)
            s.flying[r].add(k)
    s.phase[r] = Phase.SENDING


def post_part(s, r, kept):
    """Prefill posts `kept`, the beginning of the prompt, as if it were the prompt."""
    require(any(k in kept and k in s.starts for k in Slot))
    require(all(s.owner[k] == r for k in Slot if k in kept))
    for k in Slot:
        if k in kept:
            s.sent[r].add(k)
            s.flying[r].add(k)
    s.phase[r] = Phase.SENDING


@action(prefill)
def reject(s, r: Req, kept: Set(Slot)):
    """Prefill cannot hold the prompt of request {r}: it is refused at the door, or its placeholder {kept} is sent."""
    require(s.phase[r] == Phase.RESERVED)
    if cfg.door:
        s.phase[r] = Phase.FAILED
    else:
        post_part(s, r, kept)


@action(prefill)
def truncate(s, r: Req, kept: Set(Slot)):
    """Prefill cuts the prompt of request {r} to {kept}, which its pool can hold, and serves that."""
    require(cfg.truncates and s.phase[r] == Phase.RESERVED)
    post_part(s, r, kept)


@action(network)
def land(s, r: Req, k: Slot, again: Bool):
    """A write of request {r} lands in slot {k}, whatever became of the request; a copy of it may be left."""
    require(k in s.flying[r])
    s.content[k] = r
    if not again:
        s.flying[r].discard(k)


@action(decode)
def complete(s, r: Req):
    """All that prefill has sent for request {r} has landed: decode compares, then reads or gives up."""
    require(s.phase[r] == Phase.SENDING and drained(s, r))
    if counts_agree(s, r):
        s.phase[r] = Phase.READING
    else:
        s.phase[r] = Phase.FAILED


@action(router)
def abort(s, r: Req):
    """Request {r} is aborted on both sides."""
    require(cfg.aborts and (s.phase[r] == Phase.RESERVED or s.phase[r] == Phase.SENDING))
    s.phase[r] = Phase.FAILED


@action(decode)
def release(s, r: Req):
    """The memory of failed request {r} is free."""
    require(s.phase[r] == Phase.FAILED and (drained(s, r) or not cfg.deferred_release))
    free(s, r)
    s.phase[r] = Phase.OVER


@action(decode)
def finish(s, r: Req):
    """Request {r} has its answer; its memory is free."""
    require(s.phase[r] == Phase.READING)
    free(s, r)
    s.phase[r] = Phase.OVER


@invariant("a request reads only what it wrote last itself")
def reads_own(s):
    """Otherwise the answer is computed from another request's data, or from none."""
    return all(s.content[k] == r for r in Req for k in Slot if s.phase[r] == Phase.READING and s.owner[k] == r)


@invariant("every write under way is to memory that its request still has")
def no_late_write(s):
    """Whoever has the memory next loses what it writes there."""
    return all(s.owner[k] == r for r in Req for k in Slot if k in s.flying[r])


@sometimes("a request reads")
def read(s):
    """Refusing everything would be safe."""
    return any(s.phase[r] == Phase.READING and s.owner[k] == r for r in Req for k in Slot)


@sometimes("memory goes from one request to another, with what is in it")
def reused(s):
    """Without reuse nothing could go wrong."""
    return any(s.owner[k] == r and s.content[k] == q for r in Req for q in Req for k in Slot if q != r)


LEAK = {"reads_own": 4}  # the incident
LATE = {"no_late_write": 4, "reads_own": 9}  # an abort, and a late write
BOTH = LATE | LEAK

model = Model(
    "proofs.incident",
    "the incident's chain, and what stops it: prefill sends less than the prompt, decode reads all that it reserved",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("nothing", "the placeholder goes through, memory is freed at once", expect=BOTH),
        Preset("door", "refused at the door", expect=LATE, door=True),
        Preset("tokens", "decode counts tokens", expect=LATE, token_count_check=True),
        Preset("pages", "decode counts pages", expect=BOTH, page_count_check=True),
        Preset("deferred", "release is deferred", expect=LEAK, deferred_release=True),
        Preset("door-deferred", "door and deferred release", base="door", expect={}, deferred_release=True),
        Preset("tokens-deferred", "tokens and deferred release", base="tokens", expect={}, deferred_release=True),
        Preset("pages-deferred", "pages and deferred release", base="pages", expect=LEAK, deferred_release=True),
        Preset("door-patient", "door, and nobody aborts", base="door", expect={}, aborts=False),
        Preset("tokens-patient", "tokens, and nobody aborts", base="tokens", expect={}, aborts=False),
        Preset("pages-patient", "pages, and nobody aborts", base="pages", expect=LEAK, aborts=False),
        Preset(
            "door-truncates",
            "prompts are cut: the door does not help",
            base="door-deferred",
            expect=LEAK,
            truncates=True,
        ),
        Preset(
            "tokens-truncates", "prompts are cut, tokens counted", base="tokens-deferred", expect={}, truncates=True
        ),
    ],
    scopes=[
        Scope("small", "2 requests, 2 slots", Req=2, Slot=2),
        Scope("slots", "2 requests, 3 slots", Req=2, Slot=3),
    ],
    pools=[Pool("decode", Slot, owner="owner", content="content")],
    flights=[Flights("flying")],
)
