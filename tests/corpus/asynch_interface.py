"""A two-phase handshake: the sender flips `ready` with each value, the receiver flips `acknowledged` after it."""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import Bool, Machine, Model, Record, Sort, action, init, require

SOURCE = "github.com/tlaplus/Examples: specifications/SpecifyingSystems/AsynchronousInterface/AsynchInterface.cfg"
EXPECTED = [Expect(states=12, depth=2, generated=30, transitions=24, verdicts={"no_deadlock": "holds"})]

Data = Sort("Data", size=3, doc="values that are sent")

sender = Machine("sender", "puts values on the line")
receiver = Machine("receiver", "takes them")


class State(Record):
    """The three wires."""

    value: Data
    ready: Bool
    acknowledged: Bool


@init
def idle(s, value: Data, level: Bool):
    """Nothing is under way; the levels of the wires do not matter as long as they agree."""
    s.value = value
    s.ready = level
    s.acknowledged = level


@action(sender)
def send(s, value: Data):
    """The sender puts {value} on the line."""
    require(s.ready == s.acknowledged)
    s.value = value
    s.ready = not s.ready


@action(receiver)
def receive(s):
    """The receiver takes the value."""
    require(s.ready != s.acknowledged)
    s.acknowledged = not s.acknowledged


model = Model("asynch_interface", "a two-phase handshake", state=State, parts=[__name__], deadlock=True)
