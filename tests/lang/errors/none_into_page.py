from kvproto.lang import Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    first: Page


@action(m)
def go(s, r: Req):
    s.first = None


model = Model("tiny", "one mistake", state=State, parts=[__name__])
