from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action, require

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


@action(m)
def go(s, r: Req):
    s.n = 1 if require(s.ok) else 2


model = Model("tiny", "one mistake", state=State, parts=[__name__])
