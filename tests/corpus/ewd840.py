"""Termination detection on a ring (EWD 840): a token goes round and finds out whether everybody is idle.

A node that wakes one behind the token becomes black, and blackens the token when it comes by; such a round does not
count.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Bool, Int, Machine, Model, Record, Set, action, init, invariant, leads_to, require, weak

SOURCE = "github.com/tlaplus/Examples: specifications/ewd840/EWD840.cfg"
EXPECTED = [
    # The source generates a successor for each reason why the token may go on, here it is one; it lists depth 10, got
    # with several workers, and finds 9 levels with one.
    Expect(
        states=302,
        depth=9,
        generated=2001,
        transitions=1625,
        verdicts={"detects_termination": "holds", "inductive": "holds", "termination_is_detected": "holds"},
    )
]

NODES = 3

Node = Int(0, NODES - 1)

ring = Machine("ring", "nodes handing the token on")
work = Machine("work", "what the nodes are there for")


class State(Record):
    """Nodes and token; who is not black is white."""

    active: Set(Node)
    black: Set(Node)
    token_at: Node
    token_black: Bool


@init
def anything(s, active: Set(Node), black: Set(Node), at: Node):
    """Any state of the nodes; nobody knows anything, so the token is black."""
    s.active = active
    s.black = black
    s.token_at = at
    s.token_black = True


@action(ring)
def start_round(s):
    """Node 0 sends a white token round, for the last round was inconclusive."""
    require(s.token_at == 0 and (s.token_black or 0 in s.black))
    s.token_at = NODES - 1
    s.token_black = False
    s.black.discard(0)


@action(ring)
def pass_token(s, n: Node):
    """Node {n} hands the token on: it is idle, or the round is lost anyway."""
    require(n != 0 and s.token_at == n)
    require(n not in s.active or n in s.black or s.token_black)
    s.token_at = n - 1
    s.token_black = s.token_black or n in s.black
    s.black.discard(n)


@action(work)
def wake(s, n: Node, other: Node):
    """Active node {n} sends work to node {other}."""
    require(n in s.active and n != other)
    s.active.add(other)
    if other > n:
        s.black.add(n)


@action(work)
def rest(s, n: Node):
    """Node {n} has nothing more to do."""
    require(n in s.active)
    s.active.discard(n)


def detected(s):
    """Node 0 concludes that everybody is idle."""
    return s.token_at == 0 and not s.token_black and 0 not in s.black and 0 not in s.active


@invariant("termination is detected only when there is one")
def detects_termination(s):
    """Otherwise work would be cut off."""
    return not detected(s) or not s.active


@invariant("behind the token all are idle, or somebody before it is black, or the token is")
def inductive(s):
    """Dijkstra's own argument."""
    idle_behind = all(n not in s.active for n in range(NODES) if n > s.token_at)
    return idle_behind or any(n in s.black for n in range(NODES) if n <= s.token_at) or s.token_black


@leads_to("when all are idle, that is detected")
def termination_is_detected(s):
    """The token has to be passed on, no more; nodes may work or not."""
    return not s.active, detected(s)


model = Model(
    "ewd840",
    "termination detection with a token",
    state=State,
    parts=[__name__],
    fairness=[weak(start_round, pass_token)],
)
