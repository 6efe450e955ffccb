"""A replicated log: who is ahead may append, the others copy, and nobody may fall behind by more than three entries.

All entries are alike, and what all servers have is dropped: a server is how far it is ahead of the last one.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Opt, Record, Sort, action, always_eventually, require, weak

SOURCE = "github.com/tlaplus/Examples: specifications/FiniteMonotonic/MCDistributedReplicatedLog.cfg"
EXPECTED = [
    # The source prints no figures, for it stops at the violation; these are derived from its text.
    Expect(
        states=82,
        depth=5,
        transitions=423,
        verdicts={"everybody_grows": "holds", "in_sync": "violated", "no_deadlock": "holds"},
    )
]

LAG = 3

Server = Sort("Server", size=3, doc="servers with a copy of the log")

servers = Machine("servers", "those who keep the log")


class State(Record):
    """How much of the log every server has."""

    ahead: Array(Server, Int(0, 2 * LAG))
    grew: Opt(Server)  # by the last step


def grow(s, r, entries):
    """A server has more entries now; what all have is dropped."""
    s.ahead[r] += entries
    common = min(s.ahead[q] for q in Server)
    for q in Server:
        s.ahead[q] -= common
    s.grew = r


@action(servers)
def copy(s, r: Server, source: Server, entries: Int(1, LAG)):
    """Server {r} copies {entries} entries that server {source} is ahead, all or all but one."""
    behind = s.ahead[source] - s.ahead[r]
    require(behind > 0 and entries in (behind, behind - 1))
    grow(s, r, entries)


@action(servers)
def extend(s, r: Server, entries: Int(1, LAG)):
    """Server {r}, which is not behind, appends {entries} entries, as many as the last server can be behind."""
    require(all(s.ahead[q] <= s.ahead[r] for q in Server) and s.ahead[r] + entries <= LAG)
    grow(s, r, entries)


@always_eventually("every server gets more entries")
def everybody_grows(s, r: Server):
    """The slow ones too."""
    return s.grew == r


@always_eventually("any two servers have the same log")
def in_sync(s, one: Server, other: Server):
    """They need not: who copies may leave one entry out, every time."""
    return s.ahead[one] == s.ahead[other]


model = Model(
    "distributed_log",
    "a replicated log with bounded lag",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(copy, per="r"), weak(extend, per="r")],
)
