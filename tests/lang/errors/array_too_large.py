from kvproto.lang import Array, Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool
    numbers: Array(Int(0, 5000), Bool)


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
