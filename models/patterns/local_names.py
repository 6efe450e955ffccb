"""Two sides meet by a name that each makes from its own id.

The producer leaves tensors under a key made from its engine's id of the request, the consumer asks with a key made
from its own.  Since engines add something random to ids the keys differ: the consumer waits for what lies there
under another name, and the producer's buffer fills.
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
    Record,
    Report,
    Scope,
    Sort,
    action,
    eventually,
    flag,
    init,
    invariant,
    leads_to,
    require,
)

Req = Sort("Req", labels="AB", doc="requests")
Suffix = Sort("Suffix", doc="what an engine adds to an id")


class Config(Params):
    """Which id the key is made from."""

    shared_id: bool = flag(False, "both make the key from the id that the router gave", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on the producer."""

    NEW = auto()
    STORED = auto()
    TAKEN = auto()


class State(Record):
    """The buffer has a place."""

    phase: Array(Req, Phase)
    here: Array(Req, Suffix)  # the producer's id
    there: Array(Req, Suffix)  # the consumer's id
    buffer: Opt(Req)


producer = Machine("producer", "leaves tensors in a buffer that is bounded")
consumer = Machine("consumer", "takes them by name")


@init
def ids(s, here: Array(Req, Suffix), there: Array(Req, Suffix)):
    """Each engine makes ids of its own."""
    for r in Req:
        s.here[r] = here[r]
        s.there[r] = there[r]


@action(producer, fair="weak")
def store(s, r: Req):
    """The tensors of request {r} are left in the buffer, if it has room."""
    require(s.phase[r] == Phase.NEW and s.buffer is None)
    s.buffer = r
    s.phase[r] = Phase.STORED


@action(consumer, fair="weak")
def take(s, r: Req):
    """The consumer finds the tensors of request {r} under its key."""
    require(s.buffer == r and (cfg.shared_id or s.here[r] == s.there[r]))
    s.buffer = None
    s.phase[r] = Phase.TAKEN


@leads_to("tensors that are stored are taken")
def stored_is_taken(s, r: Req):
    """The consumer waits, and so do all that need the buffer."""
    return s.phase[r] == Phase.STORED, s.phase[r] == Phase.TAKEN


@eventually("every request is served")
def all_served(s):
    """One that is not taken stands in the way of the others."""
    return all(s.phase[r] == Phase.TAKEN for r in Req)


@invariant("what is stored and not taken is in the buffer")
def stored_is_there(s):
    """Else its consumer takes what belongs to another request."""
    return all(s.buffer == r for r in Req if s.phase[r] == Phase.STORED)


model = Model(
    "patterns.local_names",
    "a name that has to be shared is made from local ids",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "each from its own id", expect={"stored_is_taken": None, "all_served": None}),
        Preset("fixed", "from the id that both have", expect={}, shared_id=True),
    ],
    scopes=[Scope("small", "2 requests, 2 suffixes", Req=2, Suffix=2)],
    reports=[Report("vllm-project/vllm#42839", "vLLM", Mechanism.IDENTITY)],
)
