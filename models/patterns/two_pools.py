"""Each side has given its space to a request that waits for the other side's.

Prefill computes a request before decode has space for it, and keeps the result until then.  Decode has reserved its
space for another request, for which prefill has none.  Each waits for the other.
"""

from __future__ import annotations

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Mechanism,
    Model,
    Opt,
    Params,
    Preset,
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually,
    flag,
    require,
)

Req = Sort("Req", labels="AB", doc="requests")


class Config(Params):
    """Who comes first."""

    decode_first: bool = flag(False, "prefill computes only what decode has space for", kind="mitigation")


cfg = Config()


class State(Record):
    """Space for one request on each side."""

    prefill: Opt(Req)
    decode: Opt(Req)
    done: Array(Req, Bool)


prefill = Machine("prefill", "computes in an order of its own")
decode = Machine("decode", "reserves in an order of its own")


@action(prefill, fair="weak")
def compute(s, r: Req):
    """Prefill takes request {r} in and computes it."""
    require(s.prefill is None and not s.done[r])
    require(not cfg.decode_first or s.decode == r)
    s.prefill = r


@action(decode, fair="weak")
def reserve(s, r: Req):
    """Decode reserves its space for request {r}."""
    require(s.decode is None and not s.done[r])
    s.decode = r


@action(prefill, fair="weak")
def transfer(s, r: Req):
    """Both sides have request {r}: it is handed over and served, and both have space again."""
    require(s.prefill == r and s.decode == r)
    s.prefill = None
    s.decode = None
    s.done[r] = True


def all_done(s):
    """Nothing has to happen any more."""
    return all(s.done[r] for r in Req)


@eventually("every request is served")
def all_served(s):
    """Nothing but a time limit ends the wait."""
    return all_done(s)


model = Model(
    "patterns.two_pools",
    "two pools are given out in two orders",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "each in its own order", expect={"no_deadlock": 2, "all_served": None}),
        Preset("fixed", "decode's order counts", expect={}, decode_first=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    terminal=all_done,
    reports=[Report("sgl-project/sglang#31473", "SGLang", Mechanism.HANG)],
)
