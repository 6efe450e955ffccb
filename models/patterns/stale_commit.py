"""The commit of an earlier attempt is taken for that of the later one.

A writer starts to put an object, is slow, and its space is reclaimed; it starts again.  Now the commit, or the
withdrawal, of the first attempt arrives.  The store looks at who sends it and not at which attempt: it publishes
bytes that are not written yet, or frees space under their writer.
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
    flag,
    invariant,
    leads_to,
    require,
)

Attempt = Sort("Attempt", doc="attempts of one client to put one key")


class Config(Params):
    """What a commit names."""

    named: bool = flag(False, "commits and withdrawals name their attempt", kind="mitigation")


cfg = Config()


class Put(Enum):
    """An attempt, at the client."""

    NEW = auto()
    WRITES = auto()
    WRITTEN = auto()
    GIVEN_UP = auto()


class Space(Enum):
    """The space of the key, at the store."""

    NONE = auto()
    RESERVED = auto()
    PUBLISHED = auto()


class State(Record):
    """The space belongs to the attempt that started last."""

    put: Array(Attempt, Put)
    space: Space
    current: Opt(Attempt)
    commits: Set(Attempt)  # on their way
    withdrawals: Set(Attempt)
    unwritten_read: Bool
    freed_under_write: Bool


client = Machine("client", "starts, writes, commits or withdraws; then starts again")
store = Machine("store", "reserves space, publishes, frees")
reader = Machine("reader", "reads what is published")


@action(client, fair="weak")
def start(s, a: Attempt):
    """Attempt {a} starts once the one before it has no space any more."""
    require(s.put[a] == Put.NEW and s.space == Space.NONE and all(s.put[b] != Put.NEW for b in Attempt if b < a))
    if s.space == Space.RESERVED and s.put[s.current] == Put.WRITES:
        s.freed_under_write = True
    s.put[a] = Put.WRITES
    s.space = Space.RESERVED
    s.current = a


@action(client, fair="weak")
def finish(s, a: Attempt):
    """The bytes of attempt {a} are written, and its commit is sent."""
    require(s.put[a] == Put.WRITES)
    s.put[a] = Put.WRITTEN
    s.commits.add(a)


@action(client)
def give_up(s, a: Attempt):
    """Attempt {a} is given up, and its withdrawal is sent."""
    require(s.put[a] == Put.WRITES)
    s.put[a] = Put.GIVEN_UP
    s.withdrawals.add(a)


@action(store)
def reclaim(s):
    """The first attempt has taken too long: its space is free again."""
    require(s.space == Space.RESERVED and s.current == Attempt(0))
    s.space = Space.NONE
    s.current = None


@action(store, fair="weak")
def commit(s, a: Attempt):
    """The commit of attempt {a} arrives: what the client has reserved is published."""
    require(a in s.commits)
    s.commits.discard(a)
    if s.space == Space.RESERVED and not (cfg.named and s.current != a):
        s.space = Space.PUBLISHED


@action(store, fair="weak")
def withdraw(s, a: Attempt):
    """The withdrawal of attempt {a} arrives: what the client has reserved is free."""
    require(a in s.withdrawals)
    s.withdrawals.discard(a)
    if s.space == Space.RESERVED and not (cfg.named and s.current != a):
        if s.put[s.current] == Put.WRITES:
            s.freed_under_write = True
        s.space = Space.NONE
        s.current = None


@action(reader)
def read(s):
    """A reader gets what is published."""
    require(s.space == Space.PUBLISHED)
    if s.put[s.current] != Put.WRITTEN:
        s.unwritten_read = True


@invariant("what is published is written")
def reads_written(s):
    """The reader gets what the space held before."""
    return not s.unwritten_read


@invariant("no space is freed while its attempt writes, but for its time limit")
def not_freed_under_write(s):
    """The writer goes on into space that belongs to another key."""
    return not s.freed_under_write


@leads_to("an attempt that is written and still has its space is published")
def written_is_published(s, a: Attempt):
    """Refusing commits must not refuse the right one."""
    return s.put[a] == Put.WRITTEN and s.current == a, s.space == Space.PUBLISHED or s.current != a


model = Model(
    "patterns.stale_commit",
    "a late commit of one attempt publishes the next",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("bug", "a commit names the client", expect={"reads_written": 6, "not_freed_under_write": 5}),
        Preset("fixed", "a commit names its attempt", expect={}, named=True),
    ],
    scopes=[Scope("small", "2 attempts", Attempt=2)],
    reports=[Report("kvcache-ai/Mooncake#3030", "Mooncake", Mechanism.IDENTITY)],
)
