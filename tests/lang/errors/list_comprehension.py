from kvproto.lang import Array, Bool, Machine, Model, Opt, Record, Sort, action

Req = Sort("Req", size=2)
Page = Sort("Page", size=3)
m = Machine("m")


class State(Record):
    owner: Array(Page, Opt(Req))
    ok: Bool


@action(m)
def go(s, r: Req):
    mine = [p for p in Page if s.owner[p] == r]
    s.ok = True


model = Model("tiny", "one mistake", state=State, parts=[__name__])
