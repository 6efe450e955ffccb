"""The abstract lock with what it takes to see Peterson's algorithm in it: a turn, and two steps in which nothing moves.

Peterson's process takes three steps to get in, the lock takes one; so two more follow, and the first of them sets the
turn as Peterson's process would have done.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Opt, Record, Sort, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/locks_auxiliary_vars/LockHS.cfg"
EXPECTED = [
    Expect(
        states=28,
        depth=10,
        generated=41,
        transitions=40,
        verdicts={
            "exclusion": "holds",
            "locked_while_inside": "holds",
            "stutters_inside": "holds",
            "turn_is_petersons": "holds",
            "no_deadlock": "holds",
        },
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
    """The lock with its processes, and the two auxiliary variables."""

    at: Array(Process, At)
    locked: Bool
    turn: Process
    stuttering: Opt(Process)  # nobody else moves meanwhile
    left: Int(0, 2)  # steps in which nothing moves, yet to come


@action(processes)
def want(s, p: Process):
    """Process {p} wants to go in."""
    require(s.stuttering is None and s.at[p] == At.ELSEWHERE)
    s.at[p] = At.TRYING


@action(processes)
def enter(s, p: Process):
    """Process {p} takes the lock and goes in."""
    require(s.stuttering is None and s.at[p] == At.TRYING and not s.locked)
    s.locked = True
    s.at[p] = At.INSIDE
    s.stuttering = p
    s.left = 2


@action(processes)
def stutter(s, p: Process):
    """Process {p} stays where it is; the first time it gives the turn away."""
    require(s.stuttering == p)
    if s.left == 2:
        s.turn = next((q for q in Process if q != p), None)
    s.left -= 1
    if s.left == 0:
        s.stuttering = None


@action(processes)
def finish(s, p: Process):
    """Process {p} has done what it wanted to."""
    require(s.stuttering is None and s.at[p] == At.INSIDE)
    s.at[p] = At.LEAVING


@action(processes)
def leave(s, p: Process):
    """Process {p} gives the lock back."""
    require(s.stuttering is None and s.at[p] == At.LEAVING)
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


@invariant("only a process that has just come in stutters")
def stutters_inside(s):
    """The extra steps belong to `enter`."""
    return s.stuttering is None or s.at[s.stuttering] == At.INSIDE


@invariant("the turn is with the other one once a process is through")
def turn_is_petersons(s):
    """As after Peterson's three steps."""
    return all(s.turn != p for p in Process if has_lock(s, p) and s.left < 2)


model = Model("lock_hs", "the abstract lock with history and stuttering", state=State, parts=[__name__], deadlock=True)
