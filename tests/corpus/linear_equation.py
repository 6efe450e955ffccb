"""Looking for a solution of a*x + b*y = c among bytes by counting up, in a world where 255 + 1 is 0."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Int, Machine, Model, Params, Preset, Record, action, number, sometimes

SOURCE = "github.com/stateright/stateright: src/checker/bfs.rs (tests at the end)"
EXPECTED = [
    Expect(preset="unsolvable", states=65536, depth=511, transitions=131072, verdicts={"solvable": "violated"}),
    # Stateright stops at the first solution, when it knows 12 states.
    Expect(
        preset="solvable",
        states=65536,
        depth=511,
        transitions=131072,
        verdicts={"solvable": "holds"},
        steps={"solvable": 3},
    ),
]

guesser = Machine("guesser", "tries numbers")


class Config(Params):
    """The equation."""

    a: int = number(2, "coefficient of x", least=0)
    b: int = number(4, "coefficient of y", least=0)
    c: int = number(7, "what they must add up to", least=0)


cfg = Config()


class State(Record):
    """The present guess."""

    x: Int(0, 255)
    y: Int(0, 255)


@action(guesser)
def increase_x(s):
    """x goes up, and round."""
    s.x = (s.x + 1) % 256


@action(guesser)
def increase_y(s):
    """y goes up, and round."""
    s.y = (s.y + 1) % 256


@sometimes("a guess solves the equation")
def solvable(s):
    """The question."""
    return (cfg.a * s.x + cfg.b * s.y) % 256 == cfg.c


model = Model(
    "linear_equation",
    "a linear equation among bytes",
    state=State,
    parts=[__name__],
    params=Config,
    presets=[
        Preset("unsolvable", "2x + 4y = 7", a=2, b=4, c=7),
        Preset("solvable", "2x + 10y = 14", a=2, b=10, c=14),
    ],
)
