from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


LIMIT = 1


@action(m)
def go(s, r: Req):
    LIMIT.n = 2
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
