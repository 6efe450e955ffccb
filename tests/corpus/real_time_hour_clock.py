"""An hour clock and real time: the clock ticks two seconds after it ticked, give or take one, if time goes on at all.

Nobody says that it does: a run may stop at any moment, and so at the one that the claim rules out.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Bool, Int, Machine, Model, Record, action, eventually_always, init, require

SOURCE = "github.com/tlaplus/Examples: specifications/SpecifyingSystems/RealTime/MCRealTimeHourClock.cfg"
EXPECTED = [
    # The source prints no figures, for it stops at the violation; these are derived from its text.
    Expect(states=252, depth=4, transitions=432, verdicts={"time_leaves_four": "violated"})
]

HOUR = 2
RHO = 1
"""Length of an hour, and how much it may be off."""

END = 5
"""Time does not go on from there."""

clock = Machine("clock", "shows the hour")
time = Machine("time", "goes on")


class State(Record):
    """The clock, the time, and the timer that ties them together."""

    hour: Int(1, 12)
    now: Int(0, END)
    timer: Int(0, HOUR + RHO)  # since the last tick
    began_at_four: Bool


@init
def some_time(s, hour: Int(1, 12), now: Int(0, END)):
    """The clock shows any hour, at any time."""
    s.hour = hour
    s.now = now
    s.began_at_four = now == 4


@action(clock)
def tick(s):
    """The next hour begins."""
    require(s.timer >= HOUR - RHO)
    s.hour = s.hour % 12 + 1
    s.timer = 0


@action(time)
def go_on(s, later: Int(0, END)):
    """It is {later} now."""
    require(later > s.now and s.timer + later - s.now <= HOUR + RHO)
    s.timer += later - s.now
    s.now = later


@eventually_always("a run that does not begin at four o'clock is past it in the end, or does not come that far")
def time_leaves_four(s):
    """It may stop there."""
    return s.began_at_four or s.now != 4


model = Model("real_time_hour_clock", "an hour clock and real time", state=State, parts=[__name__])
