"""Lamport's distributed mutual exclusion: requests carry the time of a logical clock, and the earliest one wins.

States in which a clock has gone beyond a limit are not looked into.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Queue, Record, Set, action, init, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/lamport_mutex/MCLamportMutex.cfg"
EXPECTED = [
    Expect(states=724274, depth=61, generated=2729079, transitions=2729078, verdicts={"exclusion": "holds"}, slow=True)
]

PROCESSES = 3
LAST = 6
"""The latest time that is looked into."""

Process = Int(0, PROCESSES - 1)
Time = Int(0, LAST + 1)

processes = Machine("processes", "those who exclude each other")


class Kind(Enum):
    """What a message says."""

    REQUEST = auto()
    ACK = auto()
    RELEASE = auto()


class Message(Record):
    """A message; only a request has a time."""

    kind: Kind
    time: Time


class State(Record):
    """The processes and the channels between them.

    That no channel ever holds more than three messages needs no claim: a fourth would not fit.
    """

    clock: Array(Process, Time)
    request: Array(Process, Array(Process, Time))  # the times that a process knows of; 0: it knows of no request
    acks: Array(Process, Set(Process))  # who has seen the request of a process
    channel: Array(Process, Array(Process, Queue(Message, 3)))  # from one process to another
    inside: Set(Process)


@init
def idle(s):
    """All clocks show 1."""
    for p in range(PROCESSES):
        s.clock[p] = 1


def tell_others(s, p, message):
    """A process sends a message to everybody else."""
    for q in range(PROCESSES):
        if q != p:
            s.channel[p][q].append(message)


@action(processes)
def ask(s, p: Process):
    """Process {p} asks to go in."""
    require(s.request[p][p] == 0)
    s.request[p][p] = s.clock[p]
    s.acks[p] = {p}
    tell_others(s, p, Message(kind=Kind.REQUEST, time=s.clock[p]))


def hears(s, p, source, kind):
    """The first message on a channel is of a kind."""
    channel = s.channel[source][p]
    return source != p and len(channel) > 0 and channel[0].kind == kind


@action(processes)
def hear_request(s, p: Process, source: Process):
    """Process {p} hears that process {source} wants to go in, and acknowledges it."""
    require(hears(s, p, source, Kind.REQUEST))
    request = s.channel[source][p].pop(0)
    s.request[p][source] = request.time
    s.clock[p] = max(request.time, s.clock[p]) + 1
    s.channel[p][source].append(Message(kind=Kind.ACK, time=0))


@action(processes)
def hear_ack(s, p: Process, source: Process):
    """Process {p} hears that process {source} has seen its request."""
    require(hears(s, p, source, Kind.ACK))
    s.channel[source][p].pop(0)
    s.acks[p].add(source)


@action(processes)
def hear_release(s, p: Process, source: Process):
    """Process {p} hears that process {source} has left."""
    require(hears(s, p, source, Kind.RELEASE))
    s.channel[source][p].pop(0)
    s.request[p][source] = 0


def before(s, p, q):
    """A process believes that its request is earlier than another's; of two at a time the first process wins."""
    return s.request[p][q] == 0 or s.request[p][p] < s.request[p][q] or (s.request[p][p] == s.request[p][q] and p < q)


@action(processes)
def enter(s, p: Process):
    """Process {p} goes in: all have seen its request, and it is the earliest."""
    require(all(q in s.acks[p] for q in range(PROCESSES)))
    require(all(before(s, p, q) for q in range(PROCESSES) if q != p))
    s.inside.add(p)


@action(processes)
def leave(s, p: Process):
    """Process {p} leaves, and says so."""
    require(p in s.inside)
    s.inside.discard(p)
    s.request[p][p] = 0
    s.acks[p].clear()
    tell_others(s, p, Message(kind=Kind.RELEASE, time=0))


@invariant("one process at most is inside")
def exclusion(s):
    """What the algorithm is for."""
    return len(s.inside) <= 1


def early(s):
    """No clock has gone beyond the limit."""
    return all(s.clock[p] <= LAST for p in range(PROCESSES))


model = Model(
    "lamport_mutex",
    "mutual exclusion with logical clocks",
    state=State,
    parts=[__name__],
    constraint=early,
)
