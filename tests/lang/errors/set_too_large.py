from kvproto.lang import Bool, Int, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool
    numbers: Set(Int(0, 5000))


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
