from kvproto.lang import Bool, Int, Machine, Model, Record, action

m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, n: Int(0, 100000)):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
