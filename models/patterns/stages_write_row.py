"""Every pipeline stage writes the metadata row, and one of them after the row has gone to another request.

On the last chunk each stage decides for itself that it is the last and writes the row, though only the final one
has the token.  Decode goes on with the final stage's row, frees it, and the late row of an earlier stage lands on
the next request's.
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
    eventually_always,
    flag,
    invariant,
    require,
)

from ..kit.pages import Req

Stage = Sort("Stage", doc="pipeline stages of prefill; the last has the token")


class Config(Params):
    """Who writes, and who checks."""

    final_only: bool = flag(False, "only the final stage writes the row", kind="mitigation")
    room_check: bool = flag(False, "decode aborts a request whose row names another room", kind="mitigation")


cfg = Config()


class Phase(Enum):
    """A request on decode."""

    NEW = auto()
    WAITS = auto()
    ANSWERED = auto()
    FAILED = auto()


class State(Record):
    """One row."""

    phase: Array(Req, Phase)
    owner: Opt(Req)
    row: Opt(Req)  # whose record stands in it
    token: Bool  # and whether a token stands with it
    flying: Array(Req, Set(Stage))  # stages whose record for the request is on its way
    wronged: Bool  # a request has answered with what is not its own
    refused: Bool  # a request was aborted for what others wrote


decode = Machine("decode", "gives the row to one request after the other")
prefill = Machine("prefill", "stages, each with a writer of its own")


@action(decode)
def enter(s, r: Req):
    """Request {r} takes the row, and every stage that believes to be the last writes to it."""
    require(s.phase[r] == Phase.NEW and s.owner is None)
    s.owner = r
    s.row = None
    s.token = False
    s.phase[r] = Phase.WAITS
    for g in Stage:
        if not cfg.final_only or int(g) == len(Stage) - 1:
            s.flying[r].add(g)


@action(prefill, fair="weak")
def land(s, r: Req, g: Stage):
    """The record of stage {g} for request {r} lands in the row."""
    require(g in s.flying[r])
    s.flying[r].discard(g)
    s.row = r
    s.token = int(g) == len(Stage) - 1


@action(decode, fair="weak")
def conclude(s, r: Req):
    """All that decode waits for has come: it answers request {r} and frees the row."""
    require(s.phase[r] == Phase.WAITS and s.owner == r and s.row is not None)
    require(s.row != r or s.token)
    if cfg.room_check and s.row != r:
        s.phase[r] = Phase.FAILED
        s.refused = True
    else:
        s.phase[r] = Phase.ANSWERED
        if s.row != r:
            s.wronged = True
    s.owner = None


@invariant("a request answers with its own first token")
def own_token(s):
    """The answer starts with another customer's word."""
    return not s.wronged


@invariant("no request fails for what others wrote")
def innocent_succeed(s):
    """A check alone turns wrong answers into failures: 2 to 5 per cent of all in the report."""
    return not s.refused


@eventually_always("a request that waits for its row ends, and that once")
def waiting_ends(s, r: Req):
    """A record that replaces the one with the token leaves decode waiting."""
    return s.phase[r] != Phase.WAITS


model = Model(
    "patterns.stages_write_row",
    "all pipeline stages write the metadata row",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "every stage writes", expect={"own_token": 6, "waiting_ends": None}),
        Preset(
            "checked",
            "and decode compares rooms",
            expect={"innocent_succeed": 6, "waiting_ends": None},
            room_check=True,
        ),
        Preset("fixed", "the final stage writes", expect={}, final_only=True),
    ],
    scopes=[Scope("small", "2 requests, 2 stages", Req=2, Stage=2)],
    reports=[Report("sgl-project/sglang#22716", "SGLang", Mechanism.IDENTITY)],
)
