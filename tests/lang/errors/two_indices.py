from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))
    ok: Bool


@action(m)
def go(s, r: Req):
    s.ok = s.owner[0, 1] is None


model = Model("tiny", "one mistake", state=State, parts=[__name__])
