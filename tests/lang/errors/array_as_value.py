from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action, require

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))
    ok: Bool


@action(m)
def go(s, r: Req):
    require(s.owner)
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
