"""The alternating bit protocol: values go over a line that loses messages.

One bit tells a new message from a repeated one.
"""

from __future__ import annotations

from expectations import Expect

from kvproto.lang import (
    Bool,
    Int,
    Machine,
    Model,
    Queue,
    Record,
    Sort,
    action,
    init,
    invariant,
    leads_to,
    require,
    strong,
    weak,
)

SOURCE = "github.com/tlaplus/Examples: specifications/SpecifyingSystems/TLC/MCAlternatingBit.cfg"
EXPECTED = [
    Expect(
        states=240,
        depth=10,
        generated=1392,
        transitions=1384,
        verdicts={"nothing_is_missed": "holds", "sent_is_received": "holds", "no_deadlock": "holds"},
    )
]

FEW = 2
"""Messages on a line, at most, in the states that are looked into."""

Data = Sort("Data", size=2, doc="values that are sent")
Slot = Int(0, FEW)

sender = Machine("sender", "sends values, each until it is acknowledged")
receiver = Machine("receiver", "receives them, and acknowledges the last one all the time")
line = Machine("line", "carries messages in order, and loses some")


class Message(Record):
    """A value with the bit that belongs to it."""

    bit: Bool
    value: Data


class State(Record):
    """Both ends and the two lines between them."""

    messages: Queue(Message, FEW + 1)
    acks: Queue(Bool, FEW + 1)
    sender_bit: Bool
    acked_bit: Bool  # the last one that was acknowledged
    receiver_bit: Bool
    sent: Data
    received: Data


@init
def idle(s, bit: Bool, sent: Data, received: Data):
    """The ends agree on the bit, and everything sent was acknowledged."""
    s.sender_bit = bit
    s.acked_bit = bit
    s.receiver_bit = bit
    s.sent = sent
    s.received = received


@action(sender)
def send(s, value: Data):
    """The sender sends {value}, a new one, with the other bit."""
    require(s.acked_bit == s.sender_bit)
    s.sent = value
    s.sender_bit = not s.sender_bit
    s.messages.append(Message(bit=s.sender_bit, value=value))


@action(sender)
def send_again(s):
    """The sender repeats the value that is not acknowledged yet."""
    require(s.acked_bit != s.sender_bit)
    s.messages.append(Message(bit=s.sender_bit, value=s.sent))


@action(receiver)
def receive(s):
    """The receiver takes a message."""
    require(len(s.messages) > 0)
    message = s.messages.pop(0)
    s.receiver_bit = message.bit
    s.received = message.value


@action(receiver)
def acknowledge(s):
    """The receiver sends its bit back."""
    s.acks.append(s.receiver_bit)


@action(sender)
def receive_ack(s):
    """The sender takes an acknowledgement."""
    require(len(s.acks) > 0)
    s.acked_bit = s.acks.pop(0)


def drop(queue, lost):
    """A queue goes round once; the element at `lost` stays out."""
    n = len(queue)
    for k in range(FEW + 1):
        if k < n:
            x = queue.pop(0)
            if k != lost:
                queue.append(x)


@action(line)
def lose_message(s, k: Slot):
    """The message at place {k} is lost."""
    require(k < len(s.messages))
    drop(s.messages, k)


@action(line)
def lose_ack(s, k: Slot):
    """The acknowledgement at place {k} is lost."""
    require(k < len(s.acks))
    drop(s.acks, k)


@invariant("what was acknowledged was received")
def nothing_is_missed(s):
    """The sender goes on to the next value then."""
    return s.acked_bit != s.sender_bit or s.sent == s.received or s.receiver_bit == s.sender_bit


@leads_to("a value that was sent is received")
def sent_is_received(s, value: Data):
    """The line does not lose everything."""
    return s.sent == value and s.sender_bit != s.acked_bit, s.received == value


def few(s):
    """Neither line is full."""
    return len(s.messages) <= FEW and len(s.acks) <= FEW


model = Model(
    "alternating_bit",
    "values over a line that loses messages",
    state=State,
    parts=[__name__],
    deadlock=True,
    fairness=[weak(send_again), weak(acknowledge), strong(receive), strong(receive_ack)],
    constraint=few,
)
