from kvproto.lang import Machine, Model, Record, Set, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    held: Set(Page)


@action(m)
def go(s, r: Req):
    pages = set()
    s.held = pages


model = Model("tiny", "one mistake", state=State, parts=[__name__])
