from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool
    first: Page


@action(m)
def go(s, r: Req):
    s.n = 1 if s.ok else s.first


model = Model("tiny", "one mistake", state=State, parts=[__name__])
