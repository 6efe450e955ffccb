"""Prefill's pages are freed by a decode worker that is never told of the request.

The client leaves during prefill.  Prefill is let finish on purpose, and then holds pages that only the chosen
decode worker can free, by fetching them.  But the router has seen the client leave and never sends the decode leg.
"""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Mechanism,
    Model,
    Params,
    Preset,
    Report,
    Scope,
    action,
    eventually_always,
    flag,
    require,
)

from ..kit import pages
from ..kit.pages import POOL, Pages, Req, lend, page_of, read, release, write


class Config(Params):
    """What the router does about a client that left."""

    leg_goes_on: bool = flag(
        False, "the decode leg is sent although the client has left, to take the pages over", kind="mitigation"
    )


cfg = Config()


class Phase(Enum):
    """A request as a whole."""

    NEW = auto()
    PREFILLS = auto()
    HELD = auto()
    DECODES = auto()
    OVER = auto()


class State(Pages):
    """The pool is prefill's."""

    phase: Array(Req, Phase)
    client_left: Array(Req, Bool)


client = Machine("client", "may leave")
router = Machine("router", "sends one leg after the other")
prefill = Machine("prefill", "computes, and holds")
decode = Machine("decode", "fetches, which frees")


@action(router)
def dispatch(s, r: Req):
    """The prefill leg of request {r} is sent; it gets the lowest free page."""
    require(s.phase[r] == Phase.NEW)
    lend(s, r)
    s.phase[r] = Phase.PREFILLS


@action(client)
def leave(s, r: Req):
    """The client of request {r} leaves."""
    require(s.phase[r] in (Phase.PREFILLS, Phase.HELD) and not s.client_left[r])
    s.client_left[r] = True


@action(prefill, fair="weak")
def compute(s, r: Req):
    """Prefill has computed request {r}, and holds the page for the decode worker."""
    require(s.phase[r] == Phase.PREFILLS)
    write(s, r, page_of(s, r))
    s.phase[r] = Phase.HELD


@action(router, fair="weak")
def second_leg(s, r: Req):
    """The decode leg of request {r} is sent."""
    require(s.phase[r] == Phase.HELD and (cfg.leg_goes_on or not s.client_left[r]))
    s.phase[r] = Phase.DECODES


@action(decode, fair="weak")
def fetch(s, r: Req):
    """Decode has fetched the page of request {r}, and prefill's is free."""
    require(s.phase[r] == Phase.DECODES)
    read(s, r)
    release(s, r)
    s.phase[r] = Phase.OVER


@eventually_always("a request is over once")
def over_once(s, r: Req):
    """No leg is sent twice: the second would take a page that nobody fetches."""
    return s.phase[r] in (Phase.NEW, Phase.OVER)


model = Model(
    "patterns.cleanup_by_message",
    "who has to free the pages never hears of them",
    state=State,
    parts=[__name__],
    properties=[pages],
    params=Config,
    presets=[
        Preset("bug", "the decode leg is dropped", expect={"pages_come_back": None, "over_once": None}),
        Preset("fixed", "the decode leg is sent all the same", expect={}, leg_goes_on=True),
    ],
    scopes=[Scope("small", "2 requests, 1 page", Req=2, Page=1)],
    pools=[POOL],
    reports=[Report("ai-dynamo/dynamo#13855", "Dynamo", Mechanism.LEAK)],
)
