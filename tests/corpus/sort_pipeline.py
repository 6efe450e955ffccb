"""A pipeline that sorts numbers: each stage keeps the smallest that it has seen and sends the others on.

The steps are those of SPIN: statements that only one process can see go together with the one before them, a variable
that is not read again is 0, and processes end in the order opposite to that in which they began.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import Array, Bool, Int, Machine, Model, Queue, Record, action, require

SOURCE = "github.com/nimble-code/Spin: Examples/sort.pml, README_tests.txt (sort)"
EXPECTED = [
    # SPIN prints one transition more than it takes; its partial order reduction leaves 135 states.
    Expect(
        states=107713,
        depth=135,
        generated=512419,
        transitions=512418,
        verdicts={"take.assert1": "holds", "no_deadlock": "holds"},
    )
]

NUMBERS = 7
FIRST = 15
LARGEST = 91
"""The numbers are 15, 59, 91, 87, 75, 39 and 31."""

STAGES = NUMBERS - 1
PROCESSES = STAGES + 3
"""Source, stages, sink, and the one that starts them all; in order of age it is the first, and the sink the last."""

Number = Int(0, 99)
Count = Int(0, NUMBERS)
Stage = Int(1, STAGES)

source = Machine("source", "makes the numbers")
stages = Machine("stages", "sort them")
sink = Machine("sink", "takes the largest one")
system = Machine("system", "begins and ends processes")


class Making(Enum):
    """What the source does next."""

    START = auto()
    SEND = auto()
    TEST = auto()
    NEXT = auto()
    END = auto()


class Sorting(Enum):
    """What a stage does next."""

    START = auto()
    FIRST = auto()
    TEST = auto()
    RECEIVE = auto()
    COMPARE = auto()
    SEND_NEW = auto()
    SEND_KEPT = auto()
    END = auto()


class Sorter(Record):
    """A stage with its variables."""

    at: Sorting
    left: Count  # numbers still to come
    kept: Number
    new: Number


class State(Record):
    """All processes, and the channels: stage k reads channel k - 1 and writes channel k."""

    started: Bool
    alive: Int(0, PROCESSES)
    making: Making
    made: Count
    number: Number
    stage: Array(Stage, Sorter)
    taken: Bool
    channel: Array(Int(0, STAGES), Queue(Number, 10))


@action(system)
def begin(s):
    """All processes begin, at once."""
    require(not s.started)
    s.started = True
    s.alive = PROCESSES


@action(source)
def initialise(s):
    """The source sets its variables."""
    require(s.started and s.making == Making.START)
    s.number = FIRST
    s.making = Making.SEND


@action(source)
def send(s):
    """The source sends a number, and counts it."""
    require(s.making == Making.SEND)
    s.channel[0].append(s.number)
    s.made += 1
    s.making = Making.TEST


@action(source)
def test(s):
    """The source sees whether that was the last one."""
    require(s.making == Making.TEST)
    if s.made == NUMBERS:
        s.made = 0
        s.number = 0
        s.making = Making.END
    else:
        s.making = Making.NEXT


@action(source)
def make(s):
    """The source makes the next number."""
    require(s.making == Making.NEXT)
    s.number = (s.number * 3 + 14) % 100
    s.making = Making.SEND


@action(stages)
def count(s, k: Stage):
    """Stage {k} works out how many numbers will come after the first."""
    require(s.started and s.stage[k].at == Sorting.START)
    s.stage[k].left = NUMBERS - k
    s.stage[k].at = Sorting.FIRST


@action(stages)
def receive_first(s, k: Stage):
    """Stage {k} keeps the first number."""
    require(s.stage[k].at == Sorting.FIRST and len(s.channel[k - 1]) > 0)
    s.stage[k].kept = s.channel[k - 1].pop(0)
    s.stage[k].at = Sorting.TEST


@action(stages)
def go_on(s, k: Stage):
    """Stage {k} sees that there are numbers to come."""
    require(s.stage[k].at == Sorting.TEST and s.stage[k].left > 0)
    s.stage[k].at = Sorting.RECEIVE


@action(stages)
def stop(s, k: Stage):
    """Stage {k} sees that there are none."""
    require(s.stage[k].at == Sorting.TEST and s.stage[k].left == 0)
    s.stage[k].kept = 0
    s.stage[k].at = Sorting.END


@action(stages)
def receive(s, k: Stage):
    """Stage {k} takes the next number."""
    require(s.stage[k].at == Sorting.RECEIVE and len(s.channel[k - 1]) > 0)
    s.stage[k].new = s.channel[k - 1].pop(0)
    s.stage[k].at = Sorting.COMPARE


@action(stages)
def compare(s, k: Stage):
    """Stage {k} sees which of its two numbers is the larger one."""
    require(s.stage[k].at == Sorting.COMPARE)
    s.stage[k].at = Sorting.SEND_NEW if s.stage[k].new >= s.stage[k].kept else Sorting.SEND_KEPT


@action(stages)
def send_new(s, k: Stage):
    """Stage {k} sends the new number on."""
    require(s.stage[k].at == Sorting.SEND_NEW)
    s.channel[k].append(s.stage[k].new)
    next_round(s, k)


@action(stages)
def send_kept(s, k: Stage):
    """Stage {k} sends the number on that it had, and keeps the new one."""
    require(s.stage[k].at == Sorting.SEND_KEPT)
    s.channel[k].append(s.stage[k].kept)
    s.stage[k].kept = s.stage[k].new
    next_round(s, k)


def next_round(s, k):
    """A number less is to come."""
    s.stage[k].new = 0
    s.stage[k].left -= 1
    s.stage[k].at = Sorting.TEST


@action(sink)
def take(s):
    """The sink takes what is left over: the largest number."""
    require(not s.taken and len(s.channel[STAGES]) > 0)
    largest = s.channel[STAGES].pop(0)
    assert largest == LARGEST, "the largest number comes out at the end"
    s.taken = True


def youngest_has_ended(s):
    """The youngest process that is alive has nothing more to do."""
    if s.alive == PROCESSES:
        return s.taken
    if s.alive > 2:
        return s.stage[s.alive - 2].at == Sorting.END
    return s.alive == 1 or (s.alive == 2 and s.making == Making.END)


@action(system)
def end(s):
    """The youngest process ends."""
    require(youngest_has_ended(s))
    s.alive -= 1


def all_ended(s):
    """Nothing is left."""
    return s.started and s.alive == 0


model = Model("sort_pipeline", "a pipeline that sorts", state=State, parts=[__name__], terminal=all_ended)
