from kvproto.lang import Bool, Int, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    held: Set(Page)
    n: Int(0, 3)
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = s.held and s.n == 0


model = Model("tiny", "one mistake", state=State, parts=[__name__])
