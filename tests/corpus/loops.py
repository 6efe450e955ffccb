"""A loop with two ways through it, one of which is marked `accept`; all of them make progress.

A variable is set to 0 once nothing reads it any more: this is what SPIN does by itself, and why it counts 15 states.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import (
    Int,
    Machine,
    Model,
    Record,
    action,
    always_eventually,
    eventually_always,
    require,
    weak,
)

SOURCE = "github.com/nimble-code/Spin: Examples/loops.pml, README_tests.txt (tests 2, 3 and 5)"
EXPECTED = [
    # SPIN prints one transition more than it takes, and as depth 11 the longest way of its depth first search.
    Expect(
        states=15,
        depth=12,
        generated=19,
        transitions=18,
        verdicts={"no_acceptance_cycle": "violated", "no_idle_cycle": "holds", "no_deadlock": "holds"},
    )
]

loop = Machine("loop", "the only process")


class At(Enum):
    """The next statement."""

    COUNT = auto()
    CHOOSE = auto()
    SKIP = auto()
    ACCEPT = auto()
    PROGRESS = auto()


class State(Record):
    """The process and its two variables."""

    at: At
    a: Int(0, 2)
    b: Int(0, 4)


@action(loop)
def count(s):
    """a goes on: 0, 1, 2 and 0 again."""
    require(s.at == At.COUNT)
    s.a = (s.a + 1) % 3
    s.at = At.CHOOSE


@action(loop)
def choose_skip(s):
    """The way that is not marked."""
    require(s.at == At.CHOOSE)
    s.b = 2 * s.a
    s.at = At.SKIP


@action(loop)
def choose_accept(s):
    """The way that is marked."""
    require(s.at == At.CHOOSE)
    s.b = 2 * s.a
    s.at = At.ACCEPT


@action(loop)
def skip(s):
    """Nothing happens."""
    require(s.at in (At.SKIP, At.ACCEPT))
    s.at = At.PROGRESS


@action(loop)
def decrease(s):
    """b would be one less, but nobody reads it again."""
    require(s.at == At.PROGRESS)
    s.b = 0
    s.at = At.COUNT


@eventually_always("the accepting way is given up in the end")
def no_acceptance_cycle(s):
    """It is not: nothing hinders the process from taking it every time."""
    return s.at != At.ACCEPT


@always_eventually("progress is made")
def no_idle_cycle(s):
    """Every way round the loop comes by."""
    return s.at == At.PROGRESS


model = Model(
    "loops",
    "a loop with an accepting way through it",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(count, choose_skip, choose_accept, skip, decrease)],  # in SPIN the last process does not stop
)
