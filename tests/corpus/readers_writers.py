"""Readers and writers: a queue decides who is next, so that nobody waits forever."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Machine, Model, Queue, Record, Set, Sort, action, always_eventually, invariant, require, weak

SOURCE = "github.com/tlaplus/Examples: specifications/ReadersWriters/MC.cfg"
EXPECTED = [
    Expect(
        states=21527,
        depth=13,
        generated=59674,
        transitions=59673,
        verdicts={
            "writers_are_alone": "holds",
            "everybody_reads": "holds",
            "everybody_writes": "holds",
            "nobody_keeps_reading": "holds",
            "nobody_keeps_writing": "holds",
            "no_deadlock": "holds",
        },
    )
]

ACTORS = 3

Actor = Sort("Actor", size=ACTORS, doc="those who read and write")

actors = Machine("actors", "those who read and write")
door = Machine("door", "lets the first in the queue in")


class Wish(Enum):
    """What somebody waits for."""

    READ = auto()
    WRITE = auto()


class Request(Record):
    """A place in the queue."""

    wish: Wish
    actor: Actor


class State(Record):
    """Who is in, and who waits."""

    readers: Set(Actor)
    writers: Set(Actor)
    waiting: Queue(Request, 2 * ACTORS)


def ask(s, wish, a):
    """Somebody goes to the end of the queue, unless he waits for the same already."""
    require(Request(wish=wish, actor=a) not in s.waiting)
    s.waiting.append(Request(wish=wish, actor=a))


@action(actors)
def ask_to_read(s, a: Actor):
    """Actor {a} wants to read."""
    ask(s, Wish.READ, a)


@action(actors)
def ask_to_write(s, a: Actor):
    """Actor {a} wants to write."""
    ask(s, Wish.WRITE, a)


@action(door)
def let_in(s):
    """The first in the queue goes in: to read while nobody writes, to write while nobody is in."""
    require(len(s.waiting) > 0 and not s.writers)
    first = s.waiting.pop(0)
    if first.wish == Wish.READ:
        s.readers.add(first.actor)
    else:
        require(not s.readers)
        s.writers.add(first.actor)


@action(actors)
def stop(s, a: Actor):
    """Actor {a} leaves."""
    require(a in s.readers or a in s.writers)
    if a in s.readers:
        s.readers.discard(a)
    else:
        s.writers.discard(a)


@invariant("one writes, or some read")
def writers_are_alone(s):
    """What the door is for."""
    return len(s.writers) <= 1 and not (s.readers and s.writers)


@always_eventually("an actor reads")
def everybody_reads(s, a: Actor):
    """Nobody waits forever."""
    return a in s.readers


@always_eventually("an actor writes")
def everybody_writes(s, a: Actor):
    """Nobody waits forever."""
    return a in s.writers


@always_eventually("an actor does not read")
def nobody_keeps_reading(s, a: Actor):
    """Everybody leaves."""
    return a not in s.readers


@always_eventually("an actor does not write")
def nobody_keeps_writing(s, a: Actor):
    """Everybody leaves."""
    return a not in s.writers


model = Model(
    "readers_writers",
    "readers and writers in one queue",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(ask_to_read, per="a"), weak(ask_to_write, per="a"), weak(let_in), weak(stop)],
)
