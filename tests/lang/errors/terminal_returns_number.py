from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool
    n: Int(0, 3)


@action(m)
def go(s, r: Req):
    s.ok = True


def quiet(s):
    return s.n


model = Model(
    "tiny",
    "one mistake",
    state=State,
    parts=[__name__],
    terminal=quiet,
)
