from enum import Enum, auto

from kvproto.lang import Array, Bag, Bool, Int, Machine, Model, Queue, Record, Set, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Kind(Enum):
    ASK = auto()
    SAY = auto()


class Msg(Record):
    kind: Kind
    to: Req
    n: Int(0, 3)


class State(Record):
    ok: Bool
    n: Int(0, 3)
    last: Msg
    job: Array(Req, Msg)
    line: Queue(Msg, 2)
    ints: Queue(Int(0, 3), 2)
    net: Set(Msg)
    bag: Bag(Req, 2)
    held: Set(Req)
    sent: Set(Req)


@action(m)
def go(s, r: Req):
    x = s.held if s.ok else s.sent
    s.ok = r in x


model = Model("tiny", "one mistake", state=State, parts=[__name__])
