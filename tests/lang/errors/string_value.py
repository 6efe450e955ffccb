from enum import Enum, auto

from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action, require

Req = Sort("Req", size=2)
m = Machine("m")


class Phase(Enum):
    NEW = auto()
    DONE = auto()


class State(Record):
    phase: Array(Req, Phase)
    ok: Bool


@action(m)
def go(s, r: Req):
    require(s.phase[r] == "NEW")
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
