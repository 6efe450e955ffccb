"""A transfer that skips the staging copy reads pages that are freed as if it did not.

Usually prefill copies its result into a staging buffer, whose release waits for the transfer; the page itself is
free at once.  For one kind of model the copy is left out, and the page is still free at once.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Report,
    Scope,
    Set,
    action,
    eventually_always,
    flag,
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Pages, Req, carry, lowest_free, page_of, release


class Config(Params):
    """The two plans, and the rule that was forgotten."""

    staged: bool = flag(False, "the result is copied before its page is freed", kind="mitigation")
    waits: bool = flag(False, "a page that is sent itself is freed after the transfer", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on prefill."""

    NEW = auto()
    SENDING = auto()
    SENT = auto()


class State(Pages):
    """The pool is prefill's."""

    phase: Array(Req, Phase)
    source: Array(Req, Opt(pages.Page))  # read by the transfer; None: the staging buffer
    buffer: Set(Req)  # whose result it has


prefill = Machine("prefill", "computes and frees")
network = Machine("network", "reads the source when it comes to it")


@action(prefill)
def compute(s, r: Req):
    """Prefill computes request {r} into the lowest free page and starts its transfer."""
    page = lowest_free(s)
    require(s.phase[r] == Phase.NEW and page is not None)
    s.owner[page] = r
    s.content[page] = r
    if cfg.staged:
        s.buffer.add(r)
    else:
        s.source[r] = page
    s.phase[r] = Phase.SENDING


@action(prefill, fair="weak")
def finish(s, r: Req):
    """Prefill is done with request {r}: its page is free."""
    require(page_of(s, r) is not None and not (cfg.waits and not cfg.staged and s.phase[r] == Phase.SENDING))
    release(s, r)


@action(network, fair="weak")
def send(s, r: Req):
    """The source of request {r} is read and sent."""
    require(s.phase[r] == Phase.SENDING)
    if s.source[r] is not None:
        carry(s, r, s.source[r])
    elif r not in s.buffer:
        s.foreign = True
    s.buffer.discard(r)
    s.phase[r] = Phase.SENT


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What was sent is not computed again."""
    return s.phase[r] in (Phase.NEW, Phase.SENT)


model = Model(
    "patterns.no_staging",
    "pages that are sent without a copy are freed as if there were one",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "no copy, and freed at once", expect={"reads_own": 4}),
        Preset("staged", "a copy, and freed at once", expect={}, staged=True),
        Preset("fixed", "no copy, and freed after the transfer", expect={}, waits=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("ai-dynamo/dynamo#826", "Dynamo", Mechanism.SOURCE_FREED)],
)
