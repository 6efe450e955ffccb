"""A component of a request is never registered for transfer, and the request is committed without it.

Prefill has the KV cache of the draft model in a pool of another kind.  Only the target model's pools were
registered.  Decode commits when everything that was registered has arrived; the draft's page holds what its last
owner left.
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
    Record,
    Report,
    Scope,
    Set,
    Sort,
    action,
    eventually,
    flag,
    invariant,
    require,
)

Req = Sort("Req", labels="AB", doc="requests, one after the other in the same pages")


class Config(Params):
    """What is sent, and what is waited for."""

    registers_all: bool = flag(False, "every component is registered for transfer", kind="mitigation")


cfg = Config()


class Part(Enum):
    """Components of a request, with a page each."""

    TARGET = auto()
    DRAFT = auto()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    WAITS = auto()
    OVER = auto()


class State(Record):
    """The pages belong to one request at a time."""

    phase: Array(Req, Phase)
    content: Array(Part, Opt(Req))
    flying: Array(Req, Set(Part))
    wrong_read: Bool


decode = Machine("decode", "reserves, commits, reads")
network = Machine("network", "lands what was registered")


@action(decode, fair="weak")
def reserve(s, r: Req):
    """Request {r} gets the pages; writes to what is registered are posted."""
    require(s.phase[r] == Phase.NEW and all(s.phase[q] != Phase.WAITS for q in Req))
    s.phase[r] = Phase.WAITS
    for part in Part:
        if part == Part.TARGET or cfg.registers_all:
            s.flying[r].add(part)


@action(network, fair="weak")
def land(s, r: Req, part: Part):
    """The {part} of request {r} lands."""
    require(part in s.flying[r])
    s.flying[r].discard(part)
    s.content[part] = r


@action(decode, fair="weak")
def commit(s, r: Req):
    """All that was registered for request {r} has landed: decode reads every component."""
    require(s.phase[r] == Phase.WAITS and not s.flying[r])
    if any(s.content[part] != r for part in Part):
        s.wrong_read = True
    s.phase[r] = Phase.OVER


@invariant("every component that is read is the request's own")
def reads_own(s):
    """The draft is another request's, or nobody's."""
    return not s.wrong_read


@eventually("every request is over")
def all_end(s):
    """A component that is waited for has to be sent."""
    return all(s.phase[r] == Phase.OVER for r in Req)


model = Model(
    "patterns.component_not_sent",
    "a component is not sent, and not waited for",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "only the target's pools are registered", expect={"reads_own": 3}),
        Preset("fixed", "all pools are", expect={}, registers_all=True),
    ],
    scopes=[Scope("small", "2 requests", Req=2)],
    reports=[Report("sgl-project/sglang#30461", "SGLang", Mechanism.MISALIGNED)],
)
