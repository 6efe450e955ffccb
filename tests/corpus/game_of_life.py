"""Conway's game of life on a board of four by four with nothing around it, from every pattern."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Int, Machine, Model, Record, Set, action, init

SOURCE = "github.com/tlaplus/Examples: specifications/GameOfLife/GameOfLife.cfg"
EXPECTED = [Expect(states=65536, depth=1, generated=131072, transitions=65536, verdicts={"no_deadlock": "holds"})]

SIDE = 4

Cell = Int(0, SIDE * SIDE - 1)

board = Machine("board", "all cells")


class State(Record):
    """The pattern."""

    alive: Set(Cell)


@init
def any_pattern(s, alive: Set(Cell)):
    """Life begins somehow."""
    s.alive = alive


def apart(a, b):
    """The difference of two numbers."""
    return max(a, b) - min(a, b)


def adjacent(a, b):
    """Cells that share an edge or a corner."""
    return max(apart(a // SIDE, b // SIDE), apart(a % SIDE, b % SIDE)) == 1


def goes_on(s, cell):
    """A cell with three neighbours lives, and one with two if it has lived before."""
    neighbours = sum(adjacent(cell, other) for other in s.alive)
    return neighbours == 3 or (neighbours == 2 and cell in s.alive)


@action(board)
def step(s):
    """All cells at once."""
    s.alive = {cell for cell in range(SIDE * SIDE) if goes_on(s, cell)}


model = Model("game_of_life", "Conway's game of life", state=State, parts=[__name__], deadlock=True)
