"""A block counts as found in host memory and is evicted to make room for another that was found there.

Symptom: with a host tier, answers contain material of other prompts.  The report does not establish why; this is
the hazard of a neighbouring repair.  Two requests each find a block in host memory.  To bring the first one back a
block has to leave host memory, and the one that leaves is what the second has counted on.
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
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually_always,
    flag,
    init,
    invariant,
    require,
)

Req = Sort("Req", labels="AB", doc="requests, each with a block of its own in host memory")


class Config(Params):
    """What keeps a block that was found."""

    pins: bool = flag(False, "a block that was found stays until it is copied", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request."""

    NEW = auto()
    FOUND = auto()
    COPIED = auto()
    COMPUTED = auto()


class State(Record):
    """Host memory has a place for each block and none to spare; an evicted one is replaced by somebody else's."""

    phase: Array(Req, Phase)
    in_host: Array(Req, Bool)  # the request's block is where it was found
    foreign: Bool  # a request has taken another block for its own


scheduler = Machine("scheduler", "looks up, and evicts to make room")
copier = Machine("copier", "copies blocks from host memory")


@init
def cached(s):
    """Both blocks lie in host memory."""
    for r in Req:
        s.in_host[r] = True


@action(scheduler, fair="weak")
def match(s, r: Req):
    """Request {r} looks for its block: found, or computed again."""
    require(s.phase[r] == Phase.NEW)
    if s.in_host[r]:
        s.phase[r] = Phase.FOUND
    else:
        s.phase[r] = Phase.COMPUTED


@action(copier, fair="weak")
def onboard(s, r: Req, victim: Req):
    """The block of request {r} is copied back; for the exchange that of {victim} leaves, if nothing holds it."""
    require(s.phase[r] == Phase.FOUND and victim != r)
    if not s.in_host[r]:
        s.foreign = True
    if not (cfg.pins and s.phase[victim] == Phase.FOUND):
        s.in_host[victim] = False
    s.phase[r] = Phase.COPIED


@invariant("a request takes only its own block for its own")
def takes_own(s):
    """The place in host memory holds another prompt's block by now."""
    return not s.foreign


@eventually_always("a request that looks for its block goes on, and looks once")
def goes_on(s, r: Req):
    """Two requests that pin each other's way would wait for ever."""
    return s.phase[r] != Phase.FOUND


model = Model(
    "patterns.host_tier_hit",
    "bringing one block back evicts another that was counted as found",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "found, and not kept", expect={"takes_own": 4}),
        Preset("fixed", "kept until it is copied", expect={}, pins=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    reports=[Report("NVIDIA/TensorRT-LLM#8813", "TensorRT-LLM", Mechanism.ORDER, established=False)],
)
