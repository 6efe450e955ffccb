from enum import Enum, auto

from kvproto.lang import Array, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Phase(Enum):
    NEW = auto()
    DONE = auto()


class State(Record):
    phase: Array(Req, Phase)


def free(s, r):
    s.phase[r] = Phase.NEW
    free(s, r)


@action(m)
def go(s, r: Req):
    free(s, r)


model = Model("tiny", "one mistake", state=State, parts=[__name__])
