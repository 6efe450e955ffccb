"""A barrier: processes wait until all of them have come, then go on together."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Machine, Model, Record, Set, Sort, action, require

SOURCE = "github.com/tlaplus/Examples: specifications/barriers/Barrier.cfg"
EXPECTED = [Expect(states=64, depth=7, generated=194, transitions=193, verdicts={"no_deadlock": "holds"})]

Process = Sort("Process", size=6, doc="processes that meet at the barrier")

processes = Machine("processes", "those who meet")


class State(Record):
    """Who waits at the barrier."""

    waiting: Set(Process)


@action(processes)
def arrive(s, p: Process):
    """Process {p} comes to the barrier."""
    require(p not in s.waiting)
    s.waiting.add(p)


@action(processes)
def go_on(s):
    """All have come: all go on."""
    require(len(s.waiting) == len(Process))
    s.waiting.clear()


model = Model("barrier", "processes that wait for each other", state=State, parts=[__name__], deadlock=True)
