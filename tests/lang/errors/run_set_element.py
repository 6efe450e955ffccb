from kvproto.lang import Int, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    held: Set(Int(0, 61))


@action(m)
def go(s, r: Req):
    s.held = {s.n + 62}


model = Model("tiny", "one mistake", state=State, parts=[__name__])
