from kvproto.lang import Bool, Machine, Model, Record, Sort, action

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    ok: Bool


def even(s, n):
    return n == 0 or odd(s, n - 1)


def odd(s, n):
    return n != 0 and even(s, n - 1)


@action(m)
def go(s, r: Req):
    s.ok = even(s, 3)


model = Model("tiny", "one mistake", state=State, parts=[__name__])
