from kvproto.lang import Bool, Machine, Model, Record, Sort, action, invariant

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


@invariant("all is well")
def well(s):
    while s.ok:
        pass
    return True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
