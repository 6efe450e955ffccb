"""Metadata rows: one small row a request, reused first in, first out; a room number says whose row it is now."""

from __future__ import annotations

from enum import Enum, auto

from kvproto.lang import (
    Array,
    Bool,
    Machine,
    Model,
    Opt,
    Params,
    Preset,
    Queue,
    Record,
    Scope,
    Set,
    Sort,
    action,
    flag,
    init,
    invariant,
    leads_to,
    require,
)

Req = Sort("Req", labels="ABC", doc="requests; each has a room number of its own")
Row = Sort("Row", doc="rows of the metadata buffer")

ALLOCATOR = "srt/disaggregation/utils.py:ReqToMetadataIdxAllocator"
COMMIT = "srt/disaggregation/decode.py:DecodeTransferQueue._commit_transfer_to_req"


class Config(Params):
    """What a preset fixes."""

    gate: bool = flag(
        True,
        "success counts only once there is a room number in the row",
        cites="srt/disaggregation/decode.py:DecodeTransferQueue._poll_with_metadata_gate",
        kind="mitigation",
    )
    compares: bool = flag(
        True,
        "the room number in the row is compared with the request's",
        cites=COMMIT,
        kind="mitigation",
    )
    clears: bool = flag(True, "the room number of a row is reset when the row comes back", kind="mitigation")
    holds: bool = flag(
        True,
        "the row of a request that gave up comes back only when nothing is written to it any more",
        kind="mitigation",
    )
    frees_once: bool = flag(
        True,
        "a row that came back is no longer the request's, so that none gives it back again",
        kind="mitigation",
    )
    limit: bool = flag(
        True,
        "a request whose success has arrived gives up too if its row stays empty",
        kind="mitigation",
    )


cfg = Config()


class Phase(Enum):
    """Where a request is."""

    NEW = auto()
    WAITS = auto()
    GAVE_UP = auto()  # its row may still be held
    REFUSED = auto()
    GOES_ON = auto()


class State(Record):
    """Rows of decode, and what is on its way to them."""

    phase: Array(Req, Phase)
    row: Array(Req, Opt(Row))
    target: Array(Req, Opt(Row))  # where prefill writes; stays when the row is given back
    line: Queue(Row, Row + 1)  # free rows
    room: Array(Row, Opt(Req))  # the room number in a row; None is 0, no number
    sent: Set(Req)  # requests whose row has been sent
    flying: Set(Req)  # ... and has not landed
    success: Set(Req)  # requests whose success has arrived, perhaps before their row
    wrong_row: Bool  # a request went on with the row of another one


decode = Machine("decode", "takes rows, waits for them, gives them back")
prefill = Machine("prefill", "writes a row, and reports success")
network = Machine("network", "lands rows or loses them")


@init
def all_free(s):
    """Every row stands in the line once."""
    for w in Row:
        s.line.append(w)


def give_back(s, r):
    """The row of `r` goes to the end of the line."""
    if cfg.clears:
        s.room[s.row[r]] = None
    if len(s.line) <= len(Row):
        s.line.append(s.row[r])
    if cfg.frees_once:
        s.row[r] = None


@action(decode, cites=ALLOCATOR)
def take(s, r: Req):
    """Request {r} takes the row that has been free for longest, and tells prefill."""
    require(s.phase[r] == Phase.NEW and len(s.line) > 0)
    s.row[r] = s.line.pop(0)
    s.target[r] = s.row[r]
    s.phase[r] = Phase.WAITS


@action(prefill)
def send(s, r: Req):
    """Prefill writes the row of request {r}."""
    require(s.phase[r] == Phase.WAITS and r not in s.sent)
    s.sent.add(r)
    s.flying.add(r)


@action(network, fair="weak")
def land(s, r: Req):
    """The row of request {r} lands, whosever it is by now."""
    require(r in s.flying)
    s.room[s.target[r]] = r
    s.flying.discard(r)


@action(network)
def lose(s, r: Req):
    """The row of request {r} never lands, and nobody is told."""
    require(r in s.flying)
    s.flying.discard(r)


@action(prefill)
def report(s, r: Req):
    """The success of request {r} arrives, before its row or after it."""
    require(r in s.sent and s.phase[r] == Phase.WAITS and r not in s.success)
    s.success.add(r)


@action(decode, cites=COMMIT, fair="weak")
def conclude(s, r: Req):
    """Decode looks into the row of request {r} and goes on with what is there, or refuses it."""
    require(s.phase[r] == Phase.WAITS and r in s.success)
    require(not cfg.gate or s.room[s.row[r]] is not None)
    if cfg.compares and s.room[s.row[r]] != r:
        s.phase[r] = Phase.REFUSED
    else:
        s.phase[r] = Phase.GOES_ON
        if s.room[s.row[r]] != r:
            s.wrong_row = True
    give_back(s, r)


@action(decode, fair="weak")
def give_up(s, r: Req):
    """Request {r} is aborted, or has waited long enough."""
    require(s.phase[r] == Phase.WAITS and (cfg.limit or r not in s.success))
    s.phase[r] = Phase.GAVE_UP
    if not cfg.holds:
        give_back(s, r)


@action(decode)
def let_go(s, r: Req):
    """Nothing is written to the row of request {r} any more, and it comes back."""
    require(cfg.holds and s.phase[r] == Phase.GAVE_UP and s.row[r] is not None and r not in s.flying)
    give_back(s, r)
    s.row[r] = None


@action(decode)
def clean_up(s, r: Req):
    """The clean-up finds that request {r} goes on and has a row, and gives it back."""
    require(not cfg.frees_once and s.phase[r] == Phase.GOES_ON and s.row[r] is not None)
    give_back(s, r)
    s.row[r] = None


def in_use(s, r):
    """Whether the row of `r` is its own: it waits, or gave up and holds it."""
    return s.row[r] is not None and s.phase[r] in (Phase.WAITS, Phase.GAVE_UP)


@invariant("a request goes on only with the row that was written for it")
def own_row(s):
    """The row has the first token of the answer, and the counts that belong to it."""
    return not s.wrong_row


@invariant("no request is refused for what another one left in its row")
def none_wronged(s):
    """Its own row is right, or still on its way: only looking at the wrong moment, or a late write, can refuse it."""
    return all(s.phase[r] != Phase.REFUSED for r in Req)


@invariant("no row is free or in use twice")
def no_row_twice(s):
    """Two requests that wait at one row read whichever came last."""
    return all(
        len([k for k in range(len(Row) + 1) if k < len(s.line) and s.line[k] == w])
        + len([r for r in Req if in_use(s, r) and s.row[r] == w])
        <= 1
        for w in Row
    )


@leads_to("a request whose success has arrived does not wait for ever")
def concludes(s, r: Req):
    """Success says that the pages have come; the row may be lost all the same."""
    return s.phase[r] == Phase.WAITS and r in s.success, s.phase[r] != Phase.WAITS


model = Model(
    "blocks.metadata_rows",
    "metadata rows: first in, first out, behind a gate and a room number",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("right", "every property holds"),
        Preset(
            "unchecked",
            "a late write to a row of somebody else, and nobody compares: own_row",
            holds=False,
            compares=False,
        ),
        Preset("not-cleared", "the gate opens for what the last user left: none_wronged", clears=False),
        Preset("no-gate", "success before the row is looked at as if the row were there: none_wronged", gate=False),
        Preset("not-held", "a late write hits the row of the next request: none_wronged", holds=False),
        Preset("freed-twice", "two paths give one row back: no_row_twice", frees_once=False),
        Preset("no-limit", "a lost row is waited for as long as the engine runs: concludes", limit=False),
    ],
    scopes=[
        Scope("small", "2 requests, 1 row", Req=2, Row=1),
        Scope("three", "3 requests, 2 rows: reuse comes later, and goes wrong the same way", Req=3, Row=2),
    ],
)
