"""Two jugs of three and five gallons and a tap: exactly four gallons are wanted."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Int, Machine, Model, Record, action, invariant

SOURCE = "github.com/tlaplus/Examples: specifications/DieHard/DieHard.cfg (a trace of 7 states; all: well known)"
EXPECTED = [
    Expect(
        states=16,
        depth=8,
        transitions=96,
        verdicts={"not_solved": "violated", "no_deadlock": "holds"},
        steps={"not_solved": 6},
    )
]

SMALL = 3
BIG = 5

heroes = Machine("heroes", "those who are in a hurry")


class State(Record):
    """Gallons in the jugs."""

    small: Int(0, SMALL)
    big: Int(0, BIG)


@action(heroes)
def fill_small(s):
    """The small jug is filled."""
    s.small = SMALL


@action(heroes)
def fill_big(s):
    """The big jug is filled."""
    s.big = BIG


@action(heroes)
def empty_small(s):
    """The small jug is emptied."""
    s.small = 0


@action(heroes)
def empty_big(s):
    """The big jug is emptied."""
    s.big = 0


@action(heroes)
def pour_into_big(s):
    """The small jug is poured into the big one, as far as there is room."""
    poured = min(s.small, BIG - s.big)
    s.small -= poured
    s.big += poured


@action(heroes)
def pour_into_small(s):
    """The big jug is poured into the small one, as far as there is room."""
    poured = min(s.big, SMALL - s.small)
    s.big -= poured
    s.small += poured


@invariant("there are never four gallons in the big jug")
def not_solved(s):
    """The way to break this is the solution of the riddle."""
    return s.big != 4


model = Model("die_hard", "two jugs and a tap", state=State, parts=[__name__], deadlock=True)
