"""The bakery algorithm with two processes, begun in every state that its inductive invariant allows.

No step leads out of these states: that is what inductive means.  What a process is writing, its number or the sign
that it is choosing one, flickers meanwhile: whoever reads it reads anything.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Set, action, init, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/Bakery-Boulangerie/MCBakery.cfg"
EXPECTED = [
    Expect(
        states=655200,
        depth=1,
        generated=3403584,
        transitions=2748384,
        verdicts={"exclusion": "holds", "inductive": "holds"},
        slow=True,
    )
]

LARGEST = 2

Process = Int(0, 1)
Number = Int(0, LARGEST)

processes = Machine("processes", "those who exclude each other")


class At(Enum):
    """Where a process is."""

    ELSEWHERE = auto()
    BEGIN = auto()
    LOOK = auto()  # at the numbers of others
    TAKE = auto()  # a larger number
    SHOW = auto()
    NEXT = auto()  # who to wait for
    WAIT = auto()
    INSIDE = auto()
    LEAVE = auto()


class Customer(Record):
    """A process and its variables."""

    at: At
    number: Number  # 0: none
    choosing: Bool
    unchecked: Set(Process)  # whom it still has to look at
    largest: Number  # that it has seen
    waits_for: Process


class State(Record):
    """Both processes."""

    of: Array(Process, Customer)


@init
def consistent(
    s,
    at: At,
    number: Number,
    choosing: Bool,
    unchecked: Set(Process),
    largest: Number,
    waits_for: Process,
    at_1: At,
    number_1: Number,
    choosing_1: Bool,
    unchecked_1: Set(Process),
    largest_1: Number,
    waits_for_1: Process,
):
    """Any state that the invariant allows."""
    s.of[0] = Customer(
        at=at, number=number, choosing=choosing, unchecked=unchecked, largest=largest, waits_for=waits_for
    )
    require(alone(s, 0))
    s.of[1] = Customer(
        at=at_1,
        number=number_1,
        choosing=choosing_1,
        unchecked=unchecked_1,
        largest=largest_1,
        waits_for=waits_for_1,
    )
    require(alone(s, 1) and together(s, 0) and together(s, 1))


@action(processes)
def begin(s, p: Process):
    """Process {p} wants to go in."""
    require(s.of[p].at == At.ELSEWHERE)
    s.of[p].at = At.BEGIN


@action(processes)
def flicker_before(s, p: Process):
    """The sign that process {p} is choosing is being written."""
    require(s.of[p].at == At.BEGIN)
    s.of[p].choosing = not s.of[p].choosing


@action(processes)
def choose(s, p: Process):
    """Process {p} begins to choose a number."""
    require(s.of[p].at == At.BEGIN)
    s.of[p].choosing = True
    s.of[p].unchecked = {1 - p}
    s.of[p].largest = 0
    s.of[p].at = At.LOOK


@action(processes)
def look(s, p: Process, other: Process):
    """Process {p} reads the number of process {other}."""
    require(s.of[p].at == At.LOOK and other in s.of[p].unchecked)
    s.of[p].unchecked.discard(other)
    s.of[p].largest = max(s.of[p].largest, s.of[other].number)


@action(processes)
def looked(s, p: Process):
    """Process {p} has read all numbers."""
    require(s.of[p].at == At.LOOK and not s.of[p].unchecked)
    s.of[p].at = At.TAKE


@action(processes)
def flicker_number(s, p: Process, anything: Number):
    """The number of process {p} is being written; who reads it reads {anything}."""
    require(s.of[p].at in (At.TAKE, At.LEAVE))
    s.of[p].number = anything


@action(processes)
def take(s, p: Process, number: Number):
    """Process {p} has taken {number}, which is larger than all it has seen."""
    require(s.of[p].at == At.TAKE and number > s.of[p].largest)
    s.of[p].number = number
    s.of[p].at = At.SHOW


@action(processes)
def flicker_after(s, p: Process):
    """The sign that process {p} is choosing is being taken off."""
    require(s.of[p].at == At.SHOW)
    s.of[p].choosing = not s.of[p].choosing


@action(processes)
def chosen(s, p: Process):
    """Process {p} has chosen."""
    require(s.of[p].at == At.SHOW)
    s.of[p].choosing = False
    s.of[p].unchecked = {1 - p}
    s.of[p].at = At.NEXT


@action(processes)
def wait_for(s, p: Process, other: Process):
    """Process {p} turns to process {other}, which is not choosing."""
    require(s.of[p].at == At.NEXT and other in s.of[p].unchecked and not s.of[other].choosing)
    s.of[p].waits_for = other
    s.of[p].at = At.WAIT


def first(s, p, q):
    """A process is served before another: its number is smaller, or of two equal ones it is the first."""
    return s.of[p].number < s.of[q].number or (s.of[p].number == s.of[q].number and p < q)


@action(processes)
def pass_by(s, p: Process, other: Process):
    """Process {p} need not wait for process {other}."""
    require(s.of[p].at == At.WAIT and s.of[p].waits_for == other)
    require(s.of[other].number == 0 or first(s, p, other))
    s.of[p].unchecked.discard(other)
    s.of[p].at = At.NEXT


@action(processes)
def enter(s, p: Process):
    """Process {p} goes in."""
    require(s.of[p].at == At.NEXT and not s.of[p].unchecked)
    s.of[p].at = At.INSIDE


@action(processes)
def finish(s, p: Process):
    """Process {p} has been served."""
    require(s.of[p].at == At.INSIDE)
    s.of[p].at = At.LEAVE


@action(processes)
def leave(s, p: Process):
    """Process {p} puts its number away."""
    require(s.of[p].at == At.LEAVE)
    s.of[p].number = 0
    s.of[p].at = At.ELSEWHERE


def before(s, p, q):
    """A process has a number, and another one has or will have a larger one."""
    if s.of[p].number == 0:
        return False
    if s.of[q].at in (At.ELSEWHERE, At.BEGIN, At.LEAVE):
        return True
    if s.of[q].at == At.LOOK:
        return p in s.of[q].unchecked or s.of[q].largest >= s.of[p].number
    if s.of[q].at == At.TAKE:
        return s.of[q].largest >= s.of[p].number
    if s.of[q].at == At.SHOW:
        return first(s, p, q)
    return s.of[q].at in (At.NEXT, At.WAIT) and first(s, p, q) and p in s.of[q].unchecked


def alone(s, p):
    """What is known of a process by where it is."""
    me = s.of[p]
    if me.at in (At.LOOK, At.TAKE):
        return me.choosing
    if me.at in (At.SHOW, At.INSIDE):
        return me.number != 0
    if me.at in (At.NEXT, At.WAIT):
        return me.number != 0 and p not in me.unchecked and (me.at == At.NEXT or me.waits_for != p)
    return True


def together(s, p):
    """What is known of a process and the other one: who was passed by comes later."""
    me = s.of[p]
    other = s.of[1 - p]
    if me.at == At.INSIDE:
        return before(s, p, 1 - p)
    if me.at in (At.NEXT, At.WAIT) and 1 - p not in me.unchecked and not before(s, p, 1 - p):
        return False
    has_seen = other.at == At.TAKE or (other.at == At.LOOK and p not in other.unchecked)
    return me.at != At.WAIT or not has_seen or other.largest >= me.number


@invariant("every process is where it can be")
def inductive(s):
    """Why the algorithm works: it is true to begin with, and every step keeps it."""
    return all(alone(s, p) and together(s, p) for p in range(2))


@invariant("one process at most is inside")
def exclusion(s):
    """What the algorithm is for."""
    return not (s.of[0].at == At.INSIDE and s.of[1].at == At.INSIDE)


model = Model("bakery", "the bakery algorithm, inductively", state=State, parts=[__name__])
