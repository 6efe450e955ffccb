from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


def check(s):
    if s.n == 0:
        return True


@action(m)
def go(s, r: Req):
    s.ok = check(s)


model = Model("tiny", "one mistake", state=State, parts=[__name__])
