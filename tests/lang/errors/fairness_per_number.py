from kvproto.lang import Array, Bool, Machine, Model, Record, Sort, action, weak

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    done: Array(Req, Bool)


@action(m)
def finish(s, r: Req):
    s.done[r] = True


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    fairness=[weak(finish, per=1)],
)
