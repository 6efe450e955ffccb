"""Prefill's lease on a page ends while decode has not read it yet, and decode reads it all the same.

Prefill keeps the pages of a finished prompt for decode to fetch, and not for ever.  When the lease ends they go to
another request; a one-sided read that comes afterwards gets the new bytes and does not fail.  Heartbeats renew the
lease, if they name the request in a way that prefill knows.
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
    action,
    eventually_always,
    flag,
    leads_to,
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Page, Pages, Req, carry, lowest_free, page_of, release


class Config(Params):
    """What keeps a lease alive, and what notices that it was not."""

    heartbeats: bool = flag(False, "decode renews the leases of requests that it still wants", kind="mitigation")
    known_names: bool = flag(True, "heartbeats name requests as prefill does")
    verified: bool = flag(False, "after a read decode asks whether the lease still stood", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """What decode knows of a request."""

    NEW = auto()
    QUEUED = auto()
    READING = auto()
    SERVED = auto()
    DROPPED = auto()


class State(Pages):
    """The pool is prefill's."""

    phase: Array(Req, Phase)
    address: Array(Req, Opt(Page))  # where decode will read


prefill = Machine("prefill", "computes, leases pages, ends leases")
decode = Machine("decode", "reads when it has time")


@action(prefill)
def compute(s, r: Req):
    """Prefill computes request {r} into the lowest free page, and tells decode the address."""
    page = lowest_free(s)
    require(s.phase[r] == Phase.NEW and page is not None)
    s.owner[page] = r
    s.content[page] = r
    s.address[r] = page
    s.phase[r] = Phase.QUEUED


@action(prefill, fair="weak")
def expire(s, r: Req):
    """The lease of request {r} ends: its page is free."""
    wanted = s.phase[r] in (Phase.QUEUED, Phase.READING)
    require(page_of(s, r) is not None and not (cfg.heartbeats and cfg.known_names and wanted))
    release(s, r)


@action(decode, fair="weak")
def fetch(s, r: Req):
    """Decode begins to read the page of request {r}."""
    require(s.phase[r] == Phase.QUEUED)
    s.phase[r] = Phase.READING


@action(decode)
def drop(s, r: Req):
    """Decode does not want request {r} any more."""
    require(s.phase[r] == Phase.QUEUED)
    s.phase[r] = Phase.DROPPED


@action(decode, fair="weak")
def arrive(s, r: Req):
    """What is at the address of request {r} has arrived."""
    require(s.phase[r] == Phase.READING)
    if cfg.verified and page_of(s, r) is None:
        s.phase[r] = Phase.DROPPED
    else:
        carry(s, r, s.address[r])
        release(s, r)
        s.phase[r] = Phase.SERVED


@leads_to("a request that decode wants ends")
def queued_ends(s, r: Req):
    """A lease must not be renewed by nobody reading."""
    return s.phase[r] == Phase.QUEUED, s.phase[r] in (Phase.SERVED, Phase.DROPPED)


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """What was served, or dropped, is not read again."""
    return s.phase[r] in (Phase.NEW, Phase.SERVED, Phase.DROPPED)


model = Model(
    "patterns.source_lease",
    "prefill's lease ends, its page is reused, decode reads it",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "a time limit and nothing else", expect={"reads_own": 5}),
        Preset(
            "unknown-name", "heartbeats that renew nothing", expect={"reads_own": 5}, heartbeats=True, known_names=False
        ),
        Preset("fixed", "renewed while decode wants it", expect={}, heartbeats=True),
        Preset("verified", "a read is thrown away if the lease has ended", expect={}, verified=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("vllm-project/vllm#21570", "vLLM", Mechanism.SOURCE_FREED)],
)
