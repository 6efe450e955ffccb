"""As in `simple`, but a cell is no atom: who looks while it is being set sees it set or not.

That is Lamport's regular register.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Record, action, invariant, require

SOURCE = "github.com/tlaplus/Examples: specifications/TeachingConcurrency/SimpleRegular.cfg"
EXPECTED = [
    # The source counts a step that changes nothing in each of the 255 states in which all are done.
    Expect(
        states=277726,
        depth=25,
        generated=1454776,
        transitions=1454520,
        verdicts={"somebody_saw": "holds", "set_before_looking": "holds", "no_deadlock": "holds"},
    )
]

PROCESSES = 8

Process = Int(0, PROCESSES - 1)

processes = Machine("processes", "a ring of them")


class At(Enum):
    """What a process does next."""

    BEGIN = auto()
    END = auto()
    LOOK = auto()
    DONE = auto()


class Cell(Enum):
    """A cell, before, while and after it is set."""

    CLEAR = auto()
    CHANGING = auto()
    SET = auto()


class State(Record):
    """The processes, their cells, and who has seen one that was set."""

    at: Array(Process, At)
    cell: Array(Process, Cell)
    saw: Array(Process, Bool)


@action(processes)
def begin(s, p: Process):
    """Process {p} begins to set its cell."""
    require(s.at[p] == At.BEGIN)
    s.cell[p] = Cell.CHANGING
    s.at[p] = At.END


@action(processes)
def end(s, p: Process):
    """The cell of process {p} is set."""
    require(s.at[p] == At.END)
    s.cell[p] = Cell.SET
    s.at[p] = At.LOOK


@action(processes)
def look(s, p: Process, sees: Bool):
    """Process {p} looks at the cell of the process before it; does it find it set: {sees}."""
    require(s.at[p] == At.LOOK)
    require(s.cell[(p + PROCESSES - 1) % PROCESSES] != (Cell.CLEAR if sees else Cell.SET))
    s.saw[p] = sees
    s.at[p] = At.DONE


def all_done(s):
    """Everybody has looked."""
    return all(s.at[p] == At.DONE for p in range(PROCESSES))


@invariant("when all are done, one of them has seen a cell that was set")
def somebody_saw(s):
    """The last one to set its cell looks when all are set."""
    return not all_done(s) or any(s.saw[p] for p in range(PROCESSES))


@invariant("who looks has set its cell")
def set_before_looking(s):
    """Half of the argument."""
    return all(s.cell[p] == Cell.SET for p in range(PROCESSES) if s.at[p] in (At.LOOK, At.DONE))


model = Model(
    "simple_regular",
    "set your own, look at your neighbour's, both slowly",
    state=State,
    parts=[__name__],
    terminal=all_done,
)
