"""A batch is given up after its pages have entered the prefix tree, and before anything was computed.

The router allocates pages for a batch and enters their prefixes in its tree.  Then the batch turns out too small
and is put off; its pages are free again, its entries stay.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Report,
    Scope,
    action,
    eventually,
    flag,
    invariant,
    require,
)

from ..kit.pages import POOL, Page, Pages, Req, lowest_free, page_of, release


class Config(Params):
    """When entries come and go."""

    removes: bool = flag(False, "a batch that is given up takes its entries back", kind="mitigation")
    after_prefill: bool = flag(False, "entries are made after prefill", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request; all have the same prompt of one page."""

    NEW = auto()
    ALLOCATED = auto()
    HIT = auto()
    OVER = auto()


class State(Pages):
    """`content` is the request that has written the page; the tree has an entry at most."""

    phase: Array(Req, Phase)
    entry: Opt(Page)
    unwritten_read: Bool


router = Machine("router", "forms batches, keeps the tree")
worker = Machine("worker", "runs prefill and decode")


@action(router, fair="weak")
def allocate(s, r: Req):
    """Request {r} finds its prefix in the tree, or gets the lowest free page and enters it there."""
    page = lowest_free(s)
    require(s.phase[r] == Phase.NEW and (s.entry is not None or page is not None))
    if s.entry is not None:
        s.phase[r] = Phase.HIT
    else:
        s.owner[page] = r
        s.content[page] = None
        s.phase[r] = Phase.ALLOCATED
        if not cfg.after_prefill:
            s.entry = page


@action(router)
def give_up(s, r: Req):
    """The batch of request {r} is too small: its pages are free, and it waits again."""
    require(s.phase[r] == Phase.ALLOCATED)
    if cfg.removes and s.entry == page_of(s, r):
        s.entry = None
    release(s, r)
    s.phase[r] = Phase.OVER


@action(worker, fair="weak")
def prefill(s, r: Req):
    """Prefill of request {r} writes its page; it is served, and the page stays in the tree."""
    page = page_of(s, r)
    require(s.phase[r] == Phase.ALLOCATED and page is not None)
    s.content[page] = r
    s.entry = page
    release(s, r)
    s.phase[r] = Phase.OVER


@action(worker, fair="weak")
def reuse(s, r: Req):
    """Request {r} reads the page of its prefix; if its writer is in the same batch, that comes first."""
    require(s.phase[r] == Phase.HIT and s.entry is not None)
    require(s.content[s.entry] is not None or s.owner[s.entry] is None)
    if s.content[s.entry] is None:
        s.unwritten_read = True
    s.phase[r] = Phase.OVER


@action(router, fair="weak")
def compute_anew(s, r: Req):
    """The prefix of request {r} is gone from the tree: it will be computed."""
    require(cfg.removes and s.phase[r] == Phase.HIT and s.entry is None)
    s.phase[r] = Phase.NEW


@invariant("what is found in the tree is written when it is read")
def hits_are_written(s):
    """The page is full of old data."""
    return not s.unwritten_read


@eventually("every request is over")
def all_end(s):
    """A request whose prefix was taken back must not wait for it."""
    return all(s.phase[r] == Phase.OVER for r in Req)


model = Model(
    "patterns.published_at_allocation",
    "a batch is given up, its entries in the prefix tree stay",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "entries stay", expect={"hits_are_written": 4}),
        Preset("fixed", "entries are taken back", expect={}, removes=True),
        Preset("after-prefill", "entries are made when there is something in the page", expect={}, after_prefill=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("huggingface/text-generation-inference#2489", "TGI", Mechanism.PUBLISHED_EARLY)],
)
