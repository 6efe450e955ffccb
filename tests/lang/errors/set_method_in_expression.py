from kvproto.lang import Bool, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    held: Set(Page)
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = s.held.pop() == 0


model = Model("tiny", "one mistake", state=State, parts=[__name__])
