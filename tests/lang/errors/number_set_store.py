from kvproto.lang import Int, Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    held: Set(Page)
    n: Int(0, 3)


@action(m)
def go(s, r: Req):
    s.held = {s.n + 1}


model = Model("tiny", "one mistake", state=State, parts=[__name__])
