"""Single decree Paxos as a register: every client writes its own value, and reads once the write is acknowledged.

A server that receives a write and has no proposal yet leads a ballot for it, once at most.  So between a leader and
another server there is never more than one message of each phase, and the network is a table of them.  Messages are
delivered in any order; one that its receiver has no use for stays where it is.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Model,
    Opt,
    Record,
    Scope,
    Set,
    Sort,
    action,
    init,
    invariant,
    require,
    sometimes,
)

SOURCE = "github.com/stateright/stateright: examples/paxos.rs (2 clients; 4 clients: a run of that program)"
VERDICTS = {"one_value": "holds", "value_chosen": "holds"}
STEPS = {"value_chosen": 8}
EXPECTED = [
    # With one client: counted by a program of its own, for there is no published figure.
    Expect(scope="1", states=265, depth=14, transitions=481, verdicts=VERDICTS, steps=STEPS),
    Expect(scope="2", states=16668, depth=21, transitions=32970, verdicts=VERDICTS, steps=STEPS),
    Expect(
        scope="4",
        states=2372188,
        depth=28,
        generated=4807983,
        transitions=4807982,
        verdicts=VERDICTS,
        steps=STEPS,
        slow=True,
    ),
]

SERVERS = 3
MAJORITY = 2

Server = Int(0, SERVERS - 1)
Client = Sort("Client", labels="ABCD", doc="clients, and the values that they write")
Round = Int(0, SERVERS)

clients = Machine("clients", "write and read")
servers = Machine("servers", "agree on one value")


class Ballot(Record):
    """A leader's attempt; later ones have higher rounds, and of two in one round the higher leader wins."""

    round: Round  # 0: none
    leader: Server


class Vote(Record):
    """A proposal accepted in a ballot; in round 0: none."""

    ballot: Ballot
    client: Client


class Node(Record):
    """A server."""

    ballot: Ballot  # the highest that it has heard of
    proposal: Opt(Client)
    promises: Set(Server)  # who follows it
    told: Array(Server, Vote)  # what those had accepted before
    accepts: Set(Server)  # who has accepted its proposal
    accepted: Vote
    decided: Bool


class Question(Enum):
    """A question from a leader and its answer: one of them is under way, or none."""

    NONE = auto()
    ASKED = auto()
    ANSWERED = auto()


class Line(Record):
    """Messages between a leader and another server."""

    prepare: Question
    prepare_round: Round
    last: Vote  # in the answer
    accept: Question
    accept_round: Round
    accept_client: Opt(Client)  # in the question
    decided: Vote


class Op(Enum):
    """What a client does, one after the other."""

    WRITE = auto()
    READ = auto()
    NOTHING = auto()


class User(Record):
    """A client, its messages, and its part of the history that a test of linearizability needs."""

    doing: Op
    put: Bool  # under way
    put_ok: Set(Server)  # acknowledgements under way, by sender
    get: Bool  # under way
    get_ok: Opt(Client)  # the answer under way
    result: Opt(Client)
    seen: Array(Client, Op)  # what others were doing when it began to read: anything before that was over


class State(Record):
    """Servers, clients and network."""

    server: Array(Server, Node)
    user: Array(Client, User)
    line: Array(Server, Array(Server, Line))


@init
def writing(s):
    """All clients send their writes."""
    for c in Client:
        s.user[c].put = True


def later(a, b):
    """Whether ballot `a` is later than ballot `b`."""
    return a.round > b.round or (a.round == b.round and a.leader > b.leader)


def write_to(c):
    """The server that a client sends its write to."""
    return int(c) % SERVERS


def read_from(c):
    """The server that a client reads from."""
    return (int(c) + 1) % SERVERS


@action(servers)
def put(s, c: Client):
    """The server of client {c} begins a ballot for its value."""
    lead = write_to(c)
    server = s.server[lead]
    require(s.user[c].put and not server.decided and server.proposal is None)
    s.user[c].put = False
    server.ballot = Ballot(round=server.ballot.round + 1, leader=lead)
    server.proposal = c
    server.promises = {lead}
    server.told[lead] = server.accepted
    for peer in range(SERVERS):
        if peer != lead:
            s.line[lead][peer].prepare = Question.ASKED
            s.line[lead][peer].prepare_round = server.ballot.round


@action(servers)
def promise(s, lead: Server, peer: Server):
    """Server {peer} promises leader {lead} to take part in no earlier ballot, and says what it has accepted."""
    line = s.line[lead][peer]
    server = s.server[peer]
    ballot = Ballot(round=line.prepare_round, leader=lead)
    require(line.prepare == Question.ASKED and not server.decided and later(ballot, server.ballot))
    server.ballot = ballot
    line.prepare = Question.ANSWERED
    line.last = server.accepted


@action(servers)
def collect(s, lead: Server, peer: Server):
    """Leader {lead} hears the promise of server {peer}; when that makes a majority, it proposes a value."""
    line = s.line[lead][peer]
    leader = s.server[lead]
    require(line.prepare == Question.ANSWERED and not leader.decided)
    require(leader.ballot == Ballot(round=line.prepare_round, leader=lead))
    leader.promises.add(peer)
    leader.told[peer] = line.last
    line.prepare = Question.NONE
    line.prepare_round = 0
    line.last = Vote()
    if len(leader.promises) == MAJORITY:
        propose(s, lead)


def propose(s, lead):
    """A leader accepts the value of the latest vote that it was told of, or its own, and asks the others to."""
    leader = s.server[lead]
    latest = next(
        (
            v
            for v in range(SERVERS)
            if v in leader.promises
            and not any(later(leader.told[u].ballot, leader.told[v].ballot) for u in leader.promises)
        ),
        lead,
    )
    if leader.told[latest].ballot.round > 0:
        leader.proposal = leader.told[latest].client
    leader.accepted = Vote(ballot=leader.ballot, client=leader.proposal)
    leader.accepts.add(lead)
    for peer in range(SERVERS):
        if peer != lead:
            line = s.line[lead][peer]
            line.accept = Question.ASKED
            line.accept_round = leader.ballot.round
            line.accept_client = leader.proposal


@action(servers)
def accept(s, lead: Server, peer: Server):
    """Server {peer} accepts the value of leader {lead}, unless it has promised not to."""
    line = s.line[lead][peer]
    server = s.server[peer]
    ballot = Ballot(round=line.accept_round, leader=lead)
    require(line.accept == Question.ASKED and not server.decided and not later(server.ballot, ballot))
    server.ballot = ballot
    server.accepted = Vote(ballot=ballot, client=line.accept_client)
    line.accept = Question.ANSWERED
    line.accept_client = None


@action(servers)
def count(s, lead: Server, peer: Server):
    """Leader {lead} hears that server {peer} has accepted; when that makes a majority, the value is decided."""
    line = s.line[lead][peer]
    leader = s.server[lead]
    require(line.accept == Question.ANSWERED and not leader.decided)
    require(leader.ballot == Ballot(round=line.accept_round, leader=lead))
    leader.accepts.add(peer)
    line.accept = Question.NONE
    line.accept_round = 0
    if len(leader.accepts) == MAJORITY:
        decide(s, lead)


def decide(s, lead):
    """A leader tells the others and the client that the value is decided."""
    leader = s.server[lead]
    leader.decided = True
    for peer in range(SERVERS):
        if peer != lead:
            s.line[lead][peer].decided = Vote(ballot=leader.ballot, client=leader.proposal)
    s.user[leader.proposal].put_ok.add(lead)


@action(servers)
def learn(s, lead: Server, peer: Server):
    """Server {peer} hears from leader {lead} what was decided."""
    line = s.line[lead][peer]
    server = s.server[peer]
    require(line.decided.ballot.round > 0 and not server.decided)
    server.ballot = line.decided.ballot
    server.accepted = line.decided
    server.decided = True
    line.decided = Vote()


@action(clients)
def put_ok(s, c: Client, lead: Server):
    """Client {c} hears from server {lead} that its write is done, and reads."""
    user = s.user[c]
    require(user.doing == Op.WRITE and lead in user.put_ok)
    user.put_ok.discard(lead)
    user.doing = Op.READ
    user.get = True
    for other in Client:
        if other != c:
            user.seen[other] = s.user[other].doing


@action(servers)
def get(s, c: Client):
    """The server that client {c} reads from answers, for it knows what was decided."""
    user = s.user[c]
    server = s.server[read_from(c)]
    require(user.get and server.decided)
    user.get = False
    user.get_ok = server.accepted.client


@action(clients)
def get_ok(s, c: Client):
    """Client {c} gets the answer."""
    user = s.user[c]
    require(user.get_ok is not None)
    user.result = user.get_ok
    user.get_ok = None
    user.doing = Op.NOTHING


@invariant("all clients read the same value")
def one_value(s):
    """All writes began before anything was over, so this is what makes the register linearizable."""
    return all(
        s.user[one].result is None or s.user[other].result is None or s.user[one].result == s.user[other].result
        for one in Client
        for other in Client
    )


@sometimes("a client is told a value")
def value_chosen(s):
    """The protocol is good for something."""
    return any(s.user[c].get_ok is not None for c in Client)


model = Model(
    "paxos",
    "a register on three servers that run Paxos",
    state=State,
    parts=[__name__],
    scopes=[Scope(f"{n}", f"{n} clients", Client=n) for n in (1, 2, 4)],
)
