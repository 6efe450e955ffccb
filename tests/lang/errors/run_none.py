from enum import Enum, auto

from kvproto.lang import Array, Machine, Model, Opt, Record, Sort, action, require

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class Phase(Enum):
    NEW = auto()
    DONE = auto()


class State(Record):
    phase: Array(Req, Phase)
    owner: Array(Page, Opt(Req))


@action(m)
def go(s, r: Req):
    require(s.owner[0] == None)
    q = s.owner[1]
    s.phase[q] = Phase.DONE


model = Model("tiny", "one mistake", state=State, parts=[__name__])
