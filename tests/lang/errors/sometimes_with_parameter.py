from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action, sometimes

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    done: Array(Req, Bool)


@action(m)
def finish(s, r: Req):
    s.done[r] = True


@sometimes("some request is answered")
def answered(s, r: Req):
    return s.done[r]


model = Model("tiny", "one mistake", state=State, parts=[__name__])
