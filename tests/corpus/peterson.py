"""Peterson's algorithm: two processes exclude each other with two flags and a turn."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Machine, Model, Record, Set, Sort, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/locks_auxiliary_vars/Peterson.cfg"
EXPECTED = [
    Expect(
        states=42,
        depth=11,
        generated=77,
        transitions=76,
        verdicts={"exclusion": "holds", "turn_decides": "holds", "no_deadlock": "holds"},
    )
]

Process = Sort("Process", size=2, doc="processes that share something")

processes = Machine("processes", "those who share")


class At(Enum):
    """Where a process is."""

    ELSEWHERE = auto()
    CLAIMING = auto()
    YIELDING = auto()
    WAITING = auto()
    INSIDE = auto()
    LEAVING = auto()


class State(Record):
    """The processes, who claims the critical section, and whose turn it is."""

    at: Array(Process, At)
    claims: Set(Process)
    turn: Process


def other(p):
    """The one who is not `p`."""
    return next((q for q in Process if q != p), None)


@action(processes)
def want(s, p: Process):
    """Process {p} wants to go in."""
    require(s.at[p] == At.ELSEWHERE)
    s.at[p] = At.CLAIMING


@action(processes)
def claim(s, p: Process):
    """Process {p} says so."""
    require(s.at[p] == At.CLAIMING)
    s.claims.add(p)
    s.at[p] = At.YIELDING


@action(processes)
def give_way(s, p: Process):
    """Process {p} lets the other one go first."""
    require(s.at[p] == At.YIELDING)
    s.turn = other(p)
    s.at[p] = At.WAITING


@action(processes)
def enter(s, p: Process):
    """Process {p} goes in: the other one does not want to, or gives way."""
    require(s.at[p] == At.WAITING and (other(p) not in s.claims or s.turn == p))
    s.at[p] = At.INSIDE


@action(processes)
def finish(s, p: Process):
    """Process {p} has done what it wanted to."""
    require(s.at[p] == At.INSIDE)
    s.at[p] = At.LEAVING


@action(processes)
def leave(s, p: Process):
    """Process {p} takes its claim back."""
    require(s.at[p] == At.LEAVING)
    s.claims.discard(p)
    s.at[p] = At.ELSEWHERE


def inside(s, p):
    """A process whose claim was heard."""
    return s.at[p] in (At.INSIDE, At.LEAVING)


@invariant("one process at most is inside")
def exclusion(s):
    """What the algorithm is for."""
    return sum(inside(s, p) for p in Process) <= 1


@invariant("it is the turn of the one inside, unless the other has not given way yet")
def turn_decides(s):
    """Why the other one waits."""
    return all(
        s.turn == p or s.at[other(p)] in (At.ELSEWHERE, At.CLAIMING, At.YIELDING) for p in Process if inside(s, p)
    )


model = Model("peterson", "Peterson's mutual exclusion", state=State, parts=[__name__], deadlock=True)
