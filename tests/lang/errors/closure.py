from kvproto.lang import Bool, Int, Machine, Model, Record, Sort, action, require

Req = Sort("Req", size=2)
m = Machine("m")


class State(Record):
    n: Int(0, 3)
    ok: Bool


def make(limit):
    @action(m)
    def bounded(s):
        require(s.n < limit)
        s.n += 1

    return bounded


bounded = make(2)


@action(m)
def go(s, r: Req):
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
