from kvproto.lang import Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=Machine, parts=[__name__])
