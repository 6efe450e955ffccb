from kvproto.lang import Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    ok: Bool
    first: Page


@action(m)
def go(s, r: Req):
    for p in Page:
        s.ok = True
    s.first = p


model = Model("tiny", "one mistake", state=State, parts=[__name__])
