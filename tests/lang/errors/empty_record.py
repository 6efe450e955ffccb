from kvproto.lang import Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    pass


@action(m)
def go(s, r: Req):
    pass


model = Model("tiny", "one mistake", state=State, parts=[__name__])
