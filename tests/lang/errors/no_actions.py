from kvproto.lang import Bool, Model, Record, Sort

Req = Sort("Req", size=2)


class State(Record):
    ok: Bool


def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
