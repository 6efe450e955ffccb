"""An abstract lock for two processes."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/locks_auxiliary_vars/Lock.cfg"
EXPECTED = [
    Expect(
        states=12,
        depth=5,
        generated=21,
        transitions=20,
        verdicts={"exclusion": "holds", "locked_while_inside": "holds", "no_deadlock": "holds"},
    )
]

Process = Sort("Process", size=2, doc="processes that share something")

processes = Machine("processes", "those who use the lock")


class At(Enum):
    """Where a process is."""

    ELSEWHERE = auto()
    TRYING = auto()
    INSIDE = auto()
    LEAVING = auto()


class State(Record):
    """The processes and the lock."""

    at: Array(Process, At)
    locked: Bool


@action(processes)
def want(s, p: Process):
    """Process {p} wants to go in."""
    require(s.at[p] == At.ELSEWHERE)
    s.at[p] = At.TRYING


@action(processes)
def enter(s, p: Process):
    """Process {p} takes the lock and goes in."""
    require(s.at[p] == At.TRYING and not s.locked)
    s.locked = True
    s.at[p] = At.INSIDE


@action(processes)
def finish(s, p: Process):
    """Process {p} has done what it wanted to."""
    require(s.at[p] == At.INSIDE)
    s.at[p] = At.LEAVING


@action(processes)
def leave(s, p: Process):
    """Process {p} gives the lock back."""
    require(s.at[p] == At.LEAVING)
    s.locked = False
    s.at[p] = At.ELSEWHERE


def has_lock(s, p):
    """A process that has taken the lock."""
    return s.at[p] in (At.INSIDE, At.LEAVING)


@invariant("one process at most is inside")
def exclusion(s):
    """What a lock is for."""
    return sum(has_lock(s, p) for p in Process) <= 1


@invariant("the lock is taken while a process is inside")
def locked_while_inside(s):
    """Why nobody follows."""
    return s.locked or not any(has_lock(s, p) for p in Process)


model = Model("lock", "an abstract lock", state=State, parts=[__name__], deadlock=True)
