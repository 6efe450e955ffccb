"""A buffer between two handshaken lines: values come in, wait in order, and go out."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Bool, Machine, Model, Queue, Record, Sort, action, init, require

SOURCE = "github.com/tlaplus/Examples: specifications/SpecifyingSystems/FIFO/MCInnerFIFO.cfg"
EXPECTED = [Expect(states=3864, depth=11, generated=9660, transitions=9624, verdicts={"no_deadlock": "holds"})]

FEW = 3
"""Values in the buffer, at most, in the states that are looked into."""

Data = Sort("Data", size=3, doc="values")

sender = Machine("sender", "puts values on the line to the buffer")
buffer = Machine("buffer", "takes values from one line and puts them on the other")
receiver = Machine("receiver", "takes values from the line behind the buffer")


class Line(Record):
    """A value and the two wires of the handshake; where they differ, the value has not been taken."""

    value: Data
    ready: Bool
    acknowledged: Bool


class State(Record):
    """Both lines and what waits between them."""

    before: Line
    after: Line
    waiting: Queue(Data, FEW + 1)


@init
def idle(s, before: Data, before_level: Bool, after: Data, after_level: Bool):
    """Nothing is under way; the lines still have their last values."""
    s.before = Line(value=before, ready=before_level, acknowledged=before_level)
    s.after = Line(value=after, ready=after_level, acknowledged=after_level)


def put(line, value):
    """A value is put on a line that is free."""
    require(line.ready == line.acknowledged)
    line.value = value
    line.ready = not line.ready


def take(line):
    """The value on a line is taken."""
    require(line.ready != line.acknowledged)
    line.acknowledged = not line.acknowledged


@action(sender)
def send(s, value: Data):
    """The sender puts {value} on its line."""
    put(s.before, value)


@action(buffer)
def let_in(s):
    """The buffer takes the value in."""
    take(s.before)
    s.waiting.append(s.before.value)


@action(buffer)
def let_out(s):
    """The buffer puts its first value on the line behind it."""
    require(len(s.waiting) > 0)
    first = s.waiting.pop(0)
    put(s.after, first)


@action(receiver)
def receive(s):
    """The receiver takes the value."""
    take(s.after)


def few(s):
    """The buffer is not full."""
    return len(s.waiting) <= FEW


model = Model("inner_fifo", "a buffer between two lines", state=State, parts=[__name__], deadlock=True, constraint=few)
