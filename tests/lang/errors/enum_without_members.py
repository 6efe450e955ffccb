from enum import Enum

from kvproto.lang import Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Empty(Enum):
    pass


class State(Record):
    ok: Bool
    kind: Empty


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
