"""A prompt that is too long is refused by swapping it for a placeholder, which is then transferred as if it were the
prompt.

Prefill refuses a prompt that its pool cannot hold by cutting it to one token, and the request still goes through
the queues.  Prefill sends one page as all there is; decode, which has reserved pages for the whole prompt, commits
them and reads what nobody has written.
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
    action,
    flag,
    invariant,
    leads_to,
    number,
    require,
)

from ..kit import pages, push
from ..kit.pages import POOL, Page, Pages, Req, read, release
from ..kit.push import FLIGHTS, Push, quiet


class Config(Params):
    """Pools in pages; three places to stop it."""

    prefill_pages: int = number(1, "pages that prefill can hold", least=1, most=3)
    at_the_door: bool = flag(
        False, "prefill refuses before the queues, and decode is told", cites="#30551", kind="mitigation"
    )
    counted: bool = flag(False, "decode compares the tokens that were sent with those of the prompt", kind="mitigation")
    failed_stays: bool = flag(False, "a request that was refused reports failure instead of success", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    WAITS = auto()
    OVER = auto()


class Sent(Enum):
    """What prefill has said."""

    NOTHING = auto()
    WRITES = auto()
    SUCCESS = auto()
    FAILURE = auto()


class Client(Enum):
    """What the client has seen."""

    WAITS = auto()
    SUCCESS = auto()
    ERROR = auto()


class State(Pages, Push):
    """Every prompt takes all of decode's pages, or one."""

    phase: Array(Req, Phase)
    long: Array(Req, Bool)
    sent: Array(Req, Sent)
    count: Array(Req, Int(0, Page))  # pages that prefill has sent
    client: Array(Req, Client)


router = Machine("router", "sends both legs")
prefill = Machine("prefill", "computes, or swaps for a placeholder")
decode = Machine("decode", "reserves, commits, reads")


def need(s, r):
    """Pages that the prompt takes."""
    return len(Page) if s.long[r] else 1


@action(router, fair="weak")
def submit(s, r: Req, long: Bool):
    """Request {r} arrives, and decode reserves pages for its prompt."""
    require(s.phase[r] == Phase.NEW and all(s.owner[p] is None for p in Page))
    s.long[r] = long
    for p in Page:
        if int(p) < need(s, r):
            s.owner[p] = r
    s.phase[r] = Phase.WAITS


@action(prefill, fair="weak")
def compute(s, r: Req):
    """Prefill computes request {r} and posts the writes: all pages, or the one of the placeholder."""
    require(s.phase[r] == Phase.WAITS and s.sent[r] == Sent.NOTHING)
    refused = need(s, r) > cfg.prefill_pages
    if refused and (cfg.at_the_door or cfg.failed_stays):
        s.sent[r] = Sent.FAILURE
    else:
        s.count[r] = 1 if refused else need(s, r)
        for p in Page:
            if int(p) < s.count[r]:
                s.flying[r].add(p)
        s.sent[r] = Sent.WRITES


@action(prefill, fair="weak")
def report(s, r: Req):
    """Everything that prefill has posted for request {r} has landed: success."""
    require(s.sent[r] == Sent.WRITES and quiet(s, r))
    s.sent[r] = Sent.SUCCESS


@action(decode, fair="weak")
def commit(s, r: Req):
    """Prefill has said how it ended: decode reads the pages of request {r} and answers, or gives an error."""
    require(s.phase[r] == Phase.WAITS and s.sent[r] in (Sent.SUCCESS, Sent.FAILURE))
    if s.sent[r] == Sent.FAILURE or (cfg.counted and s.count[r] != need(s, r)):
        s.client[r] = Client.ERROR
    else:
        read(s, r)
        s.client[r] = Client.SUCCESS
    release(s, r)
    s.phase[r] = Phase.OVER


@invariant("a prompt that prefill cannot hold gets an error")
def too_long_is_an_error(s):
    """The client sees success, and fluent text."""
    return all(not (s.client[r] == Client.SUCCESS and need(s, r) > cfg.prefill_pages) for r in Req)


@leads_to("every request is answered")
def all_answered(s, r: Req):
    """A refusal is an answer."""
    return s.phase[r] == Phase.WAITS, s.client[r] != Client.WAITS


@invariant("a prompt that prefill can hold gets no error")
def fits_is_served(s):
    """Refusing everything would be safe."""
    return all(not (s.client[r] == Client.ERROR and need(s, r) <= cfg.prefill_pages) for r in Req)


model = Model(
    "patterns.placeholder",
    "a placeholder for a refused prompt is taken for the prompt",
    state=State,
    parts=[push, __name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "the placeholder goes through", expect={"reads_own": 5, "too_long_is_an_error": 5}),
        Preset("fixed", "refused at the door", expect={}, at_the_door=True),
        Preset("counted", "decode counts", expect={}, counted=True),
        Preset("failed-stays", "a refusal is a failure", expect={}, failed_stays=True),
    ],
    scopes=[Scope("small", "2 requests, 2 pages", Req=2, Page=2)],
    pools=[POOL],
    flights=[FLIGHTS],
    reports=[Report("sgl-project/sglang#30233", "SGLang", Mechanism.STATUS)],
)
