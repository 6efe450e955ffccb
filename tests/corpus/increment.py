"""Threads that increment a shared number without a lock: reading and writing are two steps, and an update is lost."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Record, Sort, action, invariant, require

SOURCE = "github.com/stateright/stateright: examples/increment.rs (2 threads)"
EXPECTED = [
    # All states are counted, as its documentation does; the program stops at the first violation, with 10.
    Expect(
        states=13, depth=5, transitions=14, orbits=8, verdicts={"nothing_lost": "violated"}, steps={"nothing_lost": 4}
    )
]

THREADS = 2

Thread = Sort("Thread", size=THREADS, doc="threads")

threads = Machine("threads", "all threads")


class At(Enum):
    """What a thread does next."""

    READ = auto()
    WRITE = auto()
    DONE = auto()


class State(Record):
    """The number and what the threads have read."""

    number: Int(0, THREADS)
    at: Array(Thread, At)
    seen: Array(Thread, Int(0, THREADS))


@action(threads)
def read(s, t: Thread):
    """Thread {t} reads the number."""
    require(s.at[t] == At.READ)
    s.seen[t] = s.number
    s.at[t] = At.WRITE


@action(threads)
def write(s, t: Thread):
    """Thread {t} writes one more than it has read."""
    require(s.at[t] == At.WRITE)
    s.number = s.seen[t] + 1
    s.at[t] = At.DONE


@invariant("the number says how many threads are done")
def nothing_lost(s):
    """It does not: two may read the same number."""
    return s.number == sum(s.at[t] == At.DONE for t in Thread)


model = Model("increment", "increments without a lock", state=State, parts=[__name__])
