from enum import Enum, auto

from kvproto.lang import Array, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Phase(Enum):
    NEW = auto()
    DONE = auto()


class State(Record):
    phase: Array(Req, Phase)


@action(m)
def go(s, r: Req):
    s.phase[r] = Phase.DNOE


model = Model("tiny", "one mistake", state=State, parts=[__name__])
