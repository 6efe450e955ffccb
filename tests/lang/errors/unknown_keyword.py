from enum import Enum, auto

from kvproto.lang import Array, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class Phase(Enum):
    NEW = auto()
    DONE = auto()


class State(Record):
    phase: Array(Req, Phase)


def give(s, r):
    s.phase[r] = Phase.DONE


@action(m)
def go(s, r: Req):
    give(s, q=r)


model = Model("tiny", "one mistake", state=State, parts=[__name__])
