from kvproto.lang import Bool, Machine, Model, Record, Sort, action, invariant

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = True


@invariant("something can happen")
def no_deadlock(s):
    return s.ok


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    deadlock=True,
)
