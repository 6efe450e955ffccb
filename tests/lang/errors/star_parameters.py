from kvproto.lang import Bool, Machine, Model, Record, action

m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, *rest):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
