from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


def bump(s):
    s.ok = True
    return


@action(m)
def go(s, r: Req):
    x = bump(s)
    s.n = x


model = Model("tiny", "one mistake", state=State, parts=[__name__])
