from kvproto.lang import Bool, Model, Record, action

class State(Record):
    ok: Bool


@action
def go(s):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
