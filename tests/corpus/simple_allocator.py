"""An allocator of resources: clients ask for some, get them one by one or together, and give them back."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import (
    Array,
    Machine,
    Model,
    Record,
    Set,
    Sort,
    action,
    always_eventually,
    invariant,
    leads_to,
    require,
    strong,
    weak,
)

SOURCE = "github.com/tlaplus/Examples: specifications/allocator/SimpleAllocator.cfg"
VERDICTS = {
    "one_client_each": "holds",
    "clients_give_back": "holds",
    "clients_get_all": "holds",
    "clients_are_content": "holds",
    "no_deadlock": "holds",
}
EXPECTED = [
    Expect(states=400, depth=6, generated=1633, transitions=1632, verdicts=VERDICTS),
    # The second specification of the source, and what its author says of it.
    Expect(
        model="selfish",
        states=400,
        depth=6,
        transitions=1632,
        verdicts={**VERDICTS, "clients_get_all": "violated", "clients_are_content": "violated"},
    ),
]

Client = Sort("Client", size=3, doc="clients")
Resource = Sort("Resource", size=2, doc="resources")

clients = Machine("clients", "those who need resources")
allocator = Machine("allocator", "hands resources out")


class State(Record):
    """What every client has, and what it still waits for."""

    waits_for: Array(Client, Set(Resource))
    has: Array(Client, Set(Resource))


@action(clients)
def ask(s, c: Client, some: Set(Resource)):
    """Client {c}, which has nothing, asks for resources {some}."""
    require(some and not s.waits_for[c] and not s.has[c])
    s.waits_for[c] = some


@action(allocator)
def allocate(s, c: Client, some: Set(Resource)):
    """Client {c} gets resources {some}, which it has asked for and nobody has."""
    require(some and some <= s.waits_for[c] and not any(some & s.has[other] for other in Client))
    s.has[c] |= some
    s.waits_for[c] -= some


@action(clients)
def give_back(s, c: Client, some: Set(Resource)):
    """Client {c} gives resources {some} back and keeps others."""
    require(some and some < s.has[c])
    s.has[c] -= some


@action(clients)
def give_all_back(s, c: Client):
    """Client {c}, which got all it asked for, gives it back."""
    require(s.has[c] and not s.waits_for[c])
    s.has[c].clear()


@action(clients)
def give_way(s, c: Client):
    """Client {c}, which still waits for more, gives back all it has."""
    require(s.has[c] and s.waits_for[c])
    s.has[c].clear()


@invariant("no two clients have the same resource")
def one_client_each(s):
    """What the allocator is for."""
    return not any(s.has[one] & s.has[other] for one in Client for other in Client if one != other)


@leads_to("a client that got all it asked for gives it back")
def clients_give_back(s, c: Client):
    """Others wait."""
    return not s.waits_for[c], not s.has[c]


@leads_to("a client gets what it has asked for")
def clients_get_all(s, c: Client, r: Resource):
    """Even where others are quicker, for the allocator is strongly fair."""
    return r in s.waits_for[c], r in s.has[c]


@always_eventually("a client has all it asked for")
def clients_are_content(s, c: Client):
    """Now and then."""
    return not s.waits_for[c]


model = Model(
    "simple_allocator",
    "an allocator of resources",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(give_all_back, give_way, per="c"), strong(allocate, per="c")],
)

selfish = Model(
    "simple_allocator_selfish",
    "the same with clients that may keep what they have until they get the rest",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(give_all_back, per="c"), strong(allocate, per="c")],
)
