"""Every process sets its own cell, then copies its neighbour's: in the end somebody has seen a cell that was set."""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Set, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/TeachingConcurrency/Simple.cfg"
EXPECTED = [
    # The source counts a step that changes nothing in each of the 31 states in which all are done.
    Expect(
        states=723,
        depth=11,
        generated=1842,
        transitions=1810,
        verdicts={"somebody_saw": "holds", "set_before_looking": "holds", "no_deadlock": "holds"},
    )
]

PROCESSES = 5

Process = Int(0, PROCESSES - 1)

processes = Machine("processes", "a ring of them")


class At(Enum):
    """What a process does next."""

    SET = auto()
    LOOK = auto()
    DONE = auto()


class State(Record):
    """The processes, the cells that are set, and who has seen one."""

    at: Array(Process, At)
    cells: Set(Process)
    saw: Array(Process, Bool)


@action(processes)
def set_own(s, p: Process):
    """Process {p} sets its cell."""
    require(s.at[p] == At.SET)
    s.cells.add(p)
    s.at[p] = At.LOOK


@action(processes)
def look(s, p: Process):
    """Process {p} looks at the cell of the process before it."""
    require(s.at[p] == At.LOOK)
    s.saw[p] = (p + PROCESSES - 1) % PROCESSES in s.cells
    s.at[p] = At.DONE


def all_done(s):
    """Everybody has looked."""
    return all(s.at[p] == At.DONE for p in range(PROCESSES))


@invariant("when all are done, one of them has seen a cell that was set")
def somebody_saw(s):
    """The last one to set its cell looks when all are set."""
    return not all_done(s) or any(s.saw[p] for p in range(PROCESSES))


@invariant("who has gone on has set its cell")
def set_before_looking(s):
    """Half of the argument."""
    return all(p in s.cells for p in range(PROCESSES) if s.at[p] != At.SET)


model = Model("simple", "set your own, look at your neighbour's", state=State, parts=[__name__], terminal=all_done)
