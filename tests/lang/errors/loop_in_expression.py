from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))
    ok: Bool


def full(s, p):
    found = False
    for r in Req:
        if s.owner[p] == r:
            found = True
    return found


@action(m)
def go(s, r: Req):
    s.ok = any(full(s, p) for p in Page)


model = Model("tiny", "one mistake", state=State, parts=[__name__])
