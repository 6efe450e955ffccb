"""An hour clock: it shows any hour at first, and then one hour after the other."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Int, Machine, Model, Record, action, init

SOURCE = "github.com/tlaplus/Examples: specifications/SpecifyingSystems/HourClock/HourClock.cfg"
EXPECTED = [Expect(states=12, depth=1, generated=24, transitions=12, verdicts={"no_deadlock": "holds"})]

clock = Machine("clock", "shows the hour")


class State(Record):
    """The face of the clock."""

    hour: Int(1, 12)


@init
def some_hour(s, hour: Int(1, 12)):
    """The clock may show any hour."""
    s.hour = hour


@action(clock)
def tick(s):
    """The next hour begins; one follows twelve."""
    s.hour = s.hour % 12 + 1


model = Model("hour_clock", "a clock that shows hours", state=State, parts=[__name__], deadlock=True)
