"""Dining philosophers who hand each other clean forks (Chandy and Misra).

A fork gets dirty when its holder eats; the holder of a dirty fork cleans it and hands it over.
"""

from __future__ import annotations

from enum import Enum, auto

from expectations import Expect

from kvproto.lang import (
    Array,
    Bool,
    Int,
    Machine,
    Model,
    Record,
    action,
    always_eventually,
    init,
    invariant,
    require,
    weak,
)

SOURCE = "github.com/tlaplus/Examples: specifications/DiningPhilosophers/DiningPhilosophers.cfg"
EXPECTED = [
    Expect(
        states=67,
        depth=29,
        generated=336,
        transitions=335,
        verdicts={"neighbours_take_turns": "holds", "nobody_starves": "holds", "no_deadlock": "holds"},
    )
]

SEATS = 5

Seat = Int(0, SEATS - 1)
"""A philosopher, and the fork at his left; the one at his right is his right neighbour's."""

table = Machine("table", "the philosophers")


class Doing(Enum):
    """What a philosopher does next."""

    LOOKING = auto()  # at his forks
    EATING = auto()
    THINKING = auto()


class Fork(Record):
    """A fork between two philosophers."""

    holder: Seat
    clean: Bool


class State(Record):
    """The table."""

    fork: Array(Seat, Fork)
    hungry: Array(Seat, Bool)
    doing: Array(Seat, Doing)


@init
def laid(s):
    """All are hungry; every dirty fork is with the first of its two philosophers."""
    for p in range(SEATS):
        s.fork[p].holder = 0 if p == 1 else p
        s.hungry[p] = True


def right(p):
    """Seat and fork at the right of a philosopher."""
    return (p + 1) % SEATS


def left(p):
    """The seat at the left of a philosopher."""
    return (p + SEATS - 1) % SEATS


def ready(s, f, p):
    """A fork that `p` can eat with."""
    return s.fork[f].holder == p and s.fork[f].clean


def dirty(s, f, p):
    """A fork that `p` has to hand over."""
    return s.fork[f].holder == p and not s.fork[f].clean


def hand_over(s, f, p):
    """A fork is cleaned and goes to philosopher `p`."""
    s.fork[f].holder = p
    s.fork[f].clean = True


@action(table)
def look(s, p: Seat):
    """Philosopher {p} looks what he can eat with, hands one dirty fork over, and sees what to do next."""
    require(s.doing[p] == Doing.LOOKING)
    if not s.hungry[p]:
        s.doing[p] = Doing.THINKING
    elif ready(s, p, p) and ready(s, right(p), p):
        s.doing[p] = Doing.EATING
    if dirty(s, p, p):
        hand_over(s, p, left(p))
    elif dirty(s, right(p), p):
        hand_over(s, right(p), right(p))


@action(table)
def eat(s, p: Seat):
    """Philosopher {p} eats; both forks get dirty."""
    require(s.doing[p] == Doing.EATING)
    s.hungry[p] = False
    s.fork[p].clean = False
    s.fork[right(p)].clean = False
    s.doing[p] = Doing.LOOKING


@action(table)
def think(s, p: Seat):
    """Philosopher {p} thinks until he is hungry."""
    require(s.doing[p] == Doing.THINKING)
    s.hungry[p] = True
    s.doing[p] = Doing.LOOKING


@invariant("neighbours do not eat at the same time")
def neighbours_take_turns(s):
    """They share a fork."""
    return not any(s.doing[p] == Doing.EATING and s.doing[right(p)] == Doing.EATING for p in range(SEATS))


@always_eventually("everybody gets something to eat, again and again")
def nobody_starves(s, p: Seat):
    """Provided that nobody falls asleep."""
    return not s.hungry[p]


model = Model(
    "dining_philosophers",
    "philosophers who hand forks over",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(look, eat, think, per="p")],
)
