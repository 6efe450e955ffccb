"""Termination detection as it looks from outside: it is over when all nodes are idle and no message is under way.

Messages wait at their receivers, as many as there are; states with more than three at one node are not looked into.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Model,
    Record,
    Set,
    Sort,
    action,
    init,
    invariant,
    leads_to,
    require,
    weak,
)

SOURCE = "github.com/tlaplus/Examples: specifications/ewd998/AsyncTerminationDetection.cfg"
EXPECTED = [
    Expect(
        states=4097,
        depth=14,
        generated=53271,
        transitions=53254,
        verdicts={
            "detects_termination": "holds",
            "termination_is_detected": "holds",
            "receive.assert1": "holds",
        },
    )
]

FEW = 3
"""Messages waiting at one node, at most, in the states that are looked into."""

Node = Sort("Node", size=4, doc="nodes that work and send each other work")

nodes = Machine("nodes", "those who work")
detector = Machine("detector", "finds out that it is over")


class State(Record):
    """The nodes, and what is known about them."""

    active: Set(Node)
    waiting: Array(Node, Int(0, FEW + 1))  # messages that the node has not received yet
    detected: Bool


@init
def begin(s, active: Set(Node)):
    """Some nodes have work to do."""
    s.active = active


@init
def begin_and_end(s):
    """Nobody has work to do, and that is known."""
    s.detected = True


def over(s):
    """All are idle, and nothing can wake them."""
    return not s.active and all(s.waiting[n] == 0 for n in Node)


@action(nodes)
def finish(s, n: Node):
    """Node {n} has nothing more to do."""
    require(n in s.active)
    s.active.discard(n)


@action(nodes)
def finish_last(s, n: Node):
    """Node {n} has nothing more to do, nobody else has, and that is known at once."""
    require(n in s.active and len(s.active) == 1 and all(s.waiting[m] == 0 for m in Node))
    s.active.discard(n)
    s.detected = True


@action(nodes)
def send(s, n: Node, to: Node):
    """Node {n} sends node {to} a message."""
    require(n in s.active)
    s.waiting[to] += 1


@action(nodes)
def receive(s, n: Node):
    """Node {n} receives a message, and has work to do."""
    require(s.waiting[n] > 0)
    assert not over(s), "when it is over it stays over"
    s.waiting[n] -= 1
    s.active.add(n)


@action(detector)
def detect(s):
    """The end is detected."""
    require(over(s))
    s.detected = True


@invariant("termination is detected only when there is one")
def detects_termination(s):
    """Otherwise work would be cut off."""
    return not s.detected or over(s)


@leads_to("when it is over, that is detected")
def termination_is_detected(s):
    """The detector does its part, whatever the nodes do."""
    return over(s), s.detected


def few_messages(s):
    """No node is far behind."""
    return all(s.waiting[n] <= FEW for n in Node)


model = Model(
    "async_termination",
    "termination detection, seen from outside",
    state=State,
    parts=[__name__],
    fairness=[weak(detect)],
    constraint=few_messages,
)
