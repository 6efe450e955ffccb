"""The first pipeline stage drops a request, and later stages never hear of it again.

Later stages look at the requests that the first one names.  One that the first stage has dropped, because it was
aborted, is on no list any more; the others keep it with all that belongs to it.
"""

from __future__ import annotations

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
    eventually,
    flag,
    init,
    invariant,
    require,
)

Stage = Sort("Stage", doc="pipeline stages; the first one decides")


class Config(Params):
    """What the first stage passes on."""

    names_dropped: bool = flag(False, "the first stage names what it drops as well", cites="#27028", kind="mitigation")


cfg = Config()


class State(Record):
    """One request, in the queue of every stage."""

    queued: Array(Stage, Bool)
    aborted: Bool
    ready: Bool
    named: Bool  # the first stage has passed on that the request goes on
    dropped: Bool  # or that it does not


prefill = Machine("prefill", "stages, the first before the others")
client = Machine("client", "aborts")


@init
def entered(s):
    """Every stage has the request in its queue."""
    for g in Stage:
        s.queued[g] = True


@action(client)
def abort(s):
    """The request is aborted while it shakes hands."""
    require(not s.ready and not s.aborted)
    s.aborted = True


@action(prefill, fair="weak")
def shake_hands(s):
    """The handshake is done."""
    require(not s.aborted and not s.ready)
    s.ready = True


@action(prefill, fair="weak")
def decide(s):
    """The first stage takes the request on, or drops it."""
    require(s.queued[Stage(0)] and (s.ready or s.aborted))
    s.queued[Stage(0)] = False
    if s.ready:
        s.named = True
    elif cfg.names_dropped:
        s.dropped = True


@action(prefill, fair="weak")
def follow(s, g: Stage):
    """Stage {g} does what the first one has decided."""
    require(s.queued[g] and int(g) > 0 and (s.named or s.dropped))
    s.queued[g] = False


@eventually("no stage has the request in its queue any more")
def all_leave(s):
    """Its sender and its metadata row stay with it."""
    return all(not s.queued[g] for g in Stage)


@invariant("a request is dropped if it was aborted, and no stage is ahead of the first")
def first_decides(s):
    """Else ranks of one engine go on with different batches."""
    return (s.aborted or not s.dropped) and (not s.queued[Stage(0)] or all(s.queued[g] for g in Stage))


model = Model(
    "patterns.orphan_in_stage",
    "later stages keep a request that the first has dropped",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "only what goes on is named", expect={"all_leave": None}),
        Preset("fixed", "what is dropped is named too", expect={}, names_dropped=True),
    ],
    scopes=[Scope("small", "3 stages", Stage=3)],
    reports=[Report("sgl-project/sglang#26912", "SGLang", Mechanism.RANKS)],
)
