"""Dijkstra's self-stabilising token ring: from whatever state, there is one token in the end, and it goes round.

A node has a token where its counter differs from its neighbour's; node 0 has one where they are equal.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Record, Sort, action, eventually_always, init, require, weak

SOURCE = "github.com/tlaplus/Examples: specifications/ewd426/TokenRing.cfg"
EXPECTED = [
    Expect(
        states=46656,
        depth=1,
        generated=248832,
        transitions=202176,
        verdicts={"stabilises": "holds", "no_deadlock": "holds"},
    )
]

VALUES = 6
"""Values of a counter: as many as there are nodes."""

Node = Sort("Node", size=6, doc="nodes of the ring")
Count = Int(0, VALUES - 1)

ring = Machine("ring", "the nodes of the ring")


class State(Record):
    """The counters."""

    count: Array(Node, Count)


@init
def any_state(s, a: Count, b: Count, c: Count, d: Count, e: Count, f: Count):
    """Whatever went wrong before is over now."""
    s.count[0] = a
    s.count[1] = b
    s.count[2] = c
    s.count[3] = d
    s.count[4] = e
    s.count[5] = f


def before(n):
    """The neighbour of a node other than 0."""
    return int(n) - 1


@action(ring)
def create(s):
    """Node 0 has a token: it goes on to a new value."""
    require(s.count[0] == s.count[len(Node) - 1])
    s.count[0] = (s.count[len(Node) - 1] + 1) % VALUES


@action(ring)
def pass_on(s, n: Node):
    """Node {n} has a token: it takes over the value of its neighbour."""
    require(int(n) != 0 and s.count[n] != s.count[before(n)])
    s.count[n] = s.count[before(n)]


def one_token(s):
    """All nodes before some node agree with node 0, and all from there on are one step behind."""
    return any(
        all(s.count[n] == (s.count[0] if int(n) < edge else (s.count[0] + VALUES - 1) % VALUES) for n in Node)
        for edge in range(len(Node) + 1)
    )


@eventually_always("there is one token")
def stabilises(s):
    """However the ring began."""
    return one_token(s)


model = Model(
    "ewd426",
    "a self-stabilising token ring",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(create, pass_on)],
)
