from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action, init

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


@init
def start(s, n):
    s.n = n


model = Model("tiny", "one mistake", state=State, parts=[__name__])
