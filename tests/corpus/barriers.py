"""A barrier made of semaphores: two waiting rooms with a gate each, and a lock around the number of those inside.

With one room a fast process could go round and take a place that was opened for a slow one.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Sort, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/barriers/Barriers.cfg"
EXPECTED = [
    Expect(
        states=29279,
        depth=93,
        generated=104515,
        transitions=104514,
        verdicts={
            "one_in_the_lock": "holds",
            "inside_is_counted": "holds",
            "one_gate_is_shut": "holds",
            "nobody_overtakes": "holds",
            "gates_let_everybody_through": "holds",
            "no_deadlock": "holds",
        },
    )
]

PROCESSES = 6

Process = Sort("Process", size=PROCESSES, doc="processes that meet at the barrier")

processes = Machine("processes", "those who meet")


class At(Enum):
    """Where a process is."""

    OUTSIDE = auto()
    LOCKING_IN = auto()
    COUNTING_IN = auto()
    LOOKING_IN = auto()  # is everybody here?
    OPENING_IN = auto()
    UNLOCKING_IN = auto()
    WAITING_IN = auto()  # at the first gate
    LOCKING_OUT = auto()
    COUNTING_OUT = auto()
    LOOKING_OUT = auto()  # has everybody left the first room?
    OPENING_OUT = auto()
    UNLOCKING_OUT = auto()
    WAITING_OUT = auto()  # at the second gate


class State(Record):
    """The processes and what they share."""

    at: Array(Process, At)
    locked: Bool
    inside: Int(0, PROCESSES)
    gate_in: Int(0, PROCESSES)  # how many may still pass
    gate_out: Int(0, PROCESSES)


def move(s, p, source, target):
    """A process goes from one place to the next."""
    require(s.at[p] == source)
    s.at[p] = target


def lock(s, p, source, target):
    """A process takes the lock."""
    require(not s.locked)
    move(s, p, source, target)
    s.locked = True


def unlock(s, p, source, target):
    """A process gives the lock back."""
    move(s, p, source, target)
    s.locked = False


@action(processes)
def come(s, p: Process):
    """Process {p} comes to the barrier."""
    move(s, p, At.OUTSIDE, At.LOCKING_IN)


@action(processes)
def lock_in(s, p: Process):
    """Process {p} takes the lock before the first room."""
    lock(s, p, At.LOCKING_IN, At.COUNTING_IN)


@action(processes)
def count_in(s, p: Process):
    """Process {p} counts itself."""
    move(s, p, At.COUNTING_IN, At.LOOKING_IN)
    s.inside += 1


@action(processes)
def look_in(s, p: Process):
    """Process {p} sees whether all are in the first room."""
    move(s, p, At.LOOKING_IN, At.OPENING_IN if s.inside == PROCESSES else At.UNLOCKING_IN)


@action(processes)
def open_in(s, p: Process):
    """Process {p}, the last one, opens the first gate for all."""
    move(s, p, At.OPENING_IN, At.UNLOCKING_IN)
    s.gate_in += PROCESSES


@action(processes)
def unlock_in(s, p: Process):
    """Process {p} gives the lock back and waits."""
    unlock(s, p, At.UNLOCKING_IN, At.WAITING_IN)


@action(processes)
def pass_in(s, p: Process):
    """Process {p} goes through the first gate."""
    require(s.gate_in > 0)
    move(s, p, At.WAITING_IN, At.LOCKING_OUT)
    s.gate_in -= 1


@action(processes)
def lock_out(s, p: Process):
    """Process {p} takes the lock before the second room."""
    lock(s, p, At.LOCKING_OUT, At.COUNTING_OUT)


@action(processes)
def count_out(s, p: Process):
    """Process {p} takes itself off the count."""
    move(s, p, At.COUNTING_OUT, At.LOOKING_OUT)
    s.inside -= 1


@action(processes)
def look_out(s, p: Process):
    """Process {p} sees whether all are in the second room."""
    move(s, p, At.LOOKING_OUT, At.OPENING_OUT if s.inside == 0 else At.UNLOCKING_OUT)


@action(processes)
def open_out(s, p: Process):
    """Process {p}, the last one, opens the second gate for all."""
    move(s, p, At.OPENING_OUT, At.UNLOCKING_OUT)
    s.gate_out += PROCESSES


@action(processes)
def unlock_out(s, p: Process):
    """Process {p} gives the lock back and waits."""
    unlock(s, p, At.UNLOCKING_OUT, At.WAITING_OUT)


@action(processes)
def pass_out(s, p: Process):
    """Process {p} leaves the barrier."""
    require(s.gate_out > 0)
    move(s, p, At.WAITING_OUT, At.OUTSIDE)
    s.gate_out -= 1


def holds_lock(s, p):
    """A process between taking the lock and giving it back."""
    return s.at[p] in (
        At.COUNTING_IN,
        At.LOOKING_IN,
        At.OPENING_IN,
        At.UNLOCKING_IN,
        At.COUNTING_OUT,
        At.LOOKING_OUT,
        At.OPENING_OUT,
        At.UNLOCKING_OUT,
    )


def before_first(s, p):
    """A process that has not taken its place in the first room."""
    return s.at[p] in (At.OUTSIDE, At.LOCKING_IN, At.COUNTING_IN, At.LOOKING_IN, At.OPENING_IN)


def before_second(s, p):
    """A process that has left the first room and has no place in the second."""
    return s.at[p] in (At.LOCKING_OUT, At.COUNTING_OUT, At.LOOKING_OUT, At.OPENING_OUT)


@invariant("the lock is held by one process, and only then is it locked")
def one_in_the_lock(s):
    """The count is read and written under the lock."""
    return sum(holds_lock(s, p) for p in Process) == (1 if s.locked else 0)


@invariant("the count says how many are inside")
def inside_is_counted(s):
    """The last one has to know that it is the last."""
    return s.inside == sum(
        s.at[p] in (At.LOOKING_IN, At.OPENING_IN, At.UNLOCKING_IN, At.WAITING_IN, At.LOCKING_OUT, At.COUNTING_OUT)
        for p in Process
    )


@invariant("one of the gates is shut")
def one_gate_is_shut(s):
    """Otherwise a process could go all the way round."""
    return s.gate_in == 0 or s.gate_out == 0


@invariant("nobody is before the first room while somebody is before the second")
def nobody_overtakes(s):
    """That is what a barrier is for."""
    return not (any(before_first(s, p) for p in Process) and any(before_second(s, p) for p in Process))


@invariant("an open gate has a place for everybody behind it")
def gates_let_everybody_through(s):
    """Nobody is left in a waiting room."""
    behind_in = sum(before_first(s, p) or s.at[p] in (At.UNLOCKING_IN, At.WAITING_IN) for p in Process)
    behind_out = sum(before_second(s, p) or s.at[p] in (At.UNLOCKING_OUT, At.WAITING_OUT) for p in Process)
    return s.gate_in in (0, behind_in) and s.gate_out in (0, behind_out)


model = Model("barriers", "a barrier made of semaphores", state=State, parts=[__name__], deadlock=True)
