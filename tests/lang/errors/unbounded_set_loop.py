from kvproto.lang import Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)


@action(m)
def go(s, r: Req):
    for k in {s.n + 1, s.n + 2}:
        s.n = k


model = Model("tiny", "one mistake", state=State, parts=[__name__])
