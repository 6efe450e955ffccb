from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    done: Array(Req, Bool)


@action(m)
def finish(s, r: Req):
    s.done[r] = True


@action(m, fair="always")
def reset(s, r: Req):
    s.done[r] = False


model = Model("tiny", "one mistake", state=State, parts=[__name__])
