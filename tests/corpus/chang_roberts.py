"""Leader election on a ring (Chang and Roberts): names go round, and a node swallows those larger than its own.

The candidate with the smallest name meets it again and has won.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Set, action, init, invariant, leads_to, require, weak

SOURCE = "github.com/tlaplus/Examples: specifications/chang_roberts/MCChangRoberts.cfg"
EXPECTED = [
    Expect(
        states=137,
        depth=10,
        generated=227,
        transitions=219,
        verdicts={"the_right_one_wins": "holds", "somebody_wins": "holds"},
    )
]

NODES = 3

Node = Int(0, NODES - 1)

ring = Machine("ring", "the nodes of the ring")


class Status(Enum):
    """What a node believes about itself."""

    LOST = auto()
    CANDIDATE = auto()
    WON = auto()


class State(Record):
    """The nodes and the names on their way; the name of a node is its place."""

    started: Array(Node, Bool)
    candidate: Array(Node, Bool)  # wanted to be elected from the beginning
    status: Array(Node, Status)
    inbox: Array(Node, Set(Node))


@init
def candidates(s, a: Bool, b: Bool, c: Bool):
    """Some nodes want to be elected."""
    s.candidate[0] = a
    s.candidate[1] = b
    s.candidate[2] = c
    for n in range(NODES):
        s.status[n] = Status.CANDIDATE if s.candidate[n] else Status.LOST


def send(s, n, name):
    """A node sends a name to the next one."""
    s.inbox[(n + 1) % NODES].add(name)


@action(ring)
def start(s, n: Node):
    """Node {n} begins, with its own name if it is a candidate."""
    require(not s.started[n])
    s.started[n] = True
    if s.candidate[n]:
        send(s, n, n)


@action(ring)
def receive(s, n: Node, name: Node):
    """Node {n} takes name {name} out of its inbox."""
    require(s.started[n] and name in s.inbox[n])
    s.inbox[n].discard(name)
    if s.status[n] == Status.LOST:
        send(s, n, name)
    elif name < n:
        s.status[n] = Status.LOST
        send(s, n, name)
    elif name == n:
        s.status[n] = Status.WON


@invariant("the winner is the candidate with the smallest name, and all others know that they lost")
def the_right_one_wins(s):
    """One leader, and everybody agrees who that is."""
    return all(
        s.candidate[n]
        and all(s.status[m] == Status.LOST and (m > n or not s.candidate[m]) for m in range(NODES) if m != n)
        for n in range(NODES)
        if s.status[n] == Status.WON
    )


@leads_to("where there is a candidate, somebody wins")
def somebody_wins(s):
    """Provided that every node does its part."""
    return any(s.status[n] == Status.CANDIDATE for n in range(NODES)), any(
        s.status[n] == Status.WON for n in range(NODES)
    )


model = Model(
    "chang_roberts",
    "leader election on a ring",
    state=State,
    parts=[__name__],
    fairness=[weak(start, receive, per="n")],
)
