"""The puzzle of eight tiles in a square of nine places: a tile next to the hole slides into it."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Array, Int, Machine, Model, Record, action, init, require, sometimes

SOURCE = (
    "well known: half of the 9! positions can be reached, none is farther than 31 moves from a hole in a corner",
    "github.com/stateright/stateright: src/lib.rs (this start, solved in 4 moves)",
)
EXPECTED = [
    Expect(
        states=181440,
        depth=32,
        transitions=483840,
        verdicts={"solved": "holds"},
        steps={"solved": 4},
    )
]

SIDE = 3
HOLE = 0

Place = Int(0, SIDE * SIDE - 1)

player = Machine("player", "slides tiles")


class State(Record):
    """Which tile is where; tile 0 is the hole."""

    tile: Array(Place, Int(0, SIDE * SIDE - 1))


@init
def given(s):
    """The riddle: five tiles are out of order."""
    for place in range(SIDE * SIDE):
        s.tile[place] = place
    s.tile[0] = 1
    s.tile[1] = 4
    s.tile[4] = 5
    s.tile[5] = 8
    s.tile[8] = HOLE


def apart(a, b):
    """The difference of two numbers."""
    return max(a, b) - min(a, b)


def adjacent(a, b):
    """Places that share an edge."""
    return apart(a // SIDE, b // SIDE) + apart(a % SIDE, b % SIDE) == 1


@action(player)
def slide(s, here: Place, there: Place):
    """The tile at place {here} slides into the hole at place {there}."""
    require(adjacent(here, there) and s.tile[there] == HOLE)
    s.tile[there] = s.tile[here]
    s.tile[here] = HOLE


@sometimes("all tiles are in order")
def solved(s):
    """The way there is the solution of the riddle."""
    return all(s.tile[place] == place for place in range(SIDE * SIDE))


model = Model("sliding_puzzle", "eight tiles and a hole", state=State, parts=[__name__])
