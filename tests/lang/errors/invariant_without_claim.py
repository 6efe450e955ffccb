from kvproto.lang import Bool, Machine, Model, Record, Sort, action, invariant

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


@invariant
def well(s):
    return s.ok


model = Model("tiny", "one mistake", state=State, parts=[__name__])
