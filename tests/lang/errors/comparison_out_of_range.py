from kvproto.lang import Bool, Machine, Model, Record, Sort, action, require

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    ok: Bool
    first: Page


@action(m)
def go(s, r: Req):
    require(s.first == 9)
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
