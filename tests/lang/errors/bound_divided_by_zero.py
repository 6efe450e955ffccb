from kvproto.lang import Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 6 // (Req - 2))


@action(m)
def go(s, r: Req):
    s.n = 1


model = Model("tiny", "one mistake", state=State, parts=[__name__])
