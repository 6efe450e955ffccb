from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


@action(m)
def go(s, r: Req):
    more = s.n + 1 if s.ok else None
    s.ok = more is None


model = Model("tiny", "one mistake", state=State, parts=[__name__])
